//! Whether an artifact is signed by somebody whom the spec trusts.

use sluice_api::names::conditions::SOURCE_VERIFIED;
use sluice_api::names::reasons::{SUCCEEDED, VERIFICATION_ERROR};
use sluice_api::shared::condition::ConditionStatus;
use sluice_api::shared::signature::SignatureProvider;
use sluice_api::source::ocirepository::OCIVerification;
use sluice_source::artifact::{Digest, Revision};
use sluice_source::oci::{PublicKey, RemoteRepository, cosign};

use super::fetch::Deadline;
use super::{OciPass, OciRepositories};
use crate::sourcing::Stop;

impl OciRepositories {
    /// Verifies an artifact as the spec asks for it, and says so.
    pub(super) async fn verify(
        &self,
        pass: &mut OciPass<'_>,
        remote: &RemoteRepository,
        digest: &Digest,
        revision: &Revision,
        deadline: Deadline,
    ) -> Result<(), Stop> {
        let Some(wanted) = pass.object.spec.verify.clone() else { return Ok(()) };
        let outcome = match &wanted.provider {
            SignatureProvider::Cosign => {
                self.by_cosign(pass, &wanted, remote, digest, deadline).await
            }
            other => Err(format!("unsupported verification provider: {}", other.as_str())),
        };
        outcome.map_err(|error| {
            let name = wanted.provider.as_str();
            let is_keyless =
                wanted.secret_ref.is_none() && wanted.provider == SignatureProvider::Cosign;
            let name = if is_keyless { format!("{name} keyless") } else { name.to_owned() };
            let message =
                format!("failed to verify the signature using provider '{name}': {error}");
            Stop::unverified(VERIFICATION_ERROR, message, false)
        })?;
        let message = format!("verified signature of revision {revision}");
        pass.conditions.set(SOURCE_VERIFIED, ConditionStatus::True, SUCCEEDED, &message);
        Ok(())
    }

    async fn by_cosign(
        &self,
        pass: &OciPass<'_>,
        wanted: &OCIVerification,
        remote: &RemoteRepository,
        digest: &Digest,
        deadline: Deadline,
    ) -> Result<(), String> {
        let unsigned = || {
            let reference = remote.repository().digest(&digest.to_string());
            format!("no matching signatures were found for '{reference}'")
        };
        if let Some(reference) = &wanted.secret_ref {
            let data = self.secret(pass, &reference.name).await?;
            for (_, text) in data.iter().filter(|(name, _)| has_end(name, &["pub"])) {
                let key = PublicKey::of_pem(text).map_err(|error| error.to_string())?;
                let checked = cosign::verify_with_key(remote, digest, &key);
                if deadline.hold(checked).await.is_ok() {
                    return Ok(());
                }
            }
            return Err(unsigned());
        }
        Err("a secret with public keys is required".to_owned())
    }
}

/// Whether a key of a Secret ends like a file of such a kind.
fn has_end(name: &str, ends: &[&str]) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| ends.contains(&end))
}
