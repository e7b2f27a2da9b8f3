//! Certificates over plain bytes, for [`crate::probe`].

use super::certificate::Certificate;

pub(crate) fn certificate(input: &[u8]) -> Option<()> {
    let found = match Certificate::all(input) {
        Some(all) if !all.is_empty() => all,
        _ => vec![Certificate::parse(input)?],
    };
    for certificate in &found {
        let _ = (certificate.key(), certificate.names(), certificate.subject_parts());
        let _ = certificate.extension(&[0x55, 0x1d, 0x11]);
        let _ = certificate.is_valid_at(jiff::Timestamp::UNIX_EPOCH);
    }
    Some(())
}
