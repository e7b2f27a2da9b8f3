//! From a repository to a verified checkout.

use std::time::Duration;

use sluice_api::names::conditions::{ARTIFACT_IN_STORAGE, SOURCE_VERIFIED};
use sluice_api::names::reasons::{GIT_OPERATION_FAILED, SUCCEEDED, VERIFICATION_ERROR};
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::ConditionStatus;
use sluice_api::source::gitrepository::{GitRepositorySpec, GitRepositoryStatus};
use sluice_base::duration::GoDuration;
use sluice_runtime::events::Severity;
use sluice_source::artifact::Revision;
use sluice_source::git::{
    Checkout, CloneRequest, Cloned, GitAuth, GitError, Reference, TrustedKeys, VerifyMode, clone,
    verify,
};

use super::{GitPass, GitRepositories};
use crate::sourcing::Stop;

/// How long a clone may take where the spec does not say.
const TIMEOUT: Duration = Duration::from_mins(1);

impl GitRepositories {
    /// Checks the repository out; only its revision comes back where there is nothing new.
    pub(super) async fn check_out(
        &self,
        pass: &GitPass<'_>,
        auth: &GitAuth,
        included: &[Artifact],
    ) -> Result<Cloned, Stop> {
        let spec = &pass.object.spec;
        let known = pass.status.artifact.as_ref();
        let known = known.filter(|_| pass.conditions.is_true(ARTIFACT_IN_STORAGE));
        let mut request = request(spec);
        // What else goes into an artifact has to be the same too, or the files are needed.
        if !content_changed(spec, &pass.status, included) {
            request.last_observed = known.map(|artifact| Revision::new(artifact.revision.clone()));
        }
        let cloned = clone(&*self.workshop.transport, &request, auth).await.map_err(|error| {
            let words = match error {
                GitError::SparseDirectory(_) => "failed to sparse checkout directories ",
                _ => "failed to checkout and determine revision",
            };
            Stop::fetch(GIT_OPERATION_FAILED, format!("{words}: {}", chain(&error)))
        })?;
        if cloned == Cloned::Empty {
            return Err(Stop::fetch("EmptyGitRepository", "git repository is empty"));
        }
        Ok(cloned)
    }

    /// Verifies signatures if the spec asks for it.
    pub(super) async fn verify(
        &self,
        pass: &mut GitPass<'_>,
        checkout: &Checkout,
    ) -> Result<(), Stop> {
        let Some(wanted) = pass.object.spec.verify.clone() else {
            pass.status.source_verification_mode = None;
            pass.conditions.remove(SOURCE_VERIFIED);
            return Ok(());
        };
        let name = wanted.mode.as_ref().map_or("HEAD", |mode| mode.as_str());
        let name = if name == "head" { "HEAD" } else { name };
        let mode = VerifyMode::of_name(name).unwrap_or(VerifyMode::Head);
        let data = self.secret(pass, &wanted.secret_ref.name).await.map_err(|error| {
            Stop::unverified(
                VERIFICATION_ERROR,
                format!("public keys secret error: {error}"),
                false,
            )
        })?;
        let keys = TrustedKeys::from_secret(&data);
        let message = verify(checkout, mode, &keys, self.context.clock.now()).map_err(|error| {
            Stop::unverified(error.reason(), error.to_string(), error.is_stalling())
        })?;
        pass.status.source_verification_mode = Some(name.to_owned());
        pass.conditions.set(SOURCE_VERIFIED, ConditionStatus::True, SUCCEEDED, &message);
        pass.event(Severity::Trace, SUCCEEDED, &message);
        Ok(())
    }
}

fn request(spec: &GitRepositorySpec) -> CloneRequest {
    let reference = spec.r#ref.clone().unwrap_or_default();
    let sparse = spec.sparse_checkout.iter().flatten();
    CloneRequest {
        url: spec.url.clone(),
        reference: Reference {
            branch: reference.branch.unwrap_or_default(),
            tag: reference.tag.unwrap_or_default(),
            semver: reference.semver.unwrap_or_default(),
            name: reference.name.unwrap_or_default(),
            commit: reference.commit.unwrap_or_default(),
        },
        last_observed: None,
        recurse_submodules: spec.recurse_submodules.unwrap_or(false),
        sparse: sparse.map(|path| path.strip_prefix("./").unwrap_or(path).to_owned()).collect(),
        timeout: spec.timeout.map_or(TIMEOUT, GoDuration::to_std),
    }
}

/// Whether anything but the commit makes another artifact than the one that is there.
pub(super) fn content_changed(
    spec: &GitRepositorySpec,
    status: &GitRepositoryStatus,
    included: &[Artifact],
) -> bool {
    let before = status.included_artifacts.as_deref().unwrap_or_default();
    spec.ignore != status.observed_ignore
        || spec.recurse_submodules.unwrap_or(false)
            != status.observed_recurse_submodules.unwrap_or(false)
        || spec.include.as_deref().unwrap_or_default()
            != status.observed_include.as_deref().unwrap_or_default()
        || spec.sparse_checkout.as_deref().unwrap_or_default()
            != status.observed_sparse_checkout.as_deref().unwrap_or_default()
        || needs_verification(spec, status)
        || included_changed(before, included)
}

/// Whether other artifacts are included than before.
pub(super) fn included_changed(before: &[Artifact], now: &[Artifact]) -> bool {
    let is_same = |(before, now): (&Artifact, &Artifact)| {
        let revision = |artifact: &Artifact| Revision::new(artifact.revision.clone());
        revision(before).is_same(&revision(now)) && before.digest == now.digest
    };
    before.len() != now.len() || !before.iter().zip(now).all(is_same)
}

/// Whether less was verified than is asked for now.
fn needs_verification(spec: &GitRepositorySpec, status: &GitRepositoryStatus) -> bool {
    let Some(wanted) = &spec.verify else { return false };
    let mode = wanted.mode.as_ref().map_or("HEAD", |mode| mode.as_str());
    match status.source_verification_mode.as_deref() {
        None => true,
        Some("Tag") => mode != "Tag",
        Some("HEAD") => matches!(mode, "Tag" | "TagAndHEAD"),
        Some(_) => false,
    }
}

/// An error with all its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
