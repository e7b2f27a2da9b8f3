//! ExternalArtifact: an artifact of another controller.

use crate::crd::{Column, Definition, kind};
use crate::schema::object;
use crate::shared::artifact::Artifact;
use crate::shared::condition::Condition;
use crate::shared::reference::ObjectKindReference;

kind! {
    /// An artifact of another controller.
    pub struct ExternalArtifact {
        pub spec: ExternalArtifactSpec,
        pub status: Option<ExternalArtifactStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "ExternalArtifact",
        plural: "externalartifacts",
        short_names: &["ea"],
        categories: &["all", "fluxcd", "fluxcd-sources"],
        columns: &[
            Column::AGE,
            Column::READY,
            Column::MESSAGE,
            Column::text("Source", ".spec.sourceRef.name"),
        ],
        status: true,
        substitute: false,
    }
}

object! {
    /// Where the artifact comes from.
    pub struct ExternalArtifactSpec {
        /// The object that makes the artifact.
        pub source_ref: Option<ObjectKindReference>,
    }
}

object! {
    /// Composed artifacts.
    pub struct ExternalArtifactStatus {
        /// The artifact made by the last successful reconciliation.
        pub artifact: Option<Artifact>,
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
    }
}
