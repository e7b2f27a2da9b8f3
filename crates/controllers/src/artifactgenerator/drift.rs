//! Whether anything is different from what the last pass left.

use std::sync::Arc;

use kube::ResourceExt as _;
use sluice_api::names::conditions::READY;
use sluice_api::names::labels;
use sluice_api::source::externalartifact::ExternalArtifact;
use sluice_source::artifact::{ArtifactPath, Digest};

use super::{ArtifactGenerators, Pass};
use crate::sources::Source as _;

impl ArtifactGenerators {
    /// Why everything has to be made anew, in one word; nothing where all is as it was left.
    pub(super) async fn drift(&self, pass: &Pass<'_>, sources: &str) -> Option<&'static str> {
        if pass.conditions.is_false(READY) {
            return Some("NotReady");
        }
        let observed = pass.conditions.get(READY).and_then(|ready| ready.observed_generation);
        if observed.unwrap_or_default() != pass.object.metadata.generation.unwrap_or_default() {
            return Some("GenerationChanged");
        }
        if pass.status.observed_sources_digest.as_deref() != Some(sources) {
            return Some("SourcesChanged");
        }
        let spec = &pass.object.spec;
        let has_pattern = spec.path_pattern.as_ref().is_some_and(|it| !it.is_empty());
        let inventory = pass.status.inventory.as_deref().unwrap_or_default();
        if inventory.len() != spec.artifacts.len() && !has_pattern {
            return Some("ArtifactsChanged");
        }
        for made in inventory {
            // Only files of this namespace are this generator's, whatever its status names.
            if made.namespace != pass.key.namespace {
                return Some("ArtifactMissing");
            }
            let (namespace, name, file) = (&pass.key.namespace, &made.name, &made.filename);
            let place = ArtifactPath::new("ExternalArtifact", namespace, name, file).ok();
            let digest: Option<Digest> = made.digest.parse().ok();
            let (Some(place), Some(digest)) = (place, digest) else {
                return Some("ArtifactMissing");
            };
            if self.backends.artifacts.get(&place.path(), &digest).await.is_err() {
                return Some("ArtifactMissing");
            }
        }
        let own = self.own(pass);
        let is_known = own.iter().all(|external| {
            let (name, Some(artifact)) = (external.name_any(), external.artifact()) else {
                return false;
            };
            // Another process served it under another address.
            let place = ArtifactPath::of_object(
                "ExternalArtifact",
                &pass.key.namespace,
                &name,
                &artifact.path,
            );
            place.is_ok_and(|place| place.url(&self.backends.advertised) == artifact.url)
                && inventory.iter().any(|it| it.name == name && it.digest == artifact.digest)
        });
        if own.len() != inventory.len() || !is_known {
            return Some("ExternalArtifactsChanged");
        }
        None
    }

    /// The ExternalArtifacts of a generator: those of its namespace that bear its label.
    pub(super) fn own(&self, pass: &Pass<'_>) -> Vec<Arc<ExternalArtifact>> {
        let Some(uid) = &pass.object.metadata.uid else { return Vec::new() };
        let is_own = |it: &Arc<ExternalArtifact>| {
            it.labels().get(labels::GENERATOR) == Some(uid)
                && it.namespace().as_deref() == Some(pass.key.namespace.as_str())
        };
        self.sources.external.list().into_iter().filter(is_own).collect()
    }
}
