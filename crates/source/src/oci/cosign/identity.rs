//! The signer: a certificate of a trusted authority, in a trusted log, with an expected identity.

use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use sluice_base::go::regexp;

use super::Reason;
use super::root::{Authority, TrustedRoot};
use crate::oci::certificate::{Certificate, EXTENSIONS, Purpose};
use crate::oci::der::{OBJECT, OCTET_STRING, Reader, SEQUENCE, UTF8_STRING};
use crate::oci::keys::Scheme;

/// The extension with the issuer of the identity token, as text and as DER.
const ISSUER: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, 0x01];
const ISSUER_V2: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, 0x08];
/// The extension with the timestamps of certificate logs.
const TIMESTAMPS: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0xd6, 0x79, 0x02, 0x04, 0x02];

/// An accepted identity: two regular expressions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityMatch {
    /// For the issuer.
    pub issuer: String,
    /// For the subject.
    pub subject: String,
}

/// Verifies the certificate of a signature that was made at a moment.
pub(super) fn judge(
    certificate: &Certificate,
    signed_at: Timestamp,
    root: &TrustedRoot,
    identities: &[IdentityMatch],
) -> Result<(), Reason> {
    let authority = issuer_of(certificate, signed_at, root)?;
    check_log(certificate, authority, root)?;
    if !certificate.is_valid_at(signed_at) {
        return Err(format!(
            "checking expiry on certificate with bundle: certificate was not valid at {signed_at}"
        ));
    }
    check_identity(certificate, identities)
}

/// The authority that issued the certificate.
fn issuer_of<'r>(
    certificate: &Certificate,
    signed_at: Timestamp,
    root: &'r TrustedRoot,
) -> Result<&'r Authority, Reason> {
    let mut last = "no certificate authority is trusted for that time".to_owned();
    for authority in root.authorities.iter().filter(|it| it.valid.holds(signed_at)) {
        let Some((anchor, between)) = authority.chain.split_last() else { continue };
        let anchor = std::slice::from_ref(anchor);
        match certificate.leads_to(anchor, between, signed_at, Purpose::Required) {
            Ok(()) => return Ok(authority),
            Err(reason) => last = reason,
        }
    }
    Err(format!("leaf certificate verification failed: {last}"))
}

/// One identity that fits is enough; without any wanted one, every identity fits.
fn check_identity(certificate: &Certificate, wanted: &[IdentityMatch]) -> Result<(), Reason> {
    if wanted.is_empty() {
        return Ok(());
    }
    let (issuer, names) = (oidc_issuer(certificate), certificate.names());
    for one in wanted {
        let compile = |what: &str, text: &str| {
            regexp::compile(text).map_err(|_| format!("malformed {what} in identity: {text}"))
        };
        let by_issuer = one.issuer.is_empty() || compile("issuer", &one.issuer)?.is_match(&issuer);
        let subject = compile("subject", &one.subject)?;
        let by_subject = one.subject.is_empty() || names.iter().any(|name| subject.is_match(name));
        if by_issuer && by_subject {
            return Ok(());
        }
    }
    Err(format!(
        "none of the expected identities matched what was in the certificate, got subjects [{}] with issuer {issuer}",
        names.join(", ")
    ))
}

fn oidc_issuer(certificate: &Certificate) -> String {
    let newer = certificate.extension(ISSUER_V2);
    let newer = newer.and_then(|value| Reader(value).expect(UTF8_STRING)).map(|it| it.content);
    let issuer = newer.or_else(|| certificate.extension(ISSUER)).unwrap_or_default();
    String::from_utf8_lossy(issuer).into_owned()
}

/// Verifies the timestamp of a trusted certificate log.
fn check_log(
    certificate: &Certificate,
    authority: &Authority,
    root: &TrustedRoot,
) -> Result<(), Reason> {
    let missing = "certificate does not include required embedded SCT and no detached SCT was set";
    let value = certificate.extension(TIMESTAMPS).ok_or(missing)?;
    let list = Reader(value).expect(OCTET_STRING).ok_or(missing)?.content;
    let issuer = authority.chain.iter().find(|it| it.subject == certificate.issuer);
    let issuer = issuer.ok_or("the issuer of the certificate is not in its chain")?;
    let signed = without_timestamps(certificate).ok_or("the certificate cannot be taken apart")?;
    let key_hash = digest(&SHA256, &issuer.spki);
    let (_, mut rest) = list.split_at_checked(2).ok_or(missing)?;
    while let Some((one, after)) = sized(rest) {
        rest = after;
        let Some(stamp) = Stamp::parse(one) else { continue };
        let entry = stamp.message(key_hash.as_ref(), &signed);
        let is_good = root.certificate_logs.iter().any(|log| {
            log.id == stamp.log
                && log.valid.holds(stamp.time)
                && log.key.verifies(Scheme::Sha256, &entry, stamp.signature)
        });
        if is_good {
            return Ok(());
        }
    }
    Err("unable to verify embedded SCT with the trusted certificate logs".to_owned())
}

/// A signed certificate timestamp.
struct Stamp<'a> {
    log: &'a [u8],
    milliseconds: &'a [u8],
    time: Timestamp,
    extensions: &'a [u8],
    signature: &'a [u8],
}

impl<'a> Stamp<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        let (log, rest) = rest.split_at_checked(32)?;
        let (milliseconds, rest) = rest.split_at_checked(8)?;
        let (extensions, rest) = sized(rest)?;
        // The hash and signature algorithms; always SHA-256.
        let (algorithms, rest) = rest.split_at_checked(2)?;
        let (signature, _) = sized(rest)?;
        let number = i64::from_be_bytes(milliseconds.try_into().ok()?);
        let time = Timestamp::from_millisecond(number).ok()?;
        let is_known = *version == 0 && algorithms.first() == Some(&4);
        is_known.then_some(Self { log, milliseconds, time, extensions, signature })
    }

    /// The message that the log signed.
    fn message(&self, issuer: &[u8], certificate: &[u8]) -> Vec<u8> {
        // Version 1, a certificate timestamp, of a precertificate.
        let mut message = vec![0, 0];
        message.extend_from_slice(self.milliseconds);
        message.extend_from_slice(&[0, 1]);
        message.extend_from_slice(issuer);
        let length = u32::try_from(certificate.len()).unwrap_or(u32::MAX).to_be_bytes();
        message.extend_from_slice(length.get(1..).unwrap_or_default());
        message.extend_from_slice(certificate);
        let length = u16::try_from(self.extensions.len()).unwrap_or(u16::MAX).to_be_bytes();
        message.extend_from_slice(&length);
        message.extend_from_slice(self.extensions);
        message
    }
}

/// Bytes with a two-byte length prefix.
fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(2)?;
    let length = u16::from_be_bytes(length.try_into().ok()?);
    rest.split_at_checked(usize::from(length))
}

/// The signed part of a certificate without the timestamps, which the log signed.
fn without_timestamps(certificate: &Certificate) -> Option<Vec<u8>> {
    let mut outer = Reader(&certificate.signed);
    let mut content = Vec::new();
    for field in outer.open(SEQUENCE)? {
        if field.tag != EXTENSIONS {
            content.extend_from_slice(field.whole);
            continue;
        }
        let mut kept = Vec::new();
        for extension in Reader(field.content).open(SEQUENCE)? {
            if Reader(extension.content).expect(OBJECT)?.content != TIMESTAMPS {
                kept.extend_from_slice(extension.whole);
            }
        }
        content.extend(tagged(EXTENSIONS, &tagged(SEQUENCE, &kept)));
    }
    Some(tagged(SEQUENCE, &content))
}

/// Encodes a DER value.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len().to_be_bytes();
    let start = length.iter().position(|byte| *byte != 0).unwrap_or(length.len() - 1);
    let short = length.get(start..).unwrap_or_default();
    if content.len() >= 0x80 {
        out.push(0x80 | u8::try_from(short.len()).unwrap_or_default());
    }
    out.extend_from_slice(short);
    out.extend_from_slice(content);
    out
}
