//! HelmRepository: a repository of Helm charts.

use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, SHORT_DURATION, choice, object};
use crate::shared::artifact::Artifact;
use crate::shared::condition::Condition;
use crate::shared::provider::CloudProvider;
use crate::shared::reference::LocalObjectReference;
use crate::shared::selector::AccessFrom;

kind! {
    /// A repository of Helm charts.
    pub struct HelmRepository {
        pub spec: HelmRepositorySpec,
        #[schema(default = serde_json::json!({"observedGeneration": -1}))]
        pub status: Option<HelmRepositoryStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "HelmRepository",
        plural: "helmrepositories",
        short_names: &["helmrepo"],
        categories: &["all", "fluxcd", "fluxcd-sources"],
        columns: &[
            Column::text("URL", ".spec.url"),
            Column::AGE,
            Column::READY,
            Column::MESSAGE,
        ],
        status: true,
        substitute: false,
    }
}

object! {
    /// Where the charts are, and when to look.
    pub struct HelmRepositorySpec {
        /// Namespaces from which references are allowed.
        pub access_from: Option<AccessFrom>,
        /// Secret with a client certificate (`tls.crt`, `tls.key`) or an authority to trust (`ca.crt`).
        pub cert_secret_ref: Option<LocalObjectReference>,
        /// Whether plain HTTP is allowed.
        pub insecure: Option<bool>,
        /// Interval of reconciliations.
        #[schema(pattern = DURATION)]
        pub interval: Option<GoDuration>,
        /// Whether credentials go to other hosts that the index names.
        pub pass_credentials: Option<bool>,
        /// Provider of the credentials.
        #[schema(default = "generic")]
        pub provider: Option<CloudProvider>,
        /// Secret with the credentials, in the same namespace.
        pub secret_ref: Option<LocalObjectReference>,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
        /// How long a fetch of the index may take.
        #[schema(pattern = SHORT_DURATION)]
        pub timeout: Option<GoDuration>,
        /// Whether it is an index on a web server or an OCI registry.
        pub r#type: Option<HelmRepositoryType>,
        /// Address of the repository.
        #[schema(pattern = "^(http|https|oci)://.*$")]
        pub url: String,
    }
}

object! {
    /// Observed state.
    pub struct HelmRepositoryStatus {
        /// The artifact made by the last successful reconciliation.
        pub artifact: Option<Artifact>,
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// The generation that was last reconciled.
        pub observed_generation: Option<i64>,
        /// Address at which the newest artifact is served.
        pub url: Option<String>,
    }
}

choice! {
    /// Where a repository's charts are.
    pub enum HelmRepositoryType {
        Default = "default",
        Oci = "oci",
    }
}
