//! Bucket: a bucket of an object store to fetch from.

use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, SHORT_DURATION, choice, object};
use crate::shared::artifact::Artifact;
use crate::shared::condition::Condition;
use crate::shared::reference::LocalObjectReference;

kind! {
    /// A bucket of an object store to fetch from.
    pub struct Bucket {
        pub spec: BucketSpec,
        #[schema(default = serde_json::json!({"observedGeneration": -1}))]
        pub status: Option<BucketStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "Bucket",
        plural: "buckets",
        short_names: &[],
        categories: &["all", "fluxcd", "fluxcd-sources"],
        columns: &[
            Column::text("Endpoint", ".spec.endpoint"),
            Column::AGE,
            Column::READY,
            Column::MESSAGE,
        ],
        status: true,
        substitute: false,
    }
}

object! {
    /// What to fetch, and when.
    #[schema(
        rules = [
            (
                "self.provider == 'aws' || self.provider == 'generic' || !has(self.sts)",
                "STS configuration is only supported for the 'aws' and 'generic' Bucket providers",
            ),
            (
                "self.provider != 'aws' || !has(self.sts) || self.sts.provider == 'aws'",
                "'aws' is the only supported STS provider for the 'aws' Bucket provider",
            ),
            (
                "self.provider != 'generic' || !has(self.sts) || self.sts.provider == 'ldap'",
                "'ldap' is the only supported STS provider for the 'generic' Bucket provider",
            ),
            (
                "!has(self.sts) || self.sts.provider != 'aws' || !has(self.sts.secretRef)",
                "spec.sts.secretRef is not required for the 'aws' STS provider",
            ),
            (
                "!has(self.sts) || self.sts.provider != 'aws' || !has(self.sts.certSecretRef)",
                "spec.sts.certSecretRef is not required for the 'aws' STS provider",
            ),
            (
                "self.provider != 'generic' || !has(self.serviceAccountName)",
                "ServiceAccountName is not supported for the 'generic' Bucket provider",
            ),
            (
                "!has(self.secretRef) || !has(self.serviceAccountName)",
                "cannot set both .spec.secretRef and .spec.serviceAccountName",
            ),
        ],
    )]
    pub struct BucketSpec {
        /// Name of the bucket.
        pub bucket_name: String,
        /// Secret with a client certificate (`tls.crt`, `tls.key`) or an authority to trust (`ca.crt`).
        pub cert_secret_ref: Option<LocalObjectReference>,
        /// Host and port of the object store.
        pub endpoint: String,
        /// Patterns in the form of `.gitignore` of what to leave out of the artifact.
        pub ignore: Option<String>,
        /// Whether plain HTTP is allowed.
        pub insecure: Option<bool>,
        /// Interval of reconciliations.
        #[schema(pattern = DURATION)]
        pub interval: GoDuration,
        /// Prefix of the objects to fetch.
        pub prefix: Option<String>,
        /// Provider of the credentials.
        #[schema(default = "generic")]
        pub provider: Option<BucketProvider>,
        /// Secret with the address of a proxy and the credentials for it.
        pub proxy_secret_ref: Option<LocalObjectReference>,
        /// Region of the bucket.
        pub region: Option<String>,
        /// Secret with the credentials, in the same namespace.
        pub secret_ref: Option<LocalObjectReference>,
        /// Service account to act as.
        pub service_account_name: Option<String>,
        /// How to get temporary credentials.
        pub sts: Option<BucketSts>,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
        /// How long a fetch may take.
        #[schema(pattern = SHORT_DURATION, default = "60s")]
        pub timeout: Option<GoDuration>,
    }
}

object! {
    /// A service for temporary credentials.
    pub struct BucketSts {
        /// Secret with a client certificate (`tls.crt`, `tls.key`) or an authority to trust (`ca.crt`).
        pub cert_secret_ref: Option<LocalObjectReference>,
        /// Address of the service.
        #[schema(pattern = "^(http|https)://.*$")]
        pub endpoint: String,
        /// Provider of the service.
        pub provider: StsProvider,
        /// Secret with the credentials for an LDAP service.
        pub secret_ref: Option<LocalObjectReference>,
    }
}

object! {
    /// Observed state.
    pub struct BucketStatus {
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
        /// Address at which the newest artifact is served.
        pub url: Option<String>,
    }
}

choice! {
    /// Provider of the object store.
    pub enum BucketProvider {
        Generic = "generic",
        Aws = "aws",
        Gcp = "gcp",
        Azure = "azure",
    }
}

choice! {
    /// Provider of the credential service.
    pub enum StsProvider {
        Aws = "aws",
        Ldap = "ldap",
    }
}
