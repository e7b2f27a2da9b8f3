//! From a repository to a checkout, or to the news that there is nothing new.

use std::time::Duration;

use sluice_api::names::conditions::ARTIFACT_IN_STORAGE;
use sluice_api::names::reasons::GIT_OPERATION_FAILED;
use sluice_api::shared::artifact::Artifact;
use sluice_api::source::gitrepository::{GitRepositorySpec, GitRepositoryStatus};
use sluice_base::duration::GoDuration;
use sluice_runtime::outcome::Stop;
use sluice_source::artifact::Revision;
use sluice_source::git::{CloneRequest, Cloned, GitAuth, GitError, Reference, clone};

use super::verification::needs_verification;
use super::{GitPass, GitRepositories};
use crate::sourcing::fetch_failed;

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
        let known = known.map(|artifact| Revision::new(artifact.revision.clone()));
        let mut request = request(spec);
        request.previous.clone_from(&known);
        // What else goes into an artifact has to be the same too, or the files are needed.
        if let Some(known) = known
            && !content_changed(spec, &pass.status, included)
            && self.is_verified(pass, &known).await
        {
            request.last_observed = Some(known);
        }
        let cloned = clone(&*self.backends.transport, &request, auth).await.map_err(|error| {
            let words = match error {
                GitError::SparseDirectory(_) => "failed to sparse checkout directories ",
                _ => "failed to checkout and determine revision",
            };
            fetch_failed(GIT_OPERATION_FAILED, format!("{words}: {}", chain(&error)))
        })?;
        if cloned == Cloned::Empty {
            return Err(fetch_failed("EmptyGitRepository", "git repository is empty"));
        }
        Ok(cloned)
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
        previous: None,
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
