//! Receiver: a webhook that triggers reconciliations.

use std::collections::BTreeMap;

use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::notification::alert::EventSourceKind;
use crate::schema::{DURATION, choice, object};
use crate::shared::condition::Condition;
use crate::shared::reference::LocalObjectReference;

kind! {
    /// A webhook that triggers reconciliations.
    pub struct Receiver {
        pub spec: ReceiverSpec,
        #[schema(default = serde_json::json!({"observedGeneration": -1}))]
        pub status: Option<ReceiverStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "Receiver",
        plural: "receivers",
        short_names: &[],
        categories: &["all", "fluxcd", "fluxcd-notifications"],
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
    /// Callers, and the objects to reconcile.
    #[schema(
        rules = [
            (
                "self.type != 'generic-oidc' || (has(self.oidcProviders) && size(self.oidcProviders) > 0)",
                "generic-oidc receivers must define at least one oidcProvider",
            ),
            (
                "self.type == 'generic-oidc' || !has(self.oidcProviders) || size(self.oidcProviders) == 0",
                "oidcProviders can only be set when type is generic-oidc",
            ),
            (
                "self.type != 'generic-oidc' || !has(self.secretRef)",
                "secretRef cannot be set when type is generic-oidc",
            ),
            (
                "self.type == 'generic-oidc' || has(self.secretRef)",
                "secretRef is required when type is not generic-oidc",
            ),
        ],
    )]
    pub struct ReceiverSpec {
        /// The events to act upon; all when absent.
        pub events: Option<Vec<String>>,
        /// Interval of reconciliations.
        #[schema(pattern = DURATION, default = "10m")]
        pub interval: Option<GoDuration>,
        /// Issuers of accepted tokens.
        #[schema(list_type = "map", list_map_keys = ["issuerURL"])]
        pub oidc_providers: Option<Vec<OidcProvider>>,
        /// CEL expression over `res` and `req` that each object must satisfy.
        pub resource_filter: Option<String>,
        /// The objects to reconcile.
        pub resources: Vec<ReceiverResource>,
        /// Secret with the token that authenticates callers.
        pub secret_ref: Option<LocalObjectReference>,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
        /// Type of the caller.
        pub r#type: ReceiverType,
    }
}

object! {
    /// Objects to reconcile.
    pub struct ReceiverResource {
        /// Group and version of the object.
        pub api_version: Option<String>,
        /// CEL expression over `res` and `req` that each object must satisfy.
        pub filter: Option<String>,
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

object! {
    /// An issuer of accepted tokens.
    pub struct OidcProvider {
        /// The audience that tokens must be for.
        pub audience: Option<String>,
        /// Address of the issuer.
        #[wire("issuerURL")]
        #[schema(pattern = "^https?://")]
        pub issuer_url: String,
        /// CEL expressions that must hold for the claims.
        #[schema(min_items = 1)]
        pub validations: Vec<OidcValidation>,
        /// Names for CEL expressions, to use in the validations.
        pub variables: Option<Vec<OidcVariable>>,
    }
}

object! {
    /// A CEL expression that must hold.
    pub struct OidcValidation {
        /// The expression.
        pub expression: String,
        /// Message when it is false.
        pub message: String,
    }
}

object! {
    /// A name for a CEL expression.
    pub struct OidcVariable {
        /// The expression.
        pub expression: String,
        /// The name.
        pub name: String,
    }
}

object! {
    /// Path of the webhook, and conditions.
    pub struct ReceiverStatus {
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// The generation that was last reconciled.
        pub observed_generation: Option<i64>,
        /// Path of the webhook.
        pub webhook_path: Option<String>,
    }
}

choice! {
    /// Type of a webhook's caller.
    pub enum ReceiverType {
        Generic = "generic",
        GenericHmac = "generic-hmac",
        GenericOidc = "generic-oidc",
        Github = "github",
        Gitlab = "gitlab",
        Bitbucket = "bitbucket",
        Harbor = "harbor",
        Dockerhub = "dockerhub",
        Quay = "quay",
        Gcr = "gcr",
        Nexus = "nexus",
        Acr = "acr",
        Cdevents = "cdevents",
    }
}
