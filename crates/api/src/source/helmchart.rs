//! HelmChart: a chart to fetch or to package.

use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, choice, object};
use crate::shared::artifact::Artifact;
use crate::shared::condition::Condition;
use crate::shared::reference::LocalObjectReference;
use crate::shared::signature::{OidcIdentityMatch, SignatureProvider};

kind! {
    /// A chart to fetch or to package.
    pub struct HelmChart {
        pub spec: HelmChartSpec,
        #[schema(default = serde_json::json!({"observedGeneration": -1}))]
        pub status: Option<HelmChartStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "HelmChart",
        plural: "helmcharts",
        short_names: &["hc"],
        categories: &["all", "fluxcd", "fluxcd-sources"],
        columns: &[
            Column::text("Chart", ".spec.chart"),
            Column::text("Version", ".spec.version"),
            Column::text("Source Kind", ".spec.sourceRef.kind"),
            Column::text("Source Name", ".spec.sourceRef.name"),
            Column::AGE,
            Column::READY,
            Column::MESSAGE,
        ],
        status: true,
        substitute: false,
    }
}

object! {
    /// Which chart, and when to look.
    #[schema(
        rules = [
            (
                "!has(self.verify) || self.sourceRef.kind == 'HelmRepository'",
                "spec.verify is only supported when spec.sourceRef.kind is 'HelmRepository'",
            ),
        ],
    )]
    pub struct HelmChartSpec {
        /// Name of the chart, or its path in the source.
        pub chart: String,
        /// Whether values files that do not exist are passed over.
        pub ignore_missing_values_files: Option<bool>,
        /// Interval of reconciliations.
        #[schema(pattern = DURATION)]
        pub interval: GoDuration,
        /// What makes a new artifact.
        #[schema(default = "ChartVersion")]
        pub reconcile_strategy: Option<ReconcileStrategy>,
        /// The source.
        pub source_ref: HelmChartSourceReference,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
        /// Values files to merge into the chart's default values, in order.
        pub values_files: Option<Vec<String>>,
        /// How to verify the signature before use.
        pub verify: Option<HelmChartVerification>,
        /// Range of versions; ignored for charts from Git and buckets.
        #[schema(default = "*")]
        pub version: Option<String>,
    }
}

object! {
    /// The source of a chart.
    pub struct HelmChartSourceReference {
        /// Group and version of the object.
        pub api_version: Option<String>,
        /// Kind of the object.
        pub kind: ChartSourceKind,
        /// Name of the object.
        pub name: String,
    }
}

object! {
    /// How charts from OCI registries are verified.
    pub struct HelmChartVerification {
        /// Identities of keyless signatures, one of which must match.
        #[wire("matchOIDCIdentity")]
        pub match_oidc_identity: Option<Vec<OidcIdentityMatch>>,
        /// The tool the signature was made with.
        #[schema(default = "cosign")]
        pub provider: SignatureProvider,
        /// Secret with the public keys to trust.
        pub secret_ref: Option<LocalObjectReference>,
    }
}

object! {
    /// Observed state.
    pub struct HelmChartStatus {
        /// The artifact made by the last successful reconciliation.
        pub artifact: Option<Artifact>,
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// Name of the chart, from its metadata.
        pub observed_chart_name: Option<String>,
        /// The generation that was last reconciled.
        pub observed_generation: Option<i64>,
        /// The revision of the source that was last seen.
        pub observed_source_artifact_revision: Option<String>,
        /// The values files that the present artifact was made with.
        pub observed_values_files: Option<Vec<String>>,
        /// Address at which the newest artifact is served.
        pub url: Option<String>,
    }
}

choice! {
    /// Kinds that hold charts.
    pub enum ChartSourceKind {
        HelmRepository = "HelmRepository",
        GitRepository = "GitRepository",
        Bucket = "Bucket",
    }
}

choice! {
    /// What makes a new artifact of a chart.
    pub enum ReconcileStrategy {
        ChartVersion = "ChartVersion",
        Revision = "Revision",
    }
}
