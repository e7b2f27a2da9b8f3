//! Certificates: what they say, and whether a chain leads to one that is trusted.
//!
//! Chains are judged by `webpki`; what it does not tell (names, times, extensions) is read here.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use super::der::{BOOLEAN, INTEGER, OBJECT, OCTET_STRING, Reader, SEQUENCE, SET, pem_blocks};
use super::keys::PublicKey;

/// `id-kp-codeSigning`.
const CODE_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03];
/// `subjectAltName`.
const ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];
/// What tells explicit tags inside a certificate.
const VERSION: u8 = 0xa0;
pub(super) const EXTENSIONS: u8 = 0xa3;

/// A certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Certificate {
    /// The whole.
    pub(super) der: Vec<u8>,
    /// What is signed.
    pub(super) signed: Vec<u8>,
    pub(super) issuer: Vec<u8>,
    pub(super) subject: Vec<u8>,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
    /// The key, with its algorithm.
    pub(super) spki: Vec<u8>,
    extensions: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Whether a certificate has to say that it is for signing code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It has to.
    Required,
    /// It must not say that it is for something else only.
    IfPresent,
}

impl Certificate {
    /// Reads one.
    pub(super) fn parse(der: &[u8]) -> Option<Self> {
        let mut outer = Reader(der);
        let whole = outer.expect(SEQUENCE)?;
        let mut parts = Reader(whole.content);
        let signed = parts.expect(SEQUENCE)?;
        let mut fields = Reader(signed.content);
        fields.expect(VERSION);
        fields.expect(INTEGER)?;
        fields.expect(SEQUENCE)?;
        let issuer = fields.expect(SEQUENCE)?;
        let mut validity = fields.open(SEQUENCE)?;
        let (not_before, not_after) = (moment(validity.next()?)?, moment(validity.next()?)?);
        let subject = fields.expect(SEQUENCE)?;
        let spki = fields.expect(SEQUENCE)?;
        let mut extensions = Vec::new();
        if let Some(listed) = fields.find(|field| field.tag == EXTENSIONS) {
            for one in Reader(listed.content).open(SEQUENCE)? {
                let mut one = Reader(one.content);
                let oid = one.expect(OBJECT)?;
                one.expect(BOOLEAN);
                let value = one.expect(OCTET_STRING)?;
                extensions.push((oid.content.to_vec(), value.content.to_vec()));
            }
        }
        Some(Self {
            der: whole.whole.to_vec(),
            signed: signed.whole.to_vec(),
            issuer: issuer.whole.to_vec(),
            subject: subject.whole.to_vec(),
            not_before,
            not_after,
            spki: spki.whole.to_vec(),
            extensions,
        })
    }

    /// Reads all that are in a text: PEM, or one alone without it.
    pub(super) fn all(text: &[u8]) -> Option<Vec<Self>> {
        let blocks = pem_blocks(text);
        if blocks.is_empty() {
            return Self::parse(text).map(|one| vec![one]);
        }
        blocks.iter().map(|(_, der)| Self::parse(der)).collect()
    }

    /// Its key, if it is of a kind that is known.
    pub(super) fn key(&self) -> Option<PublicKey> {
        PublicKey::of_spki(&self.spki)
    }

    /// What an extension says.
    pub(super) fn extension(&self, oid: &[u8]) -> Option<&[u8]> {
        self.extensions.iter().find(|(name, _)| name == oid).map(|(_, value)| value.as_slice())
    }

    /// The alternative names that are text: mail addresses, hosts, URIs.
    pub(super) fn names(&self) -> Vec<String> {
        const TEXT: [u8; 3] = [0x81, 0x82, 0x86];
        let list = self.extension(ALTERNATIVE_NAME).and_then(|value| Reader(value).open(SEQUENCE));
        let names = list.into_iter().flatten();
        names
            .filter(|name| TEXT.contains(&name.tag))
            .map(|name| String::from_utf8_lossy(name.content).into_owned())
            .collect()
    }

    /// The parts of the subject: type and value, such as `CN` and `ada`.
    pub(super) fn subject_parts(&self) -> Vec<(String, String)> {
        let Some(sets) = Reader(&self.subject).open(SEQUENCE) else { return Vec::new() };
        let mut parts = Vec::new();
        for set in sets.filter(|set| set.tag == SET) {
            for pair in Reader(set.content) {
                let mut pair = Reader(pair.content);
                let (Some(oid), Some(value)) = (pair.expect(OBJECT), pair.next()) else { continue };
                let text = String::from_utf8_lossy(value.content).into_owned();
                parts.push((part_name(oid.content), text));
            }
        }
        parts
    }

    /// Whether it was valid at a moment.
    pub(super) fn is_valid_at(&self, moment: Timestamp) -> bool {
        self.not_before <= moment && moment <= self.not_after
    }

    /// Whether a chain leads from it to one of the trusted ones, all valid at a moment.
    pub(super) fn leads_to(
        &self,
        trusted: &[Self],
        between: &[Self],
        at: Timestamp,
        purpose: Purpose,
    ) -> Result<(), String> {
        let said = |error: webpki::Error| format!("cert verification failed: {error}");
        let leaf = CertificateDer::from(self.der.as_slice());
        let leaf = EndEntityCert::try_from(&leaf).map_err(said)?;
        let trusted: Vec<CertificateDer<'_>> =
            trusted.iter().map(|it| CertificateDer::from(it.der.as_slice())).collect();
        let anchors: Vec<_> =
            trusted.iter().filter_map(|it| anchor_from_trusted_cert(it).ok()).collect();
        let between: Vec<CertificateDer<'_>> =
            between.iter().map(|it| CertificateDer::from(it.der.as_slice())).collect();
        let seconds = u64::try_from(at.as_second()).unwrap_or_default();
        let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let usage = match purpose {
            Purpose::Required => KeyUsage::required(CODE_SIGNING),
            Purpose::IfPresent => KeyUsage::required_if_present(CODE_SIGNING),
        };
        leaf.verify_for_usage(ALGORITHMS, &anchors, &between, time, usage, None, None)
            .map(|_| ())
            .map_err(said)
    }
}

/// The algorithms that certificates may be signed with.
const ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] = &[
    webpki::ring::ECDSA_P256_SHA256,
    webpki::ring::ECDSA_P256_SHA384,
    webpki::ring::ECDSA_P384_SHA256,
    webpki::ring::ECDSA_P384_SHA384,
    webpki::ring::ED25519,
    webpki::ring::RSA_PKCS1_2048_8192_SHA256,
    webpki::ring::RSA_PKCS1_2048_8192_SHA384,
    webpki::ring::RSA_PKCS1_2048_8192_SHA512,
    webpki::ring::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
    webpki::ring::RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
    webpki::ring::RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
];

/// `UTCTime` and `GeneralizedTime`, both in UTC and with seconds, as certificates have them.
fn moment(value: super::der::Value<'_>) -> Option<Timestamp> {
    const SHORT: u8 = 0x17;
    const LONG: u8 = 0x18;
    let text = std::str::from_utf8(value.content).ok()?.strip_suffix('Z')?;
    let text = match value.tag {
        SHORT => {
            let year: u8 = text.get(..2)?.parse().ok()?;
            let century = if year < 50 { "20" } else { "19" };
            format!("{century}{text}")
        }
        LONG => text.to_owned(),
        _ => return None,
    };
    if text.len() != 14 {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i8>().ok();
    let year: i16 = text.get(..4)?.parse().ok()?;
    let (month, day) = (number(4, 6)?, number(6, 8)?);
    let (hour, minute, second) = (number(8, 10)?, number(10, 12)?, number(12, 14)?);
    let time = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    Offset::UTC.to_timestamp(time).ok()
}

/// The short name of a part of a subject; otherwise its numbers.
fn part_name(oid: &[u8]) -> String {
    let known = match oid {
        [0x55, 0x04, 0x03] => "CN",
        [0x55, 0x04, 0x05] => "SERIALNUMBER",
        [0x55, 0x04, 0x06] => "C",
        [0x55, 0x04, 0x07] => "L",
        [0x55, 0x04, 0x08] => "ST",
        [0x55, 0x04, 0x09] => "STREET",
        [0x55, 0x04, 0x0a] => "O",
        [0x55, 0x04, 0x0b] => "OU",
        [0x55, 0x04, 0x11] => "POSTALCODE",
        other => return other.iter().map(ToString::to_string).collect::<Vec<_>>().join("."),
    };
    known.to_owned()
}
