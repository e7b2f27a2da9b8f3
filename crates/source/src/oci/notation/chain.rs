//! The signer's certificate chain: notation's requirements, and whether it leads to an anchor.
//!
//! Each certificate must be issued by the next one, up to a self-signed root. A trust store names the anchors of
//! that path: a certificate that is merely in the list, without having issued the one below it, is not an
//! anchor.

use crate::oci::certificate::{Certificate, KeyUsages, Purpose};

/// The `keyUsage` bits that a signer's certificate must not have, from `keyEncipherment` on.
const FOREIGN_USAGES: [(u32, &str); 7] = [
    (2, "\"KeyEncipherment\""),
    (3, "\"DataEncipherment\""),
    (4, "\"KeyAgreement\""),
    (5, "\"CertSign\""),
    (6, "\"CRLSign\""),
    (7, "\"EncipherOnly\""),
    (8, "\"DecipherOnly\""),
];
/// `id-kp`, the prefix of the purposes in `extKeyUsage`.
const PURPOSES: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03];
/// The purposes that a signer's certificate must not have.
const FOREIGN_PURPOSES: [(u8, &str); 5] = [
    (1, "ServerAuth"),
    (2, "ClientAuth"),
    (4, "EmailProtection"),
    (8, "Timestamping"),
    (9, "OCSPSigning"),
];

/// Checks a chain, the signer's certificate first. Times are checked elsewhere.
pub(super) fn check(chain: &[Certificate]) -> Result<(), String> {
    let invalid = |reason: String| format!("certificate-chain is invalid, {reason}");
    match chain {
        [] => Err("certificate-chain not present or is empty".to_owned()),
        [own] => check_own(own).map_err(invalid),
        _ => check_issued(chain).map_err(invalid),
    }
}

/// Checks a self-signed signer's certificate.
fn check_own(own: &Certificate) -> Result<(), String> {
    if !own.is_issued_by(own) {
        let subject = own.subject_text();
        return Err(format!("invalid self-signed certificate. subject: {subject:?}"));
    }
    check_leaf(own).map_err(|error| format!("invalid self-signed certificate. Error: {error}"))
}

fn check_issued(chain: &[Certificate]) -> Result<(), String> {
    for (at, one) in chain.iter().enumerate() {
        let subject = one.subject_text();
        let is_own = one.is_issued_by(one);
        match chain.get(at + 1) {
            Some(_) if is_own => {
                let kind = if at == 0 { "leaf" } else { "intermediate" };
                return Err(format!(
                    "{kind} certificate with subject {subject:?} is self-signed. Certificate chain must not contain self-signed {kind} certificate"
                ));
            }
            Some(issuer) if !one.is_issued_by(issuer) => {
                let issuer = issuer.subject_text();
                return Err(format!(
                    "certificate with subject {subject:?} is not issued by {issuer:?}"
                ));
            }
            None if !is_own => {
                return Err(format!(
                    "root certificate with subject {subject:?} is not self-signed. Certificate chain must end with a valid self-signed root certificate"
                ));
            }
            _ => {}
        }
        match at.checked_sub(1) {
            None => check_leaf(one)?,
            Some(below) => check_authority(one, below as u64)?,
        }
    }
    Ok(())
}

/// Checks an authority's certificate with a number of other authorities below it.
fn check_authority(one: &Certificate, below: u64) -> Result<(), String> {
    let subject = one.subject_text();
    let constraints = one.basic_constraints().filter(|it| it.is_ca && it.is_critical);
    let Some(constraints) = constraints else {
        return Err(format!(
            "certificate with subject {subject:?}: ca field in basic constraints must be present, critical, and set to true"
        ));
    };
    if let Some(most) = constraints.path_length.filter(|most| *most < below) {
        return Err(format!(
            "certificate with subject {subject:?}: expected path length of {below} but certificate has path length {most} instead"
        ));
    }
    if !usages(one)?.has(KeyUsages::CERT_SIGN) {
        return Err(format!(
            "certificate with subject {subject:?}: key usage must have the bit positions for key cert sign set"
        ));
    }
    Ok(())
}

/// Checks a signer's certificate, which must be for signing only.
fn check_leaf(one: &Certificate) -> Result<(), String> {
    let subject = one.subject_text();
    if one.basic_constraints().is_some_and(|it| it.is_ca) {
        return Err(format!(
            "certificate with subject {subject:?}: if the basic constraints extension is present, the ca field must be set to false"
        ));
    }
    let usages = usages(one)?;
    if !usages.has(KeyUsages::DIGITAL_SIGNATURE) {
        return Err(format!(
            "the certificate with subject {subject:?} is invalid. The key usage must have the bit positions for \"Digital Signature\" set"
        ));
    }
    let foreign = FOREIGN_USAGES.iter().filter(|(bit, _)| usages.has(*bit));
    let foreign: Vec<&str> = foreign.map(|(_, name)| *name).collect();
    if !foreign.is_empty() {
        let found = foreign.join(", ");
        return Err(format!(
            "the certificate with subject {subject:?} is invalid. The key usage must be \"Digital Signature\" only, but found {found}"
        ));
    }
    let purposes = one.purposes();
    let foreign = FOREIGN_PURPOSES
        .iter()
        .find(|(last, _)| purposes.iter().any(|it| it.strip_prefix(PURPOSES) == Some(&[*last])));
    if let Some((_, name)) = foreign {
        return Err(format!(
            "certificate with subject {subject:?}: extended key usage must not contain {name} eku"
        ));
    }
    Ok(())
}

fn usages(one: &Certificate) -> Result<KeyUsages, String> {
    let subject = one.subject_text();
    match one.key_usages() {
        None => Err(format!(
            "certificate with subject {subject:?}: key usage extension must be present"
        )),
        Some(found) if !found.is_critical => Err(format!(
            "certificate with subject {subject:?}: key usage extension must be marked critical"
        )),
        Some(found) => Ok(found),
    }
}

/// Whether a checked chain leads to one of the trusted certificates.
pub(super) fn leads_to(chain: &[Certificate], trusted: &[Certificate]) -> Result<(), String> {
    let untrusted =
        || "the signature's certificate chain does not contain any trusted certificate".to_owned();
    let is_trusted = |one: &Certificate| trusted.iter().any(|other| other.der == one.der);
    match chain {
        [] => Err(untrusted()),
        [own] if is_trusted(own) => Ok(()),
        [leaf, issuers @ ..] => {
            // Only a certificate authority can be an anchor.
            let at = issuers.iter().position(is_trusted).ok_or_else(untrusted)?;
            let (between, anchor) = issuers.split_at(at);
            let anchor = anchor.get(..1).unwrap_or_default();
            // The path must be valid at some moment; whether that is now is checked elsewhere.
            let path = std::iter::once(leaf).chain(between);
            let begun = path.map(|it| it.not_before).max().unwrap_or(leaf.not_before);
            leaf.leads_to(anchor, between, begun, Purpose::IfPresent)
        }
    }
}
