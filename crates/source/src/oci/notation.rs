//! Signatures by notation (Notary Project): a trust policy says which artifacts need one, from whom,
//! and what of it may be amiss.
//!
//! Read are envelopes of JWS. Those of COSE, countersignatures of time and lists of revoked
//! certificates are not, and an artifact whose policy needs them is not verified.
//!
//! The certificates of the trust store are the anchors of the path from the signer's certificate
//! (`chain`); notation itself takes any trusted member of a chain that holds together.

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

/// The type of an envelope that can be read.
const JWS: &str = "application/jose+json";
/// As many signatures of one artifact are looked at.
const ATTEMPTS: usize = 3;

/// What came of a verification that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is signed by somebody who is trusted.
    Verified,
    /// The policy does not ask for it, or only to be told.
    Ignored,
}

/// Why an artifact is not verified.
#[derive(Debug, thiserror::Error)]
pub enum NotationError {
    /// The registry did not give the signatures.
    #[error(transparent)]
    Registry(#[from] OciError),
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A certificate of the trust store is none.
    #[error("failed to parse certificate '{0}'")]
    Certificate(String),
    /// There is none.
    #[error(
        "no signature is associated with {0:?}, make sure the artifact was signed successfully"
    )]
    NoSignature(String),
    /// There are some, and none of them counts.
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

/// A signature, and what it has to be of.
struct Signature<'a> {
    kind: &'a str,
    content: &'a [u8],
    target: &'a Descriptor,
}

impl Signature<'_> {
    /// Checks everything that the level asks for, in notation's order.
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
                // Only a doubt about who signed it keeps an artifact from being called verified.
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

/// Whether no certificate below the root can have been revoked: where that is published is not asked.
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

/// Whether the certificates were valid when it was signed, or are now where nobody vouches for when.
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
