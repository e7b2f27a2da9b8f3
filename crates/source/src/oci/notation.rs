//! notation signatures (Notary Project): a trust policy says which artifacts need one, by which signers,
//! and which checks may fail.
//!
//! JWS envelopes are supported. COSE, timestamp countersignatures and revocation lists are not, and an artifact
//! with a policy that needs them is not verified.
//!
//! The certificates of the trust store are the anchors of the signer's chain (`chain`); notation itself accepts
//! any trusted member of a consistent chain.

mod chain;
mod envelope;
mod policy;
mod subject;
mod unambiguous;

use jiff::Timestamp;

use super::certificate::Certificate;
use super::client::RemoteRepository;
use super::error::OciError;
use super::manifest::Descriptor;
use super::media::NOTATION_SIGNATURE;
use crate::artifact::Digest;
use envelope::Envelope;
use policy::{Action, Check, Level, Statement};
pub use policy::{PolicyError, TrustPolicy};

/// The media type of supported envelopes.
const JWS: &str = "application/jose+json";
/// The maximum number of signatures of one artifact that are checked.
const ATTEMPTS: usize = 3;

/// The result of a successful verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Signed by a trusted signer.
    Verified,
    /// The policy skips it, or only logs failures.
    Ignored,
}

/// Why an artifact is not verified.
#[derive(Debug, thiserror::Error)]
pub enum NotationError {
    /// The signatures could not be fetched.
    #[error(transparent)]
    Registry(#[from] OciError),
    /// An invalid policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// An invalid certificate in the trust store.
    #[error("failed to parse certificate '{0}'")]
    Certificate(String),
    /// There are no signatures.
    #[error(
        "no signature is associated with {0:?}, make sure the artifact was signed successfully"
    )]
    NoSignature(String),
    /// No signature is valid.
    #[error("{}", .0.join("\n"))]
    NoMatch(Vec<String>),
}

/// Verifies an artifact with the certificates of the trust store.
pub async fn verify(
    remote: &RemoteRepository,
    digest: &Digest,
    policy: &TrustPolicy,
    trusted: &[&[u8]],
    now: Timestamp,
) -> Result<Verdict, NotationError> {
    let reference = remote.repository().digest(&digest.to_string());
    let statement = policy.applicable(&remote.repository().to_string())?;
    let level = statement.level()?;
    if level == Level::SKIP {
        return Ok(Verdict::Ignored);
    }
    let mut anchors = Vec::new();
    for text in trusted {
        let all = Certificate::all(text);
        let name = statement.store_name().to_owned();
        anchors.extend(all.ok_or(NotationError::Certificate(name))?);
    }
    let subject = remote.manifest(&reference).await?;
    let target = Descriptor {
        media_type: subject.media_type,
        size: subject.content.len() as u64,
        digest: digest.to_string(),
        ..Descriptor::default()
    };
    let referrers = remote.referrers(digest).await?;
    let is_signature = |it: &&Descriptor| it.artifact_type.as_deref() == Some(NOTATION_SIGNATURE);
    let mut reasons = Vec::new();
    let mut looked_at = 0;
    for referrer in referrers.iter().filter(is_signature).take(ATTEMPTS) {
        looked_at += 1;
        let image = remote.image(&remote.repository().digest(&referrer.digest)).await?;
        let [layer] = image.manifest.layers.as_slice() else {
            reasons.push(format!("signature {} has no single envelope", referrer.digest));
            continue;
        };
        let content = remote.signature(layer).await?;
        let check = Signature { kind: &layer.media_type, content: &content, target: &target };
        match check.judge(statement, level, &anchors, now) {
            Ok(verdict) => return Ok(verdict),
            Err(reason) => reasons.push(format!(
                "failed to verify signature with digest {}, {reason}",
                referrer.digest
            )),
        }
    }
    if looked_at == 0 {
        return Err(NotationError::NoSignature(reference.to_string()));
    }
    Err(NotationError::NoMatch(reasons))
}

/// A signature, and the artifact it should be of.
struct Signature<'a> {
    kind: &'a str,
    content: &'a [u8],
    target: &'a Descriptor,
}

impl Signature<'_> {
    /// Runs all checks of the level, in notation's order.
    fn judge(
        &self,
        statement: &Statement,
        level: Level,
        trusted: &[Certificate],
        now: Timestamp,
    ) -> Result<Verdict, String> {
        if self.kind != JWS {
            return Err(format!("signature envelope format {:?} is not supported", self.kind));
        }
        let envelope = Envelope::verified(self.content)?;
        let mut verdict = Verdict::Verified;
        let checks = [
            (Check::Authenticity, authentic(&envelope, statement, trusted)),
            (Check::Expiry, unexpired(&envelope, now)),
            (Check::AuthenticTimestamp, in_time(&envelope, now)),
            (Check::Revocation, irrevocable(&envelope)),
        ];
        for (check, outcome) in checks {
            let Err(reason) = outcome else { continue };
            match level.action(check) {
                Action::Enforce => return Err(reason),
                // Only a failed authenticity check keeps an artifact from being called verified.
                Action::Log if check == Check::Authenticity => verdict = Verdict::Ignored,
                Action::Log | Action::Skip => {}
            }
        }
        if !envelope.is_of(self.target) {
            return Err("content descriptor mismatch".to_owned());
        }
        Ok(verdict)
    }
}

/// Whether the signer's certificate leads to an anchor, and is one that the policy names.
fn authentic(
    envelope: &Envelope,
    statement: &Statement,
    trusted: &[Certificate],
) -> Result<(), String> {
    let leaf = envelope.chain.first().ok_or("certificate chain is not present")?;
    if trusted.is_empty() || !statement.has_store(envelope.store) {
        return Err(format!(
            "no trusted certificates are found to verify authenticity: no trust store of type {:?}",
            envelope.store
        ));
    }
    chain::leads_to(&envelope.chain, trusted)?;
    statement.trusts(leaf.subject_parts().as_deref())
}

/// Whether no certificate below the root can have been revoked: revocation services are not queried.
fn irrevocable(envelope: &Envelope) -> Result<(), String> {
    let below = envelope.chain.split_last().map(|(_, below)| below).unwrap_or_default();
    match below.iter().find(|one| one.is_revocable()) {
        None => Ok(()),
        Some(one) => Err(format!(
            "unable to check the revocation status of the signing certificate chain: certificate with subject {:?} names a server that would know, and none is asked; override \"revocation\" with \"log\" or \"skip\" in the trust policy to accept it",
            one.subject_text()
        )),
    }
}

fn unexpired(envelope: &Envelope, now: Timestamp) -> Result<(), String> {
    match envelope.expiry {
        Some(expiry) if now >= expiry => Err(format!("digital signature has expired on {expiry}")),
        _ => Ok(()),
    }
}

/// Whether the certificates were valid at the time of the signature, or, without a trusted time, are valid now.
fn in_time(envelope: &Envelope, now: Timestamp) -> Result<(), String> {
    let moment = envelope.authentic_time.unwrap_or(now);
    match envelope.chain.iter().find(|it| !it.is_valid_at(moment)) {
        None => Ok(()),
        Some(bad) => Err(format!(
            "verification time {moment} is outside of a certificate's validity period ({} to {})",
            bad.not_before, bad.not_after
        )),
    }
}
