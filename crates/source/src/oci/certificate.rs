//! X.509 certificates: parsing, and whether a chain leads to a trusted one.
//!
//! Chains are verified by `webpki`; names, times and extensions are parsed here.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use super::der::{
    BIT_STRING, BOOLEAN, INTEGER, OBJECT, OCTET_STRING, Reader, SEQUENCE, SET, UTF8_STRING,
    pem_blocks,
};
use super::keys::PublicKey;

/// `id-kp-codeSigning`.
const CODE_SIGNING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03];
/// `keyUsage`, `subjectAltName`, `basicConstraints`, `cRLDistributionPoints`.
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
const ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const REVOCATION_LISTS: &[u8] = &[0x55, 0x1d, 0x1f];
/// `extKeyUsage`.
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
/// `authorityInfoAccess`, and in it the method `ocsp`.
const INFO_ACCESS: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x01];
const OCSP: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01];
/// Explicit tags inside a certificate.
const VERSION: u8 = 0xa0;
pub(super) const EXTENSIONS: u8 = 0xa3;

/// A certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Certificate {
    /// The whole certificate.
    pub(super) der: Vec<u8>,
    /// The signed part.
    pub(super) signed: Vec<u8>,
    pub(super) issuer: Vec<u8>,
    pub(super) subject: Vec<u8>,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
    /// The public key, with its algorithm.
    pub(super) spki: Vec<u8>,
    extensions: Vec<Extension>,
    /// The issuer's signature: the content of the algorithm identifier, and the signature.
    algorithm: Vec<u8>,
    signature: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Extension {
    oid: Vec<u8>,
    is_critical: bool,
    value: Vec<u8>,
}

/// The extension `basicConstraints`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BasicConstraints {
    pub(super) is_ca: bool,
    /// The maximum number of intermediate authorities below it.
    pub(super) path_length: Option<u64>,
    pub(super) is_critical: bool,
}

/// The extension `keyUsage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyUsages {
    /// The first bit is the highest, as in the standard.
    bits: u16,
    pub(super) is_critical: bool,
}

impl KeyUsages {
    pub(super) const DIGITAL_SIGNATURE: u32 = 0;
    pub(super) const CERT_SIGN: u32 = 5;

    pub(super) fn has(self, bit: u32) -> bool {
        self.bits & (0x8000 >> bit) != 0
    }
}

/// Whether a certificate must have the purpose code signing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It must.
    Required,
    /// It must, if it has purposes at all.
    IfPresent,
}

impl Certificate {
    /// Parses a certificate.
    pub(super) fn parse(der: &[u8]) -> Option<Self> {
        let mut outer = Reader(der);
        let whole = outer.expect(SEQUENCE).filter(|whole| whole.whole.len() == der.len())?;
        let mut parts = Reader(whole.content);
        let signed = parts.expect(SEQUENCE)?;
        let algorithm = parts.expect(SEQUENCE)?;
        let (unused, signature) = parts.expect(BIT_STRING)?.content.split_first()?;
        if *unused != 0 {
            return None;
        }
        let mut fields = Reader(signed.content);
        fields.expect(VERSION);
        fields.expect(INTEGER)?;
        fields.expect(SEQUENCE)?;
        let issuer = fields.expect(SEQUENCE)?;
        let mut validity = fields.open(SEQUENCE)?;
        let (not_before, not_after) = (moment(validity.next()?)?, moment(validity.next()?)?);
        let subject = fields.expect(SEQUENCE)?;
        let spki = fields.expect(SEQUENCE)?;
        let mut extensions: Vec<Extension> = Vec::new();
        if let Some(listed) = fields.find(|field| field.tag == EXTENSIONS) {
            for one in Reader(listed.content).open(SEQUENCE)? {
                let mut one = Reader(one.content);
                let oid = one.expect(OBJECT)?.content.to_vec();
                let is_critical = one.expect(BOOLEAN).is_some_and(|it| it.content != [0]);
                let value = one.expect(OCTET_STRING)?.content.to_vec();
                // A duplicate extension would be ambiguous.
                if extensions.iter().any(|known| known.oid == oid) {
                    return None;
                }
                extensions.push(Extension { oid, is_critical, value });
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
            algorithm: algorithm.content.to_vec(),
            signature: signature.to_vec(),
        })
    }

    /// Parses all certificates of a text: PEM, or a single one in DER.
    pub(super) fn all(text: &[u8]) -> Option<Vec<Self>> {
        let blocks = pem_blocks(text);
        if blocks.is_empty() {
            return Self::parse(text).map(|one| vec![one]);
        }
        blocks.iter().map(|(_, der)| Self::parse(der)).collect()
    }

    /// Its key, if the type is supported.
    pub(super) fn key(&self) -> Option<PublicKey> {
        PublicKey::of_spki(&self.spki)
    }

    /// The content of an extension.
    pub(super) fn extension(&self, oid: &[u8]) -> Option<&[u8]> {
        self.find(oid).map(|found| found.value.as_slice())
    }

    fn find(&self, oid: &[u8]) -> Option<&Extension> {
        self.extensions.iter().find(|one| one.oid == oid)
    }

    /// Whether another certificate issued it: by name and signature.
    pub(super) fn is_issued_by(&self, issuer: &Self) -> bool {
        let mut spki = Reader(&issuer.spki);
        let parts = spki.open(SEQUENCE).and_then(|mut parts| {
            let algorithm = parts.expect(SEQUENCE)?.content;
            let (unused, key) = parts.expect(BIT_STRING)?.content.split_first()?;
            (*unused == 0).then_some((algorithm, key))
        });
        let Some((kind, key)) = parts else { return false };
        self.issuer == issuer.subject
            && ALGORITHMS.iter().any(|known| {
                known.signature_alg_id().as_ref() == self.algorithm
                    && known.public_key_alg_id().as_ref() == kind
                    && known.verify_signature(key, &self.signed, &self.signature).is_ok()
            })
    }

    /// `basicConstraints`; `None` if absent or invalid.
    pub(super) fn basic_constraints(&self) -> Option<BasicConstraints> {
        let found = self.find(BASIC_CONSTRAINTS)?;
        let mut parts = Reader(&found.value).open(SEQUENCE)?;
        let is_ca = parts.expect(BOOLEAN).is_some_and(|it| it.content != [0]);
        let path_length = parts.expect(INTEGER).map(|it| {
            // A number that is too large is no limit, a negative one allows nothing.
            let number = it
                .content
                .iter()
                .fold(0_u64, |all, byte| all.saturating_mul(256).saturating_add(u64::from(*byte)));
            if it.content.first().is_some_and(|byte| byte & 0x80 != 0) { 0 } else { number }
        });
        Some(BasicConstraints { is_ca, path_length, is_critical: found.is_critical })
    }

    /// `keyUsage`; `None` if absent or invalid.
    pub(super) fn key_usages(&self) -> Option<KeyUsages> {
        let found = self.find(KEY_USAGE)?;
        let content = Reader(&found.value).expect(BIT_STRING)?.content;
        let byte = |at: usize| content.get(at).copied().unwrap_or_default();
        let bits = u16::from_be_bytes([byte(1), byte(2)]);
        Some(KeyUsages { bits, is_critical: found.is_critical })
    }

    /// The purposes in `extKeyUsage`, as object identifiers.
    pub(super) fn purposes(&self) -> Vec<Vec<u8>> {
        let list = self.extension(EXTENDED_KEY_USAGE);
        let list = list.and_then(|value| Reader(value).open(SEQUENCE)).into_iter().flatten();
        list.map(|one| one.content.to_vec()).collect()
    }

    /// Whether it names a revocation service.
    pub(super) fn is_revocable(&self) -> bool {
        let access = self.extension(INFO_ACCESS).and_then(|value| Reader(value).open(SEQUENCE));
        let is_ocsp = |one: super::der::Value<'_>| {
            Reader(one.content).expect(OBJECT).is_some_and(|method| method.content == OCSP)
        };
        self.find(REVOCATION_LISTS).is_some() || access.into_iter().flatten().any(is_ocsp)
    }

    /// The textual alternative names: mail addresses, hosts, URIs.
    pub(super) fn names(&self) -> Vec<String> {
        const TEXT: [u8; 3] = [0x81, 0x82, 0x86];
        let list = self.extension(ALTERNATIVE_NAME).and_then(|value| Reader(value).open(SEQUENCE));
        let names = list.into_iter().flatten();
        names
            .filter(|name| TEXT.contains(&name.tag))
            .map(|name| String::from_utf8_lossy(name.content).into_owned())
            .collect()
    }

    /// The parts of the subject: type and value, such as `CN` and `ada`. `None` if a part has several values
    /// or is not text, because that name would be ambiguous.
    pub(super) fn subject_parts(&self) -> Option<Vec<(String, String)>> {
        // UTF8String, NumericString, PrintableString, IA5String.
        const TEXT: [u8; 4] = [UTF8_STRING, 0x12, 0x13, 0x16];
        let mut parts = Vec::new();
        for set in Reader(&self.subject).open(SEQUENCE)? {
            let mut pairs = Reader(Some(set).filter(|set| set.tag == SET)?.content);
            let mut pair = pairs.open(SEQUENCE)?;
            let oid = pair.expect(OBJECT)?;
            let value = pair.next().filter(|value| TEXT.contains(&value.tag))?;
            if pairs.next().is_some() {
                return None;
            }
            let text = std::str::from_utf8(value.content).ok()?.to_owned();
            parts.push((part_name(oid.content), text));
        }
        Some(parts)
    }

    /// The subject in errors, the last part first.
    pub(super) fn subject_text(&self) -> String {
        let parts = self.subject_parts().unwrap_or_default();
        let shown: Vec<String> =
            parts.iter().rev().map(|(kind, value)| format!("{kind}={value}")).collect();
        shown.join(",")
    }

    /// Whether it was valid at a moment.
    pub(super) fn is_valid_at(&self, moment: Timestamp) -> bool {
        self.not_before <= moment && moment <= self.not_after
    }

    /// Whether a chain leads from it to a trusted certificate, all valid at a moment.
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

/// The allowed signature algorithms of certificates.
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

/// Parses `UTCTime` and `GeneralizedTime`, in UTC and with seconds.
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

/// The short name of a subject's part, or its object identifier.
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
