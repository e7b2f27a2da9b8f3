//! Whether anything is different from what the last pass left.

use kube::ResourceExt as _;
use sluice_api::names::conditions::READY;
use sluice_api::names::labels;
use sluice_source::artifact::{Digest, Place};

use super::ArtifactGenerators;
use super::pass::Pass;
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
            let (namespace, name, file) = (&made.namespace, &made.name, &made.filename);
            let place = Place::new("ExternalArtifact", namespace, name, file).ok();
            let digest: Option<Digest> = made.digest.parse().ok();
            let (Some(place), Some(digest)) = (place, digest) else {
                return Some("ArtifactMissing");
            };
            if self.workshop.artifacts.get(&place.path(), &digest).await.is_err() {
                return Some("ArtifactMissing");
            }
        }
        let uid = pass.object.metadata.uid.clone().unwrap_or_default();
        let externals = self.sources.external.list();
        let own: Vec<_> = externals
            .iter()
            .filter(|it| it.labels().get(labels::GENERATOR) == Some(&uid))
            .filter(|it| it.namespace().as_deref() == Some(pass.key.namespace.as_str()))
            .collect();
        let is_known = own.iter().all(|external| {
            let (name, artifact) = (external.name_any(), external.artifact());
            let digest = artifact.map(|artifact| artifact.digest.as_str());
            inventory.iter().any(|it| it.name == name && Some(it.digest.as_str()) == digest)
        });
        if own.len() != inventory.len() || !is_known {
            return Some("ExternalArtifactsChanged");
        }
        None
    }
}
