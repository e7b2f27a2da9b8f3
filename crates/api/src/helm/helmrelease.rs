//! HelmRelease: a release of a chart.

use serde_json::Value;
use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::helm::helmrelease::action::{Install, Rollback, Test, Uninstall, Upgrade};
use crate::helm::helmrelease::chart::{CrossNamespaceSourceReference, HelmChartTemplate};
use crate::helm::helmrelease::status::HelmReleaseStatus;
use crate::schema::{DURATION, choice, object};
use crate::shared::health::CustomHealthCheck;
use crate::shared::kustomize::{CommonMetadata, IgnoreRule, Image, Patch};
use crate::shared::reference::{DependencyReference, KubeConfigReference, ValuesReferenceKind};

pub mod action;
pub mod chart;
pub mod status;

kind! {
    /// A release of a chart.
    pub struct HelmRelease {
        pub spec: HelmReleaseSpec,
        #[schema(default = serde_json::json!({"observedGeneration": -1}))]
        pub status: Option<HelmReleaseStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v2",
        kind: "HelmRelease",
        plural: "helmreleases",
        short_names: &["hr"],
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
    /// Which chart to release and how.
    #[schema(
        rules = [
            (
                "(has(self.chart) && !has(self.chartRef)) || (!has(self.chart) && has(self.chartRef))",
                "either chart or chartRef must be set",
            ),
        ],
    )]
    pub struct HelmReleaseSpec {
        /// The chart, for which a HelmChart is made.
        pub chart: Option<HelmChartTemplate>,
        /// The chart, as an object that exists already.
        pub chart_ref: Option<CrossNamespaceSourceReference>,
        /// Labels and annotations for every object that is applied.
        pub common_metadata: Option<CommonMetadata>,
        /// Objects that must be ready first.
        pub depends_on: Option<Vec<DependencyReference>>,
        /// Drift detection and correction.
        pub drift_detection: Option<DriftDetection>,
        /// Custom health checks.
        pub health_check_exprs: Option<Vec<CustomHealthCheck>>,
        /// How to install.
        pub install: Option<Install>,
        /// Interval of reconciliations.
        #[schema(pattern = DURATION)]
        pub interval: GoDuration,
        /// The cluster to release to, when it is another one.
        pub kube_config: Option<KubeConfigReference>,
        /// How many releases Helm keeps; all when zero.
        pub max_history: Option<isize>,
        /// Whether to keep one client for all steps of a reconciliation.
        pub persistent_client: Option<bool>,
        /// What post-renderers get to see of hooks.
        pub post_render_strategy: Option<PostRenderStrategy>,
        /// What to do with rendered manifests, in order.
        pub post_renderers: Option<Vec<PostRenderer>>,
        /// Name of the release; made from namespace and name when absent.
        #[schema(min_length = 1, max_length = 53)]
        pub release_name: Option<String>,
        /// How to roll back.
        pub rollback: Option<Rollback>,
        /// Service account to act as.
        #[schema(min_length = 1, max_length = 253)]
        pub service_account_name: Option<String>,
        /// Namespace of Helm's records.
        #[schema(min_length = 1, max_length = 63)]
        pub storage_namespace: Option<String>,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
        /// Namespace to release to.
        #[schema(min_length = 1, max_length = 63)]
        pub target_namespace: Option<String>,
        /// How to test.
        pub test: Option<Test>,
        /// How long a single operation may take.
        #[schema(pattern = DURATION)]
        pub timeout: Option<GoDuration>,
        /// How to uninstall.
        pub uninstall: Option<Uninstall>,
        /// How to upgrade.
        pub upgrade: Option<Upgrade>,
        /// Values for the chart.
        pub values: Option<Value>,
        /// ConfigMaps and Secrets with more values; later ones win, inline ones win over all.
        pub values_from: Option<Vec<ValuesReference>>,
        /// How to wait for objects.
        pub wait_strategy: Option<WaitStrategy>,
    }
}

object! {
    /// Drift detection.
    pub struct DriftDetection {
        /// Fields to leave out.
        pub ignore: Option<Vec<IgnoreRule>>,
        /// Whether to correct drift, to warn, or to ignore it.
        pub mode: Option<DriftDetectionMode>,
    }
}

object! {
    /// Something to do with rendered manifests.
    pub struct PostRenderer {
        /// Changes in the terms of Kustomize.
        pub kustomize: Option<KustomizePostRenderer>,
    }
}

object! {
    /// Changes in the terms of Kustomize.
    pub struct KustomizePostRenderer {
        /// Replacements for images.
        pub images: Option<Vec<Image>>,
        /// Patches, strategic merge or JSON 6902.
        pub patches: Option<Vec<Patch>>,
    }
}

object! {
    /// A ConfigMap or Secret with values.
    pub struct ValuesReference {
        /// Kind of the object.
        pub kind: ValuesReferenceKind,
        /// Whether the value is taken literally, without reading commas and dots in it.
        pub literal: Option<bool>,
        /// Name of the object.
        #[schema(min_length = 1, max_length = 253)]
        pub name: String,
        /// Whether it may be absent.
        pub optional: Option<bool>,
        /// Path at which a single value is put; the whole is merged when absent.
        #[schema(pattern = r"^([a-zA-Z0-9_\-.\\\/]|\[[0-9]{1,5}\])+$", max_length = 250)]
        pub target_path: Option<String>,
        /// The key; `values.yaml` when absent.
        #[schema(pattern = r"^[\-._a-zA-Z0-9]+$", max_length = 253)]
        pub values_key: Option<String>,
    }
}

object! {
    /// How to wait for objects.
    pub struct WaitStrategy {
        /// The strategy.
        pub name: WaitStrategyName,
    }
}

choice! {
    /// How to treat drift.
    pub enum DriftDetectionMode {
        Enabled = "enabled",
        Warn = "warn",
        Disabled = "disabled",
    }
}

choice! {
    /// What post-renderers get to see of hooks.
    pub enum PostRenderStrategy {
        Nohooks = "nohooks",
        Combined = "combined",
        Separate = "separate",
    }
}

choice! {
    /// How to wait for objects.
    pub enum WaitStrategyName {
        Poller = "poller",
        Legacy = "legacy",
    }
}
