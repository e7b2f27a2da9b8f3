//! The sources that appliers build from, whatever their kind.

use std::ops::Deref;
use std::sync::Arc;

use kube::Resource;
use sluice_api::names::labels;
use sluice_api::shared::artifact::Artifact;
use sluice_api::source::bucket::Bucket;
use sluice_api::source::externalartifact::ExternalArtifact;
use sluice_api::source::gitrepository::GitRepository;
use sluice_api::source::helmchart::HelmChart;
use sluice_api::source::ocirepository::OCIRepository;
use sluice_runtime::index::Reference;
use sluice_runtime::selector::Selector;
use sluice_runtime::store::Store;
use sluice_source::artifact::{ArtifactPath, ArtifactPathError};

/// What all kinds of sources have.
pub trait Source {
    /// What it made last.
    fn artifact(&self) -> Option<&Artifact>;
}

macro_rules! sources {
    ($($kind:ident),+) => {
        $(impl Source for $kind {
            fn artifact(&self) -> Option<&Artifact> {
                self.status.as_ref()?.artifact.as_ref()
            }
        })+
    };
}

sources!(Bucket, ExternalArtifact, GitRepository, HelmChart, OCIRepository);

/// An artifact as the status of a source states it, and the source.
///
/// What a status states is a claim, for a tenant may be able to write it. So the artifact never travels
/// without its object, and only files of that object are read for it.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceArtifact {
    /// The source.
    pub of: Reference,
    /// What its status states.
    pub artifact: Artifact,
    /// Whether this process makes the artifacts of the source. Then it is in the store of this process, now
    /// or soon, and its address is never asked.
    pub made_here: bool,
}

impl SourceArtifact {
    /// Where it lies in a store: in the directory of its source, or nowhere.
    pub fn place(&self) -> Result<ArtifactPath, ArtifactPathError> {
        let Reference { kind, key } = &self.of;
        ArtifactPath::of_object(kind, &key.namespace, &key.name, &self.artifact.path)
    }
}

impl Deref for SourceArtifact {
    type Target = Artifact;

    fn deref(&self) -> &Artifact {
        &self.artifact
    }
}

/// Which sources this process makes artifacts of.
#[derive(Debug, Clone, Default)]
pub struct MadeHere {
    /// The sources that the source-controller of this process looks after, if it runs here.
    pub sources: Option<Selector>,
    /// Whether all ExternalArtifacts of ArtifactGenerators are made here.
    pub generated: bool,
}

impl MadeHere {
    /// Whether the source-controller of this process looks after a source; nobody does while it is suspended.
    pub fn looks_after(&self, source: &impl Resource, is_suspended: Option<bool>) -> bool {
        let labels = source.meta().labels.as_ref();
        let is_ours = self.sources.as_ref().is_some_and(|selector| selector.matches(labels));
        is_ours && !is_suspended.unwrap_or(false)
    }
}

/// The sources of a cluster.
#[derive(Debug, Default)]
pub struct Sources {
    /// Git repositories.
    pub git: Arc<Store<GitRepository>>,
    /// OCI repositories.
    pub oci: Arc<Store<OCIRepository>>,
    /// Buckets.
    pub bucket: Arc<Store<Bucket>>,
    /// Charts.
    pub chart: Arc<Store<HelmChart>>,
    /// Artifacts that others made.
    pub external: Arc<Store<ExternalArtifact>>,
    /// Which of them this process looks after.
    pub made_here: MadeHere,
}

impl Sources {
    /// The artifact of a source: nothing where there is no such source, and an empty answer where it has
    /// made none yet.
    pub fn artifact(&self, source: &Reference) -> Option<Option<SourceArtifact>> {
        let key = &source.key;
        let here = &self.made_here;
        match source.kind.as_str() {
            "GitRepository" => self
                .git
                .get(key)
                .map(|it| stated(source, &*it, here.looks_after(&*it, it.spec.suspend))),
            "OCIRepository" => self
                .oci
                .get(key)
                .map(|it| stated(source, &*it, here.looks_after(&*it, it.spec.suspend))),
            "Bucket" => self
                .bucket
                .get(key)
                .map(|it| stated(source, &*it, here.looks_after(&*it, it.spec.suspend))),
            "HelmChart" => self.chart.get(key).map(|it| stated(source, &*it, false)),
            "ExternalArtifact" => self.external.get(key).map(|it| {
                let labels = it.metadata.labels.as_ref();
                let is_generated = labels.is_some_and(|all| all.contains_key(labels::GENERATOR));
                stated(source, &*it, here.generated && is_generated)
            }),
            _ => None,
        }
    }
}

fn stated(of: &Reference, source: &impl Source, made_here: bool) -> Option<SourceArtifact> {
    let artifact = source.artifact()?.clone();
    Some(SourceArtifact { of: of.clone(), artifact, made_here })
}

/// The name of a kind's resource, as the API server says it.
pub fn plural(kind: &str) -> String {
    match kind {
        "GitRepository" => "gitrepositories".to_owned(),
        "OCIRepository" => "ocirepositories".to_owned(),
        other => format!("{}s", other.to_ascii_lowercase()),
    }
}
