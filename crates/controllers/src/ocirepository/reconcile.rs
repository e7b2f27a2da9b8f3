//! From a repository to an artifact, step by step, in the order of Flux's controller.

use sluice_api::names::conditions::{ARTIFACT_OUTDATED, FETCH_FAILED, SOURCE_VERIFIED};
use sluice_api::names::reasons::ARTIFACT_UP_TO_DATE;
use sluice_api::shared::condition::ConditionStatus;
use sluice_runtime::events::Severity;
use sluice_runtime::outcome::Stop;
use sluice_source::artifact::{Digest, Revision};
use sluice_source::ignore::Rules;
use sluice_source::oci::{REVISION, Reference, RemoteRepository, SOURCE};

use super::fetch::{Content, Deadline, Pulled, content_changed, repository, resolve};
use super::{OciPass, OciRepositories};
use crate::sourcing::SourcePass as _;

impl OciRepositories {
    /// From a repository to an artifact; says what an event about it says.
    pub(super) async fn make_artifact(&self, pass: &mut OciPass<'_>) -> Result<String, Stop> {
        if pass.conditions.is_false(SOURCE_VERIFIED) {
            pass.conditions.remove(SOURCE_VERIFIED);
        }
        let spec = pass.object.spec.clone();
        let deadline = Deadline::of(&spec);
        // Flux looks at the credentials first; but what is no name will not become one by a Secret.
        let name = repository(&spec)?;
        let remote = self.open(pass, &name).await?;
        let (reference, digest, revision) = resolve(&remote, &spec, deadline).await?;
        let pulled = self.pull_verified(pass, &remote, &digest, &revision, deadline).await;
        observe(pass, &reference, &revision);
        let pulled = pulled?;
        pass.conditions.remove(FETCH_FAILED);
        if let Some(pulled) = pulled {
            self.make(pass, &digest, &revision, pulled).await?;
        } else {
            let message = format!("artifact up-to-date with remote revision: '{revision}'");
            pass.event(Severity::Trace, ARTIFACT_UP_TO_DATE, &message);
        }
        pass.conditions.remove(ARTIFACT_OUTDATED);
        pass.stored(&format!("stored artifact for digest '{revision}'"));
        Ok(told(pass))
    }

    /// Verifies what is new and pulls what has changed; gives nothing where nothing has.
    async fn pull_verified(
        &self,
        pass: &mut OciPass<'_>,
        remote: &RemoteRepository,
        digest: &Digest,
        revision: &Revision,
        deadline: Deadline,
    ) -> Result<Option<Pulled>, Stop> {
        let is_known = has_revision(pass, revision);
        // What is pulled is verified, whatever the status says of an earlier pass.
        let pulls = !is_known || content_changed(&pass.object.spec, &pass.status);
        let seen = pass.conditions.get(SOURCE_VERIFIED).and_then(|it| it.observed_generation);
        if pass.object.spec.verify.is_none() {
            pass.conditions.remove(SOURCE_VERIFIED);
        } else if pulls || seen != pass.object.metadata.generation {
            self.verify(pass, remote, digest, revision, deadline).await?;
        }
        if !pulls {
            return Ok(None);
        }
        self.pull(pass, remote, digest, deadline).await.map(Some)
    }

    /// Keeps what was pulled.
    async fn make(
        &self,
        pass: &mut OciPass<'_>,
        digest: &Digest,
        revision: &Revision,
        pulled: Pulled,
    ) -> Result<(), Stop> {
        let spec = pass.object.spec.clone();
        let packed = match pulled.content {
            Content::Packed(packed) => packed,
            Content::Files(files) => {
                let ignore = spec.ignore.clone();
                self.pack(files, move |files| Rules::of_source(files, ignore.as_deref())).await?
            }
        };
        self.keep(pass, &format!("{digest}.tar.gz"), revision, packed).await?;
        if let Some(artifact) = &mut pass.status.artifact {
            artifact.metadata = pulled.annotations;
        }
        pass.status.observed_ignore = spec.ignore;
        pass.status.observed_layer_selector = spec.layer_selector;
        Ok(())
    }
}

/// Says that there is something new, whether or not it can be had.
fn observe(pass: &mut OciPass<'_>, reference: &Reference, revision: &Revision) {
    if has_revision(pass, revision) {
        return;
    }
    let message = format!("new revision '{revision}' for '{reference}'");
    if pass.artifact().is_some() {
        pass.conditions.set(ARTIFACT_OUTDATED, ConditionStatus::True, "NewRevision", &message);
    }
    pass.progress(&format!("building artifact: {message}"), true);
}

fn has_revision(pass: &OciPass<'_>, revision: &Revision) -> bool {
    pass.artifact().is_some_and(|it| Revision::new(it.revision.clone()).is_same(revision))
}

/// What an event about the artifact says.
fn told(pass: &OciPass<'_>) -> String {
    let Some(artifact) = pass.artifact() else { return String::new() };
    let url = &pass.object.spec.url;
    let message = format!("stored artifact with revision '{}' from '{url}'", artifact.revision);
    let said = |name: &str| artifact.metadata.as_ref().and_then(|all| all.get(name));
    match (said(SOURCE), said(REVISION)) {
        (Some(source), Some(revision)) if !source.is_empty() && !revision.is_empty() => {
            format!("{message}, origin source '{source}', origin revision '{revision}'")
        }
        _ => message,
    }
}
