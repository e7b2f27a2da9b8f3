//! The sources that appliers build from, whatever their kind.

use std::sync::Arc;

use sluice_api::shared::artifact::Artifact;
use sluice_api::source::bucket::Bucket;
use sluice_api::source::externalartifact::ExternalArtifact;
use sluice_api::source::gitrepository::GitRepository;
use sluice_api::source::helmchart::HelmChart;
use sluice_api::source::ocirepository::OCIRepository;
use sluice_runtime::index::Reference;
use sluice_runtime::store::Store;

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
}

impl Sources {
    /// The artifact of a source: nothing where there is no such source, and an empty answer where it has
    /// made none yet.
    pub fn artifact(&self, source: &Reference) -> Option<Option<Artifact>> {
        let key = &source.key;
        match source.kind.as_str() {
            "GitRepository" => self.git.get(key).map(|it| it.artifact().cloned()),
            "OCIRepository" => self.oci.get(key).map(|it| it.artifact().cloned()),
            "Bucket" => self.bucket.get(key).map(|it| it.artifact().cloned()),
            "HelmChart" => self.chart.get(key).map(|it| it.artifact().cloned()),
            "ExternalArtifact" => self.external.get(key).map(|it| it.artifact().cloned()),
            _ => None,
        }
    }
}

/// The name of a kind's resource, as the API server says it.
pub fn plural(kind: &str) -> String {
    match kind {
        "GitRepository" => "gitrepositories".to_owned(),
        "OCIRepository" => "ocirepositories".to_owned(),
        other => format!("{}s", other.to_ascii_lowercase()),
    }
}
