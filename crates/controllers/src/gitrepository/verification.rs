//! Signatures: what has to be signed, with which keys, and whether the artifact was verified like that.
//!
//! **Invariant:** that an artifact is verified is known from this process having done it, with the keys and
//! rules of now. A status that says so is not enough, and another key in the Secret verifies again.

use sluice_api::names::conditions::SOURCE_VERIFIED;
use sluice_api::names::reasons::{SUCCEEDED, VERIFICATION_ERROR};
use sluice_api::names::sluice::VERIFY_TAG_NAME;
use sluice_api::shared::condition::ConditionStatus;
use sluice_api::source::gitrepository::{GitRepositorySpec, GitRepositoryStatus, GitVerification};
use sluice_runtime::events::Severity;
use sluice_runtime::outcome::Stop;
use sluice_source::artifact::{Digest, DigestAlgorithm, Revision};
use sluice_source::git::{Checkout, TagName, TrustedKeys, VerifyMode, VerifyRules, verify};

use super::{GitPass, GitRepositories};
use crate::sourcing::{Data, unverified};

impl GitRepositories {
    /// Verifies signatures if the spec asks for it.
    pub(super) async fn verify(
        &self,
        pass: &mut GitPass<'_>,
        checkout: &Checkout,
    ) -> Result<(), Stop> {
        self.verified.forget(&pass.key);
        let Some(wanted) = pass.object.spec.verify.clone() else {
            pass.status.source_verification_mode = None;
            pass.conditions.remove(SOURCE_VERIFIED);
            return Ok(());
        };
        let failed = |message: String| unverified(VERIFICATION_ERROR, message, false);
        let rules = VerifyRules {
            mode: VerifyMode::of_name(mode(&wanted)).unwrap_or(VerifyMode::Head),
            tag_name: tag_name(pass).map_err(failed)?,
        };
        let data = self
            .secret(pass, &wanted.secret_ref.name)
            .await
            .map_err(|error| failed(format!("public keys secret error: {error}")))?;
        let keys = TrustedKeys::from_secret(&data);
        let message = verify(checkout, rules, &keys, self.context.clock.now())
            .map_err(|error| unverified(error.reason(), error.to_string(), error.is_stalling()))?;
        self.verified.remember(&pass.key, mark(pass, rules, &data, &checkout.revision));
        pass.status.source_verification_mode = Some(mode(&wanted).to_owned());
        pass.conditions.set(SOURCE_VERIFIED, ConditionStatus::True, SUCCEEDED, &message);
        pass.event(Severity::Trace, SUCCEEDED, &message);
        Ok(())
    }

    /// Whether a revision was verified with the keys and rules of now, or need not be.
    pub(super) async fn is_verified(&self, pass: &GitPass<'_>, revision: &Revision) -> bool {
        let Some(wanted) = &pass.object.spec.verify else { return true };
        let (Some(mode), Ok(tag_name)) = (VerifyMode::of_name(mode(wanted)), tag_name(pass)) else {
            return false;
        };
        let Some(before) = self.verified.get(&pass.key) else { return false };
        let Ok(data) = self.secret(pass, &wanted.secret_ref.name).await else { return false };
        before == mark(pass, VerifyRules { mode, tag_name }, &data, revision)
    }
}

/// Everything that the outcome of a verification depends on but the time, as a digest.
fn mark(pass: &GitPass<'_>, rules: VerifyRules, keys: &Data, revision: &Revision) -> Digest {
    let mut all = Vec::new();
    let mut add = |bytes: &[u8]| {
        all.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        all.extend_from_slice(bytes);
    };
    add(pass.object.metadata.uid.as_deref().unwrap_or_default().as_bytes());
    add(format!("{rules:?}").as_bytes());
    add(revision.normalized().as_str().as_bytes());
    for (name, value) in keys.iter() {
        add(name.as_bytes());
        add(value);
    }
    Digest::of(DigestAlgorithm::Sha256, &all)
}

/// The mode, in its present spelling.
fn mode(wanted: &GitVerification) -> &str {
    match wanted.mode.as_ref().map_or("HEAD", |mode| mode.as_str()) {
        "head" => "HEAD",
        other => other,
    }
}

fn tag_name(pass: &GitPass<'_>) -> Result<TagName, String> {
    let annotations = pass.object.metadata.annotations.as_ref();
    match annotations.and_then(|all| all.get(VERIFY_TAG_NAME)).map(String::as_str) {
        None | Some("exact") => Ok(TagName::Exact),
        Some("ignore") => Ok(TagName::Ignored),
        Some(other) => {
            Err(format!("annotation {VERIFY_TAG_NAME}: \"{other}\" is neither exact nor ignore"))
        }
    }
}

/// Whether less was verified than is asked for now.
pub(super) fn needs_verification(spec: &GitRepositorySpec, status: &GitRepositoryStatus) -> bool {
    let Some(wanted) = &spec.verify else { return false };
    let mode = wanted.mode.as_ref().map_or("HEAD", |mode| mode.as_str());
    match status.source_verification_mode.as_deref() {
        None => true,
        Some("Tag") => mode != "Tag",
        Some("HEAD") => matches!(mode, "Tag" | "TagAndHEAD"),
        Some(_) => false,
    }
}
