//! `spec.include`: artifacts of other repositories that are copied into this one.

use std::time::Duration;

use sluice_api::crd::CustomResource as _;
use sluice_api::names::conditions::INCLUDE_UNAVAILABLE;
use sluice_api::source::gitrepository::{GitInclude, GitRepository};
use sluice_runtime::class::ErrorClass;
use sluice_runtime::events::Severity;
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_runtime::outcome::{Stop, Waiting};
use sluice_runtime::queue::Next;
use sluice_source::tree::SourceTree;

use super::{GitPass, GitRepositories};
use crate::artifacts::inside;
use crate::sources::{Source as _, SourceArtifact};
use crate::sourcing::storage_failed;

impl GitRepositories {
    /// The artifacts of the repositories to include, in the order of the spec.
    pub(super) fn included(&self, pass: &GitPass<'_>) -> Result<Vec<SourceArtifact>, Stop> {
        let mut artifacts = Vec::new();
        let pause = self.context.settings.requeue_dependency;
        for include in pass.object.spec.include.iter().flatten() {
            let name = &include.repository.name;
            let key = Key::new(pass.key.namespace.clone(), name.clone());
            let Some(other) = self.core.store.get(&key) else {
                return Err(waiting(
                    pause,
                    "NotFound",
                    format!(
                        "could not get resource for include '{name}': GitRepository.source.toolkit.fluxcd.io \"{name}\" not found"
                    ),
                ));
            };
            let Some(artifact) = other.artifact() else {
                let message = format!("no artifact available for include '{name}'");
                return Err(waiting(pause, "NoArtifact", message));
            };
            let made_here = self.context.made_here.looks_after(&*other, other.spec.suspend);
            let (of, artifact) =
                (Reference::new(GitRepository::DEFINITION.kind, key), artifact.clone());
            artifacts.push(SourceArtifact { of, artifact, made_here });
        }
        Ok(artifacts)
    }

    /// Copies what is included into the files.
    pub(super) async fn mix_in(
        &self,
        pass: &GitPass<'_>,
        artifacts: &[SourceArtifact],
        files: &mut SourceTree,
    ) -> Result<(), Stop> {
        for (include, artifact) in pass.object.spec.include.iter().flatten().zip(artifacts) {
            let (from, to) = (include.from_path.clone().unwrap_or_default(), target(include));
            let failed = |why: &dyn std::fmt::Display| {
                let name = &include.repository.name;
                let message = format!("failed to copy '{name}' include from {from} to {to}: {why}");
                storage_failed("CopyFailure", message)
            };
            let tree =
                self.context.artifacts.tree(artifact).await.map_err(|error| failed(&error))?;
            let path = inside(&from);
            let part = if path.is_empty() {
                (*tree).clone()
            } else if tree.get(&path).is_some() {
                tree.subtree(&path)
            } else {
                let missing = "no such file or directory";
                return Err(failed(&format!("cannot stat /{path}: stat /{path}: {missing}")));
            };
            files.graft(&inside(&to), &part).map_err(|error| failed(&error))?;
        }
        Ok(())
    }
}

/// Where an include goes: the path that is given, or the name of the repository.
fn target(include: &GitInclude) -> String {
    let given = include.to_path.clone().filter(|path| !path.is_empty());
    given.unwrap_or_else(|| include.repository.name.clone())
}

/// Another repository has to come first.
fn waiting(pause: Duration, reason: &'static str, message: String) -> Stop {
    let waiting = Waiting::new(reason, message.clone(), Next::After(pause));
    let (class, condition) = (Some(ErrorClass::Dependency), Some(INCLUDE_UNAVAILABLE));
    Waiting { class, condition, ..waiting }.with_event(Severity::Trace, message).into()
}
