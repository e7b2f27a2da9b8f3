//! Alert: forwards events to a provider.

use std::collections::BTreeMap;

use crate::crd::{Column, Definition, kind};
use crate::schema::{choice, object};
use crate::shared::reference::LocalObjectReference;

kind! {
    /// Forwards events to a provider.
    pub struct Alert {
        pub spec: AlertSpec,
    }

    Definition {
        group: super::GROUP,
        version: "v1beta3",
        kind: "Alert",
        plural: "alerts",
        short_names: &[],
        categories: &["all", "fluxcd", "fluxcd-notifications"],
        columns: &[
            Column::AGE,
        ],
        status: false,
        substitute: false,
    }
}

object! {
    /// Forwards events to a provider.
    pub struct AlertSpec {
        /// Fields to add to every event.
        pub event_metadata: Option<BTreeMap<String, String>>,
        /// Minimum severity of forwarded events.
        #[schema(default = "info")]
        pub event_severity: Option<EventSeverity>,
        /// Objects with events to forward.
        pub event_sources: Vec<EventSource>,
        /// Regular expressions for messages to drop.
        pub exclusion_list: Option<Vec<String>>,
        /// Regular expressions for messages to forward; all others are dropped.
        pub inclusion_list: Option<Vec<String>>,
        /// The Provider to send to.
        pub provider_ref: LocalObjectReference,
        /// A short text to add to every event.
        #[schema(max_length = 255)]
        pub summary: Option<String>,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
    }
}

object! {
    /// Objects with events to forward.
    pub struct EventSource {
        /// Group and version of the object.
        pub api_version: Option<String>,
        /// Kind of the object.
        pub kind: EventSourceKind,
        /// Labels and the values they must have.
        pub match_labels: Option<BTreeMap<String, String>>,
        /// Name of the object, or `*` for all.
        #[schema(min_length = 1, max_length = 253)]
        pub name: String,
        /// Namespace of the object; the referrer's own when absent.
        #[schema(min_length = 1, max_length = 253)]
        pub namespace: Option<String>,
    }
}

choice! {
    /// Minimum severity of forwarded events.
    pub enum EventSeverity {
        Info = "info",
        Error = "error",
    }
}

choice! {
    /// Kinds that events may be about.
    pub enum EventSourceKind {
        Bucket = "Bucket",
        GitRepository = "GitRepository",
        Kustomization = "Kustomization",
        HelmRelease = "HelmRelease",
        HelmChart = "HelmChart",
        HelmRepository = "HelmRepository",
        ImageRepository = "ImageRepository",
        ImagePolicy = "ImagePolicy",
        ImageUpdateAutomation = "ImageUpdateAutomation",
        OCIRepository = "OCIRepository",
        ArtifactGenerator = "ArtifactGenerator",
        ExternalArtifact = "ExternalArtifact",
    }
}
