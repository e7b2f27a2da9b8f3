//! OCIRepository: a repository of OCI artifacts to fetch from.

use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, SHORT_DURATION, choice, object};
use crate::shared::artifact::Artifact;
use crate::shared::condition::Condition;
use crate::shared::provider::CloudProvider;
use crate::shared::reference::LocalObjectReference;
use crate::shared::signature::{OidcIdentityMatch, SignatureProvider};

kind! {
    /// A repository of OCI artifacts to fetch from.
    pub struct OCIRepository {
        pub spec: OCIRepositorySpec,
        #[schema(default = serde_json::json!({"observedGeneration": -1}))]
        pub status: Option<OCIRepositoryStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "OCIRepository",
        plural: "ocirepositories",
        short_names: &["ocirepo"],
        categories: &["all", "fluxcd", "fluxcd-sources"],
        columns: &[
            Column::text("URL", ".spec.url"),
            Column::READY,
            Column::MESSAGE,
            Column::AGE,
        ],
        status: true,
        substitute: false,
    }
}

object! {
    /// What to fetch, and when.
    pub struct OCIRepositorySpec {
        /// Secret with a client certificate (`tls.crt`, `tls.key`) or an authority to trust (`ca.crt`).
        pub cert_secret_ref: Option<LocalObjectReference>,
        /// Patterns in the form of `.gitignore` of what to leave out of the artifact.
        pub ignore: Option<String>,
        /// Whether plain HTTP is allowed.
        pub insecure: Option<bool>,
        /// Interval of reconciliations.
        #[schema(pattern = DURATION)]
        pub interval: GoDuration,
        /// Which layer to use; the first when absent.
        pub layer_selector: Option<OCILayerSelector>,
        /// Provider of the credentials.
        #[schema(default = "generic")]
        pub provider: Option<CloudProvider>,
        /// Secret with the address of a proxy and the credentials for it.
        pub proxy_secret_ref: Option<LocalObjectReference>,
        /// Which version to fetch; `latest` when absent.
        pub r#ref: Option<OCIRepositoryRef>,
        /// Secret with the credentials, in the same namespace.
        pub secret_ref: Option<LocalObjectReference>,
        /// Service account to act as.
        pub service_account_name: Option<String>,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
        /// How long a fetch may take.
        #[schema(pattern = SHORT_DURATION, default = "60s")]
        pub timeout: Option<GoDuration>,
        /// Address of the repository, beginning with `oci://`.
        #[schema(pattern = "^oci://.*$")]
        pub url: String,
        /// How to verify the signature before use.
        pub verify: Option<OCIVerification>,
    }
}

object! {
    /// Which version of an artifact to fetch.
    pub struct OCIRepositoryRef {
        /// Digest; wins over everything else.
        pub digest: Option<String>,
        /// Range of versions; wins over the tag.
        pub semver: Option<String>,
        /// Regular expression that tags must match before the range is applied.
        pub semver_filter: Option<String>,
        /// Tag.
        pub tag: Option<String>,
    }
}

object! {
    /// Which layer of an artifact to use.
    pub struct OCILayerSelector {
        /// Media type of the layer; the first that has it is used.
        pub media_type: Option<String>,
        /// Whether to unpack the layer or to keep it as it is.
        pub operation: Option<LayerOperation>,
    }
}

object! {
    /// How artifacts are verified.
    pub struct OCIVerification {
        /// Identities of keyless signatures, one of which must match.
        #[wire("matchOIDCIdentity")]
        pub match_oidc_identity: Option<Vec<OidcIdentityMatch>>,
        /// The tool the signature was made with.
        #[schema(default = "cosign")]
        pub provider: SignatureProvider,
        /// Secret with the public keys to trust.
        pub secret_ref: Option<LocalObjectReference>,
        /// Secret with a Sigstore trusted root.
        pub trusted_root_secret_ref: Option<LocalObjectReference>,
    }
}

object! {
    /// Observed state.
    pub struct OCIRepositoryStatus {
        /// The artifact made by the last successful reconciliation.
        pub artifact: Option<Artifact>,
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// The generation that was last reconciled.
        pub observed_generation: Option<i64>,
        /// The patterns that the present artifact was made with.
        pub observed_ignore: Option<String>,
        /// The layer selector that the present artifact was made with.
        pub observed_layer_selector: Option<OCILayerSelector>,
        /// Address at which the newest artifact is served.
        pub url: Option<String>,
    }
}

choice! {
    /// What to do with a layer.
    pub enum LayerOperation {
        Extract = "extract",
        Copy = "copy",
    }
}
