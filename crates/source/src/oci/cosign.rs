//! cosign signatures: the tag beside the artifact (version 2), and Sigstore's bundles among its
//! referrers (version 3). Bundles come first, as in Flux.
//!
//! A signature is verified by a given key, or by the identity in its certificate. The latter is verified
//! offline with a trusted root: the certificate's chain (`identity`), its entry in the certificate log, and
//! the time of the signature in a transparency log (`log`).

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
    /// The signatures could not be fetched.
    #[error(transparent)]
    Registry(#[from] OciError),
    /// There are none.
    #[error("no signatures found")]
    NoSignatures,
    /// No signature is valid.
    #[error("no matching {what}: {reasons}", reasons = reasons.join("\n "))]
    NoMatch {
        /// The kind of signatures.
        what: &'static str,
        /// The cause for each of them.
        reasons: Vec<String>,
    },
}

/// Why one signature is invalid.
type Reason = String;

/// Verifies that a key signed an artifact. As in Flux, transparency logs are not consulted if a key is given.
///
/// Flux does not check that a key's signature is about this artifact; here it has to be.
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

/// Verifies that one of these identities signed an artifact; without identities, that any signer with a
/// certificate of the root did.
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

/// One valid signature is enough.
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
