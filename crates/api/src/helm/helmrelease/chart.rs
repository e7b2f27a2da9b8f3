//! Where a HelmRelease has its chart from.

use sluice_base::duration::GoDuration;

use crate::schema::{DURATION, choice, object};
use crate::shared::kustomize::CommonMetadata;
use crate::shared::reference::LocalObjectReference;
use crate::shared::signature::SignatureProvider;
use crate::source::helmchart::{ChartSourceKind, ReconcileStrategy};

object! {
    /// The HelmChart to make.
    pub struct HelmChartTemplate {
        /// Labels and annotations of the HelmChart.
        pub metadata: Option<CommonMetadata>,
        /// Which chart.
        pub spec: HelmChartTemplateSpec,
    }
}

object! {
    /// Which chart, and when to look.
    pub struct HelmChartTemplateSpec {
        /// Name of the chart, or its path in the source.
        #[schema(min_length = 1, max_length = 2048)]
        pub chart: String,
        /// Whether values files that do not exist are passed over.
        pub ignore_missing_values_files: Option<bool>,
        /// Interval of looking for new versions; the release's interval when absent.
        #[schema(pattern = DURATION)]
        pub interval: Option<GoDuration>,
        /// What makes a new artifact.
        #[schema(default = "ChartVersion")]
        pub reconcile_strategy: Option<ReconcileStrategy>,
        /// The source.
        pub source_ref: CrossNamespaceChartSource,
        /// Values files to merge into the chart's default values, in order.
        pub values_files: Option<Vec<String>>,
        /// How to verify the signature before use.
        pub verify: Option<HelmChartTemplateVerification>,
        /// Range of versions; ignored for charts from Git and buckets.
        #[schema(default = "*")]
        pub version: Option<String>,
    }
}

object! {
    /// The source of a chart, perhaps in another namespace.
    pub struct CrossNamespaceChartSource {
        /// Group and version of the object.
        pub api_version: Option<String>,
        /// Kind of the object.
        pub kind: ChartSourceKind,
        /// Name of the object.
        #[schema(min_length = 1, max_length = 253)]
        pub name: String,
        /// Namespace of the object; the referrer's own when absent.
        #[schema(min_length = 1, max_length = 63)]
        pub namespace: Option<String>,
    }
}

object! {
    /// How charts from OCI registries are verified.
    pub struct HelmChartTemplateVerification {
        /// The tool the signature was made with.
        #[schema(default = "cosign")]
        pub provider: SignatureProvider,
        /// Secret with the public keys to trust.
        pub secret_ref: Option<LocalObjectReference>,
    }
}

object! {
    /// An object that holds a chart, perhaps in another namespace.
    pub struct CrossNamespaceSourceReference {
        /// Group and version of the object.
        pub api_version: Option<String>,
        /// Kind of the object.
        pub kind: ChartReferenceKind,
        /// Name of the object.
        #[schema(min_length = 1, max_length = 253)]
        pub name: String,
        /// Namespace of the object; the referrer's own when absent.
        #[schema(min_length = 1, max_length = 63)]
        pub namespace: Option<String>,
    }
}

choice! {
    /// Kinds that a release may take its chart from.
    pub enum ChartReferenceKind {
        OCIRepository = "OCIRepository",
        HelmChart = "HelmChart",
        ExternalArtifact = "ExternalArtifact",
    }
}
