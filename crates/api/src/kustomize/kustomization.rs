//! Kustomization: builds and applies a directory of a source.

use std::collections::BTreeMap;

use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, choice, object};
use crate::shared::condition::Condition;
use crate::shared::health::CustomHealthCheck;
use crate::shared::inventory::{ResourceInventory, Snapshot};
use crate::shared::kustomize::{CommonMetadata, IgnoreRule, Image, Patch};
use crate::shared::reference::{
    DependencyReference, KubeConfigReference, LocalObjectReference, ObjectKindReference,
    ValuesReferenceKind,
};

kind! {
    /// Builds and applies a directory of a source.
    pub struct Kustomization {
        pub spec: KustomizationSpec,
        #[schema(default = serde_json::json!({"observedGeneration": -1}))]
        pub status: Option<KustomizationStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "Kustomization",
        plural: "kustomizations",
        short_names: &["ks"],
        categories: &["all", "fluxcd", "fluxcd-appliers"],
        columns: &[
            Column::AGE,
            Column::READY,
            Column::MESSAGE,
        ],
        status: true,
        substitute: false,
    }
}

object! {
    /// What to build and how to apply it.
    pub struct KustomizationSpec {
        /// Origin annotations of objects.
        pub build_metadata: Option<Vec<BuildMetadata>>,
        /// Labels and annotations for every object that is applied.
        pub common_metadata: Option<CommonMetadata>,
        /// Kustomize components to use, as paths.
        pub components: Option<Vec<String>>,
        /// How to decrypt secrets.
        pub decryption: Option<Decryption>,
        /// How to treat the applied objects when this one is deleted.
        pub deletion_policy: Option<DeletionPolicy>,
        /// Objects that must be ready first.
        pub depends_on: Option<Vec<DependencyReference>>,
        /// Whether to recreate objects when immutable fields change.
        #[schema(default = false)]
        pub force: Option<bool>,
        /// Custom health checks.
        pub health_check_exprs: Option<Vec<CustomHealthCheck>>,
        /// Objects to wait for.
        pub health_checks: Option<Vec<ObjectKindReference>>,
        /// Fields to leave out of drift detection and correction.
        pub ignore: Option<Vec<IgnoreRule>>,
        /// Whether components that do not exist are passed over.
        pub ignore_missing_components: Option<bool>,
        /// Replacements for images.
        pub images: Option<Vec<Image>>,
        /// Interval of reconciliations.
        #[schema(pattern = DURATION)]
        pub interval: GoDuration,
        /// The cluster to apply to, when it is another one.
        pub kube_config: Option<KubeConfigReference>,
        /// Prefix of names.
        #[schema(min_length = 1, max_length = 200)]
        pub name_prefix: Option<String>,
        /// Suffix of names.
        #[schema(min_length = 1, max_length = 200)]
        pub name_suffix: Option<String>,
        /// Patches, strategic merge or JSON 6902.
        pub patches: Option<Vec<Patch>>,
        /// Directory in the source; its root when absent.
        pub path: Option<String>,
        /// What to do with the built manifests.
        pub post_build: Option<PostBuild>,
        /// Whether objects that are gone from the source are deleted.
        pub prune: bool,
        /// How long to wait after a failure; the interval when absent.
        #[schema(pattern = DURATION)]
        pub retry_interval: Option<GoDuration>,
        /// Service account to act as.
        pub service_account_name: Option<String>,
        /// The source to build from.
        pub source_ref: KustomizationSourceReference,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
        /// Namespace that replaces all others.
        #[schema(min_length = 1, max_length = 63)]
        pub target_namespace: Option<String>,
        /// How long building, applying and waiting may take.
        #[schema(pattern = DURATION)]
        pub timeout: Option<GoDuration>,
        /// Whether to wait until everything applied is healthy.
        pub wait: Option<bool>,
    }
}

object! {
    /// The source of a Kustomization.
    pub struct KustomizationSourceReference {
        /// Group and version of the object.
        pub api_version: Option<String>,
        /// Kind of the object.
        pub kind: KustomizationSourceKind,
        /// Name of the object.
        pub name: String,
        /// Namespace of the object; the referrer's own when absent.
        pub namespace: Option<String>,
    }
}

object! {
    /// How secrets are decrypted.
    pub struct Decryption {
        /// The tool the secrets were encrypted with.
        pub provider: DecryptionProvider,
        /// Secret with the private keys.
        pub secret_ref: Option<LocalObjectReference>,
        /// Service account for workload identity at the key service.
        pub service_account_name: Option<String>,
    }
}

object! {
    /// What to do with built manifests.
    pub struct PostBuild {
        /// Variables and their values.
        pub substitute: Option<BTreeMap<String, String>>,
        /// ConfigMaps and Secrets with more variables; later ones win, inline ones win over all.
        pub substitute_from: Option<Vec<SubstituteReference>>,
        /// When to substitute.
        pub substitute_strategy: Option<SubstituteStrategy>,
    }
}

object! {
    /// A ConfigMap or Secret with variables.
    pub struct SubstituteReference {
        /// Kind of the object.
        pub kind: ValuesReferenceKind,
        /// Name of the object.
        #[schema(min_length = 1, max_length = 253)]
        pub name: String,
        /// Whether it may be absent.
        #[schema(default = false)]
        pub optional: Option<bool>,
    }
}

object! {
    /// Observed state.
    pub struct KustomizationStatus {
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// The last distinct reconciliations, newest first.
        pub history: Option<Vec<Snapshot>>,
        /// The objects that were applied last.
        pub inventory: Option<ResourceInventory>,
        /// Origin revision that was last applied, if the artifact has one.
        pub last_applied_origin_revision: Option<String>,
        /// The revision that was last applied with success.
        pub last_applied_revision: Option<String>,
        /// The revision that was last tried.
        pub last_attempted_revision: Option<String>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// The generation that was last reconciled.
        pub observed_generation: Option<i64>,
    }
}

choice! {
    /// Annotations about the origin of an object.
    pub enum BuildMetadata {
        OriginAnnotations = "originAnnotations",
        TransformerAnnotations = "transformerAnnotations",
    }
}

choice! {
    /// The tool secrets were encrypted with.
    pub enum DecryptionProvider {
        Sops = "sops",
    }
}

choice! {
    /// How to treat applied objects when their owner is deleted.
    pub enum DeletionPolicy {
        MirrorPrune = "MirrorPrune",
        Delete = "Delete",
        WaitForTermination = "WaitForTermination",
        Orphan = "Orphan",
    }
}

choice! {
    /// When variables are substituted.
    pub enum SubstituteStrategy {
        WithVariables = "WithVariables",
        Always = "Always",
    }
}

choice! {
    /// Kinds that a Kustomization builds from.
    pub enum KustomizationSourceKind {
        OCIRepository = "OCIRepository",
        GitRepository = "GitRepository",
        Bucket = "Bucket",
        ExternalArtifact = "ExternalArtifact",
    }
}
