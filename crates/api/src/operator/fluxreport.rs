//! FluxReport: a report about an installation of Flux.

use crate::crd::{Column, Definition, kind};
use crate::schema::object;
use crate::shared::condition::Condition;

kind! {
    /// Report about an installation of Flux.
    #[schema(
        rules = [
            (
                "self.metadata.name == 'flux'",
                "the only accepted name for a FluxReport is 'flux'",
            ),
        ],
    )]
    pub struct FluxReport {
        pub spec: FluxReportSpec,
        pub status: Option<FluxReportStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "FluxReport",
        plural: "fluxreports",
        short_names: &[],
        categories: &["fluxcd"],
        columns: &[
            Column::wide("Entitlement", ".spec.distribution.entitlement", 10),
            Column::AGE,
            Column::READY,
            Column::MESSAGE,
            Column::text("LastUpdated", r#".status.conditions[?(@.type=="Ready")].lastTransitionTime"#),
        ],
        status: true,
        substitute: true,
    }
}

object! {
    /// The report.
    pub struct FluxReportSpec {
        /// About the cluster.
        pub cluster: Option<ClusterInfo>,
        /// About the controllers.
        pub components: Option<Vec<ComponentStatus>>,
        /// About the installation.
        pub distribution: DistributionStatus,
        /// About the operator.
        pub operator: Option<OperatorInfo>,
        /// Objects of each kind.
        pub reconcilers: Option<Vec<ReconcilerStatus>>,
        /// About the synchronisation with the source.
        pub sync: Option<SyncStatus>,
    }
}

object! {
    /// About the cluster.
    pub struct ClusterInfo {
        /// How many nodes there are.
        pub nodes: Option<isize>,
        /// Operating system and architecture.
        pub platform: String,
        /// Version of Kubernetes.
        pub server_version: String,
    }
}

object! {
    /// About a controller.
    pub struct ComponentStatus {
        /// Its image.
        pub image: String,
        /// Its name.
        pub name: String,
        /// Whether it is ready.
        pub ready: bool,
        /// Status.
        pub status: String,
    }
}

object! {
    /// About the installation.
    pub struct DistributionStatus {
        /// Licence of the installation.
        pub entitlement: String,
        /// What manages the installation.
        pub managed_by: Option<String>,
        /// Status.
        pub status: String,
        /// Version of Flux.
        pub version: Option<String>,
    }
}

object! {
    /// About the operator.
    pub struct OperatorInfo {
        /// API version that the operator serves.
        pub api_version: String,
        /// Operating system and architecture.
        pub platform: String,
        /// Version of the operator.
        pub version: String,
    }
}

object! {
    /// Objects of a kind.
    pub struct ReconcilerStatus {
        /// Group and version of the object.
        pub api_version: String,
        /// Kind of the object.
        pub kind: String,
        /// Number of objects by state.
        pub stats: Option<ReconcilerStats>,
    }
}

object! {
    /// Number of objects by state.
    pub struct ReconcilerStats {
        /// How many fail.
        pub failing: isize,
        /// How many are being reconciled or ready.
        pub running: isize,
        /// How many are suspended.
        pub suspended: isize,
        /// How much they take up in storage.
        pub total_size: Option<String>,
    }
}

object! {
    /// About the synchronisation with the source.
    pub struct SyncStatus {
        /// Identity of the Kustomization.
        pub id: String,
        /// Directory in the source.
        pub path: Option<String>,
        /// Whether it is ready.
        pub ready: bool,
        /// Address of the source.
        pub source: Option<String>,
        /// Status.
        pub status: String,
    }
}

object! {
    /// Whether the report is up to date.
    pub struct FluxReportStatus {
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
    }
}
