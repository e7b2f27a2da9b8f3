//! Signatures by cosign: the tag beside the artifact (version 2), and Sigstore's bundles among its
//! referrers (version 3). Bundles are looked for first, as Flux does.
//!
//! A signature counts by a key that is given, or by the identity in its certificate. For the latter
//! everything is verified offline, from a trusted root: the certificate's chain (`identity`), that it was
//! logged, and that a log vouches for the time of the signature (`log`).

mod bundle;
mod identity;
mod legacy;
mod log;
mod root;

pub use identity::IdentityMatch;
pub use root::{TrustedRoot, TrustedRootError};

use super::client::RemoteRepository;
use super::error::OciError;
use super::keys::{PublicKey, Scheme};
use crate::artifact::Digest;

/// Why an artifact is not verified.
#[derive(Debug, thiserror::Error)]
pub enum CosignError {
    /// The registry did not give the signatures.
    #[error(transparent)]
    Registry(#[from] OciError),
    /// There are none.
    #[error("no signatures found")]
    NoSignatures,
    /// There are some, and none of them counts.
    #[error("no matching {what}: {reasons}", reasons = reasons.join("\n "))]
    NoMatch {
        /// What was found.
        what: &'static str,
        /// Why each of them does not count.
        reasons: Vec<String>,
    },
}

/// Why one signature does not count.
type Reason = String;

/// Verifies that a key signed an artifact. Transparency logs are not asked, as Flux does not ask
/// them where a key is given.
///
/// Flux leaves it to the key whether a signature is about this artifact; here it has to say so.
pub async fn verify_with_key(
    remote: &RemoteRepository,
    digest: &Digest,
    key: &PublicKey,
) -> Result<(), CosignError> {
    let bundles = bundle::fetch(remote, digest).await.unwrap_or_default();
    if !bundles.is_empty() {
        let check = |found: &bundle::Bundle| found.verify_with_key(key, digest);
        return any("attestations", &bundles, check);
    }
    let signatures = legacy::fetch(remote, digest).await?;
    any("signatures", &signatures, |found| {
        if !key.verifies(Scheme::Sha256, &found.payload, &found.raw) {
            return Err("invalid signature when validating ASN.1 encoded signature".to_owned());
        }
        found.claims(digest)
    })
}

/// Verifies that one of these identities signed an artifact; without any, that somebody did whom the
/// root vouches for.
pub async fn verify_keyless(
    remote: &RemoteRepository,
    digest: &Digest,
    root: &TrustedRoot,
    identities: &[IdentityMatch],
) -> Result<(), CosignError> {
    let bundles = bundle::fetch(remote, digest).await.unwrap_or_default();
    if !bundles.is_empty() {
        let check = |found: &bundle::Bundle| found.verify_keyless(root, identities, digest);
        return any("attestations", &bundles, check);
    }
    let signatures = legacy::fetch(remote, digest).await?;
    any("signatures", &signatures, |found| found.verify_keyless(root, identities, digest))
}

/// One that counts is enough.
fn any<T>(
    what: &'static str,
    found: &[T],
    check: impl Fn(&T) -> Result<(), Reason>,
) -> Result<(), CosignError> {
    let mut reasons = Vec::new();
    for one in found {
        match check(one) {
            Ok(()) => return Ok(()),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(CosignError::NoMatch { what, reasons })
}
