//! FluxInstance: an installation of Flux.

use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, choice, object};
use crate::shared::condition::Condition;
use crate::shared::inventory::{ResourceInventory, Snapshot};
use crate::shared::kustomize::{CommonMetadata, Patch};

kind! {
    /// An installation of Flux.
    #[schema(
        rules = [
            (
                "self.metadata.name == 'flux'",
                "the only accepted name for a FluxInstance is 'flux'",
            ),
        ],
    )]
    pub struct FluxInstance {
        pub spec: FluxInstanceSpec,
        pub status: Option<FluxInstanceStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "FluxInstance",
        plural: "fluxinstances",
        short_names: &[],
        categories: &["fluxcd", "fluxcd-appliers"],
        columns: &[
            Column::AGE,
            Column::READY,
            Column::MESSAGE,
            Column::text("Revision", ".status.lastAttemptedRevision"),
        ],
        status: true,
        substitute: true,
    }
}

object! {
    /// Which Flux to install, and how.
    #[schema(
        rules = [
            (
                "!has(self.sharding) || !has(self.sharding.storage) || self.sharding.storage != 'persistent' || has(self.storage)",
                ".spec.storage must be set when .spec.sharding.storage is 'persistent'",
            ),
        ],
    )]
    pub struct FluxInstanceSpec {
        /// What kind of cluster it is.
        pub cluster: Option<ClusterSpec>,
        /// Labels and annotations for every object that is applied.
        pub common_metadata: Option<CommonMetadata>,
        /// The controllers to install.
        pub components: Option<Vec<FluxComponent>>,
        /// Where the manifests and images come from.
        pub distribution: DistributionSpec,
        /// Changes to the manifests.
        pub kustomize: Option<KustomizeSpec>,
        /// Whether stored objects are moved to the newest API versions.
        #[schema(default = true)]
        pub migrate_resources: Option<bool>,
        /// How work is split between instances of controllers.
        pub sharding: Option<ShardingSpec>,
        /// Persistent storage for artifacts.
        pub storage: Option<StorageSpec>,
        /// The source that the cluster is synchronised with.
        pub sync: Option<SyncSpec>,
        /// Whether to wait until everything applied is healthy.
        #[schema(default = true)]
        pub wait: Option<bool>,
    }
}

object! {
    /// Where manifests and images come from.
    pub struct DistributionSpec {
        /// OCI artifact with the manifests.
        #[schema(pattern = "^oci://.*$")]
        pub artifact: Option<String>,
        /// Secret with the credentials for the artifact.
        pub artifact_pull_secret: Option<String>,
        /// Secret with the credentials for the images.
        pub image_pull_secret: Option<String>,
        /// Registry of the images.
        pub registry: String,
        /// Which build of the images.
        pub variant: Option<DistributionVariant>,
        /// Range of versions.
        pub version: String,
    }
}

object! {
    /// What kind of cluster it is.
    #[schema(
        rules = [
            (
                "(has(self.objectLevelWorkloadIdentity) && self.objectLevelWorkloadIdentity) || !has(self.multitenantWorkloadIdentity) || !self.multitenantWorkloadIdentity",
                ".objectLevelWorkloadIdentity must be set to true when .multitenantWorkloadIdentity is set to true",
            ),
        ],
    )]
    pub struct ClusterSpec {
        /// DNS domain of the cluster.
        #[schema(default = "cluster.local")]
        pub domain: Option<String>,
        /// Whether references across namespaces are forbidden and tenants' service accounts are used.
        #[schema(default = false)]
        pub multitenant: Option<bool>,
        /// Whether workload identities are locked down to tenants too.
        #[schema(default = false)]
        pub multitenant_workload_identity: Option<bool>,
        /// Whether to restrict network traffic to Flux.
        #[schema(default = true)]
        pub network_policy: Option<bool>,
        /// Whether objects may name a service account for workload identity.
        pub object_level_workload_identity: Option<bool>,
        /// For how many objects the controllers are configured.
        pub size: Option<ClusterSize>,
        /// Service account for decryption when none is named.
        pub tenant_default_decryption_service_account: Option<String>,
        /// Service account for access to other clusters when none is named.
        pub tenant_default_kube_config_service_account: Option<String>,
        /// Service account for applying when none is named.
        pub tenant_default_service_account: Option<String>,
        /// Distribution of Kubernetes.
        #[schema(default = "kubernetes")]
        pub r#type: Option<ClusterType>,
    }
}

object! {
    /// How work is split between instances of controllers.
    pub struct ShardingSpec {
        /// Label with an object's shard.
        #[schema(default = "sharding.fluxcd.io/key")]
        pub key: Option<String>,
        /// Names of the shards.
        #[schema(min_items = 1)]
        pub shards: Vec<String>,
        /// Whether shards of the source controller get persistent storage.
        pub storage: Option<ShardStorage>,
    }
}

object! {
    /// Persistent storage for artifacts.
    pub struct StorageSpec {
        /// Storage class.
        pub class: String,
        /// How much.
        pub size: String,
    }
}

object! {
    /// Changes to the manifests.
    pub struct KustomizeSpec {
        /// Patches, strategic merge or JSON 6902.
        pub patches: Option<Vec<Patch>>,
    }
}

object! {
    /// The source that the cluster is synchronised with.
    #[schema(
        rules = [
            (
                "!has(self.provider) || self.provider != 'gcp' || self.kind == 'OCIRepository' || self.kind == 'Bucket'",
                "sync.provider 'gcp' is only supported for OCIRepository and Bucket",
            ),
            (
                "!has(self.provider) || self.provider != 'github' || self.kind == 'GitRepository'",
                "sync.provider 'github' is only supported for GitRepository",
            ),
        ],
    )]
    pub struct SyncSpec {
        /// Interval of reconciliations.
        #[schema(pattern = DURATION, default = "1m")]
        pub interval: Option<GoDuration>,
        /// Kind of the source.
        pub kind: SyncSourceKind,
        /// Name of the source and of the Kustomization; that of the namespace when absent.
        #[schema(
            max_length = 63,
            rules = [
                (
                    "self == oldSelf",
                    "Sync name is immutable",
                ),
            ],
        )]
        pub name: Option<String>,
        /// Directory in the source.
        pub path: String,
        /// Provider of the credentials.
        pub provider: Option<SyncProvider>,
        /// Secret with the credentials for the source.
        pub pull_secret: Option<String>,
        /// Reference of the source: a Git reference, an OCI tag, or nothing for a bucket.
        pub r#ref: String,
        /// Address of the source.
        pub url: String,
    }
}

object! {
    /// Observed state.
    pub struct FluxInstanceStatus {
        /// The images in use.
        pub components: Option<Vec<ComponentImage>>,
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// The last distinct reconciliations, newest first.
        pub history: Option<Vec<Snapshot>>,
        /// The objects that were applied last.
        pub inventory: Option<ResourceInventory>,
        /// The revision that was last applied with success.
        pub last_applied_revision: Option<String>,
        /// Digest of the manifests that were last pulled.
        pub last_artifact_revision: Option<String>,
        /// The revision that was last tried.
        pub last_attempted_revision: Option<String>,
        /// Last handled value of the force request annotation.
        pub last_handled_force_at: Option<String>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
    }
}

object! {
    /// An image in use.
    pub struct ComponentImage {
        /// Digest of the image.
        pub digest: Option<String>,
        /// Name of the component.
        pub name: String,
        /// Repository of the image.
        pub repository: String,
        /// Tag of the image.
        pub tag: String,
    }
}

choice! {
    /// For how many objects controllers are configured.
    pub enum ClusterSize {
        Small = "small",
        Medium = "medium",
        Large = "large",
    }
}

choice! {
    /// Distribution of Kubernetes.
    pub enum ClusterType {
        Kubernetes = "kubernetes",
        Openshift = "openshift",
        Aws = "aws",
        Azure = "azure",
        Gcp = "gcp",
    }
}

choice! {
    /// A controller of Flux.
    pub enum FluxComponent {
        SourceController = "source-controller",
        KustomizeController = "kustomize-controller",
        HelmController = "helm-controller",
        NotificationController = "notification-controller",
        ImageReflectorController = "image-reflector-controller",
        ImageAutomationController = "image-automation-controller",
        SourceWatcher = "source-watcher",
    }
}

choice! {
    /// A build of the images.
    pub enum DistributionVariant {
        UpstreamAlpine = "upstream-alpine",
        EnterpriseAlpine = "enterprise-alpine",
        EnterpriseDistroless = "enterprise-distroless",
        EnterpriseDistrolessFips = "enterprise-distroless-fips",
    }
}

choice! {
    /// Storage of a shard.
    pub enum ShardStorage {
        Ephemeral = "ephemeral",
        Persistent = "persistent",
    }
}

choice! {
    /// Kinds that a cluster is synchronised with.
    pub enum SyncSourceKind {
        OCIRepository = "OCIRepository",
        GitRepository = "GitRepository",
        Bucket = "Bucket",
    }
}

choice! {
    /// Provider of the source's credentials.
    pub enum SyncProvider {
        Generic = "generic",
        Aws = "aws",
        Azure = "azure",
        Gcp = "gcp",
        Github = "github",
    }
}
