//! Whether an artifact is signed by somebody whom the spec trusts.

use serde::de::IgnoredAny;
use sluice_api::names::conditions::SOURCE_VERIFIED;
use sluice_api::names::reasons::{SUCCEEDED, VERIFICATION_ERROR};
use sluice_api::shared::condition::ConditionStatus;
use sluice_api::shared::signature::SignatureProvider;
use sluice_api::source::ocirepository::OCIVerification;
use sluice_runtime::outcome::Stop;
use sluice_source::artifact::{Digest, Revision};
use sluice_source::oci::cosign::{self, IdentityMatch, TrustedRoot};
use sluice_source::oci::notation::{self, TrustPolicy, Verdict};
use sluice_source::oci::{PublicKey, RemoteRepository};

use super::fetch::Deadline;
use super::{OciPass, OciRepositories};
use crate::sourcing::unverified;

/// The key of the Secret that notation's policy is under.
const TRUST_POLICY: &str = "trustpolicy.json";
/// The key of the Secret that a trusted root is under.
const TRUSTED_ROOT: &str = "trusted_root.json";

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
            SignatureProvider::Notation => {
                self.by_notation(pass, &wanted, remote, digest, deadline).await
            }
            _ => self.by_cosign(pass, &wanted, remote, digest, deadline).await,
        };
        let verdict = outcome.map_err(|error| {
            let name = wanted.provider.as_str();
            let is_keyless =
                wanted.secret_ref.is_none() && wanted.provider == SignatureProvider::Cosign;
            let name = if is_keyless { format!("{name} keyless") } else { name.to_owned() };
            let message =
                format!("failed to verify the signature using provider '{name}': {error}");
            unverified(VERIFICATION_ERROR, message, false)
        })?;
        match verdict {
            Verdict::Verified => {
                let message = format!("verified signature of revision {revision}");
                pass.conditions.set(SOURCE_VERIFIED, ConditionStatus::True, SUCCEEDED, &message);
            }
            // What was verified before was another revision.
            Verdict::Ignored => pass.conditions.remove(SOURCE_VERIFIED),
        }
        Ok(())
    }

    async fn by_cosign(
        &self,
        pass: &OciPass<'_>,
        wanted: &OCIVerification,
        remote: &RemoteRepository,
        digest: &Digest,
        deadline: Deadline,
    ) -> Result<Verdict, String> {
        let root = match &wanted.trusted_root_secret_ref {
            Some(reference) => {
                let at = format!("{}/{}", pass.key.namespace, reference.name);
                let data = self.secret(pass, &reference.name).await;
                let found = data.and_then(|data| {
                    let missing = || format!("'{TRUSTED_ROOT}' not found in secret '{at}'");
                    data.get(TRUSTED_ROOT).cloned().ok_or_else(missing)
                });
                Some(found.map_err(|error| {
                    format!("failed to read trusted root from secret '{at}': {error}")
                })?)
            }
            None => None,
        };
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
                    return Ok(Verdict::Verified);
                }
            }
            return Err(unsigned());
        }
        let root = root.ok_or("unable to initialize trusted root: none is given; name one with spec.verify.trustedRootSecretRef")?;
        let root = TrustedRoot::parse(&root)
            .map_err(|error| format!("unable to parse trusted root: {error}"))?;
        let identities: Vec<IdentityMatch> = wanted
            .match_oidc_identity
            .iter()
            .flatten()
            .map(|it| IdentityMatch { issuer: it.issuer.clone(), subject: it.subject.clone() })
            .collect();
        let checked = cosign::verify_keyless(remote, digest, &root, &identities);
        deadline.hold(checked).await.map(|()| Verdict::Verified)
    }

    async fn by_notation(
        &self,
        pass: &OciPass<'_>,
        wanted: &OCIVerification,
        remote: &RemoteRepository,
        digest: &Digest,
        deadline: Deadline,
    ) -> Result<Verdict, String> {
        let Some(reference) = &wanted.secret_ref else {
            let reference = remote.repository().digest(&digest.to_string());
            return Err(format!("verification secret cannot be empty: '{reference}'"));
        };
        let data = self.secret(pass, &reference.name).await?;
        let at = format!("{}/{}", pass.key.namespace, reference.name);
        let policy = data
            .get(TRUST_POLICY)
            .ok_or_else(|| format!("'{TRUST_POLICY}' not found in secret '{at}'"))?;
        serde_json::from_slice::<IgnoredAny>(policy)
            .map_err(|error| format!("error occurred while parsing {TRUST_POLICY}: {error}"))?;
        let certificates: Vec<&[u8]> = data
            .iter()
            .filter(|(name, _)| has_end(name, &["crt", "pem"]))
            .map(|(_, text)| text.as_slice())
            .collect();
        if certificates.is_empty() {
            return Err(format!("no certificates found in secret '{at}'"));
        }
        let policy = TrustPolicy::parse(policy)
            .map_err(|error| format!("error occurred while parsing {TRUST_POLICY}: {error}"))?;
        let now = self.context.clock.now();
        deadline.hold(notation::verify(remote, digest, &policy, &certificates, now)).await
    }
}

/// Whether a key of a Secret ends like a file of such a kind.
fn has_end(name: &str, ends: &[&str]) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| ends.contains(&end))
}
