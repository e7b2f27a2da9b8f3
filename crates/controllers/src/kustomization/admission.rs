//! What may be built at all: what the operator's gates and flags say about a Kustomization and its source.
//!
//! A pass asks before it builds, and so does the hand-over before it builds another Kustomization to learn what
//! that one wants: neither reads what the other would refuse.

use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::reasons::{ACCESS_DENIED, ARTIFACT_FAILED, FEATURE_GATE_DISABLED};
use sluice_base::duration::GoDuration;
use sluice_runtime::outcome::{Stop, Waiting};
use sluice_runtime::queue::Next;

use super::{Kustomizations, references, timing};
use crate::external;
use crate::sources::SourceArtifact;

/// The message where an account for decryption is named, which a feature gate has to allow.
const NO_ACCOUNTS: &str = "to use spec.decryption.serviceAccountName for decryption authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller";

impl Kustomizations {
    /// Refuses what the operator has to allow first: an account for decryption, a source of another namespace,
    /// artifacts that others made.
    pub(super) fn check_gates(&self, object: &Kustomization) -> Result<(), Stop> {
        let decryption = object.spec.decryption.as_ref();
        let account = decryption.and_then(|it| it.service_account_name.as_deref());
        let settings = &self.context.settings;
        if account.is_some_and(|name| !name.is_empty()) && !settings.object_level_workload_identity
        {
            return Err(Stop::stalled(FEATURE_GATE_DISABLED, NO_ACCOUNTS));
        }
        let source = references::source(object);
        let is_own = object.metadata.namespace.as_deref() == Some(&source.key.namespace);
        if settings.no_cross_namespace_refs && !is_own {
            return Err(denied(object, "cross-namespace references have been blocked"));
        }
        if source.kind == external::KIND && !settings.external_artifacts {
            return Err(denied(object, "ExternalArtifact feature gate is disabled"));
        }
        Ok(())
    }

    /// The artifact of the source, if the Kustomization may be built and the source has one.
    pub(super) fn admitted(&self, object: &Kustomization) -> Result<SourceArtifact, Stop> {
        self.check_gates(object)?;
        let source = references::source(object);
        match self.sources.artifact(&source) {
            Some(Some(artifact)) => {
                if source.kind == external::KIND {
                    let hosts = &self.context.settings.external_artifact_hosts;
                    external::check(&artifact, hosts).map_err(|why| denied(object, &why))?;
                }
                Ok(artifact)
            }
            Some(None) => Err(self.wait_for_artifact(format!(
                "Source artifact not found, retrying in {}",
                self.requeue_text()
            ))),
            None => {
                let (kind, name) = (&source.kind, &source.key.name);
                let message = format!("{kind}.source.toolkit.fluxcd.io \"{name}\" not found");
                let next = Next::After(timing::retry_interval(&object.spec));
                Err(Waiting::new(ARTIFACT_FAILED, message, next).into())
            }
        }
    }

    pub(super) fn wait_for_artifact(&self, message: String) -> Stop {
        let next = Next::After(self.context.settings.requeue_dependency);
        Waiting::new(ARTIFACT_FAILED, message, next).into()
    }

    pub(super) fn requeue_text(&self) -> GoDuration {
        let pause = self.context.settings.requeue_dependency.as_nanos();
        GoDuration::from_nanos(i64::try_from(pause).unwrap_or(i64::MAX))
    }
}

fn denied(object: &Kustomization, why: &str) -> Stop {
    let source = references::source(object);
    Stop::stalled(ACCESS_DENIED, format!("can't access '{}/{}', {why}", source.kind, source.key))
}
