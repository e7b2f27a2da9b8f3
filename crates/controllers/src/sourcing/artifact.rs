//! The artifact of a source: whether it is still whole, and how a new one is made.

use bytes::Bytes;
use sluice_api::names::conditions::ARTIFACT_IN_STORAGE;
use sluice_api::names::reasons::ARCHIVE_OPERATION_FAILED;
use sluice_base::time::Time;
use sluice_runtime::events::Severity;
use sluice_runtime::gate::Moment;
use sluice_runtime::key::Key;
use sluice_runtime::outcome::Stop;
use sluice_runtime::pass::Pass;
use sluice_source::archive;
use sluice_source::artifact::{ArtifactPath, Revision};
use sluice_source::ignore::Rules;
use sluice_source::store::{StoreError, fetch};
use sluice_source::tree::SourceTree;
use tracing::error;

use super::{SourceController, SourceKind, SourcePass as _, SourceStatus as _, storage_failed};
use crate::artifacts::words;

/// The second name of the newest artifact, in kinds that show its address.
const LATEST: &str = "latest.tar.gz";

impl<K: SourceKind> SourceController<K> {
    /// Looks after what is in the store: one that is not as it should be is made anew, and old ones go.
    ///
    /// Only the directory of the object itself is looked at, whatever its status names, and nothing is deleted
    /// before the current file has been found whole.
    pub(super) async fn check_storage(&self, pass: &mut Pass<'_, K>) {
        let Some(artifact) = pass.artifact().cloned() else {
            pass.progress("building artifact", true);
            pass.conditions.remove(ARTIFACT_IN_STORAGE);
            return;
        };
        let store = &*self.backends.artifacts;
        let Key { namespace, name } = &pass.key;
        let place = ArtifactPath::of_object(K::DEFINITION.kind, namespace, name, &artifact.path);
        let found = match &place {
            Ok(place) => fetch(store, place, &artifact.digest).await.map(|_| place),
            Err(error) => Err(error.clone().into()),
        };
        match found {
            Ok(place) => {
                self.collect(pass, place).await;
                let (advertised, common) = (&self.backends.advertised, pass.status.common());
                if let Some(current) = common.artifact {
                    current.url = place.url(advertised);
                }
                if let (Some(Some(url)), Ok(latest)) = (common.url, place.sibling(LATEST)) {
                    *url = latest.url(advertised);
                }
                return;
            }
            Err(StoreError::Missing(_)) => {}
            Err(error) => {
                let message = format!("failed to verify integrity of artifact: {}", words(&error));
                pass.event(Severity::Error, "ArtifactVerificationFailed", &message);
            }
        }
        let common = pass.status.common();
        *common.artifact = None;
        if let Some(url) = common.url {
            *url = None;
        }
        pass.progress("building artifact: disappeared from storage", true);
        pass.conditions.remove(ARTIFACT_IN_STORAGE);
    }

    /// Deletes artifacts of the object that are no longer current.
    async fn collect(&self, pass: &Pass<'_, K>, current: &ArtifactPath) {
        match self.backends.artifacts.collect(current, self.backends.retention).await {
            Ok(gone) if !gone.is_empty() => {
                let message = format!("garbage collected {} artifacts", gone.len());
                pass.event(Severity::Trace, "GarbageCollectionSucceeded", &message);
            }
            Ok(_) => {}
            Err(error) => {
                error!(object = %pass.key, error = words(&error), "old artifacts not collected");
            }
        }
    }

    /// Packs files, without those that the rules leave out. The rules are made where the packing is done.
    pub(crate) async fn pack(
        &self,
        files: SourceTree,
        rules: impl FnOnce(&SourceTree) -> Rules + Send + 'static,
    ) -> Result<Bytes, Stop> {
        let packed = self.context.compute.run(move || {
            let rules = rules(&files);
            archive::pack(&files, |path, is_directory| rules.excludes(path, is_directory))
        });
        packed.await.map_err(|error| unkept(&error))
    }

    /// Stores a packed artifact under a name and sets it in the status. This is the first write of a pass over a
    /// source, so the gate is asked once more.
    pub(crate) async fn keep(
        &self,
        pass: &mut Pass<'_, K>,
        file: &str,
        revision: &Revision,
        packed: Bytes,
    ) -> Result<(), Stop> {
        pass.ask_gate(Moment::BeforeWrite)?;
        let place =
            ArtifactPath::new(K::DEFINITION.kind, &pass.key.namespace, &pass.key.name, file)
                .map_err(|error| unkept(&error))?;
        let store = &self.backends.artifacts;
        let kept = store.put(&place, packed).await.map_err(|error| unkept(&error))?;
        let (advertised, now) = (&self.backends.advertised, Time(self.context.clock.now()));
        let artifact = place.artifact(advertised, revision, &kept.digest, kept.size, now);
        let common = pass.status.common();
        *common.artifact = Some(artifact);
        if let Some(url) = common.url
            && let Ok(latest) = place.sibling(LATEST)
        {
            match store.alias(&latest, &place).await {
                Ok(()) => *url = Some(latest.url(advertised)),
                Err(error) => {
                    let message = format!("failed to update status URL symlink: {error}");
                    pass.event(Severity::Trace, "SymlinkUpdateFailed", &message);
                }
            }
        }
        Ok(())
    }
}

fn unkept(error: &dyn std::error::Error) -> Stop {
    let message = format!("unable to archive artifact to storage: {}", words(error));
    storage_failed(ARCHIVE_OPERATION_FAILED, message)
}
