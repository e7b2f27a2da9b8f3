//! What the controllers of sources work with: transports to reach sources, a store for artifacts.

use std::sync::Arc;

use crate::artifact::DigestAlgorithm;
use crate::bucket::BucketTransport;
use crate::git::GitTransport;
use crate::network::Network;
use crate::oci::Wire;
use crate::store::{ArtifactStore, Retention};

/// Where sources come from and where artifacts go.
#[derive(Clone)]
pub struct SourceBackends {
    /// Keeps artifacts.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// The host, with its port if need be, under which the store is served.
    pub advertised: String,
    /// How long old artifacts stay.
    pub retention: Retention,
    /// What revisions are computed with where the source has none of its own (`--artifact-digest-algo`).
    pub digests: DigestAlgorithm,
    /// Reaches repositories.
    pub transport: Arc<dyn GitTransport>,
    /// Reaches object stores.
    pub buckets: Arc<dyn BucketTransport>,
    /// Reaches the API of GitHub Apps.
    pub network: Network,
    /// Reaches registries.
    pub registries: Arc<dyn Wire>,
}
