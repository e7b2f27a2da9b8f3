//! One audit event, in the shape of `audit.k8s.io/v1`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;
use serde_json::Value;

use crate::auth::User;

/// The annotation with the authorizer's decision: `allow` or `forbid`.
pub(super) const DECISION: &str = "authorization.k8s.io/decision";
/// The annotation with the reason: the binding that allowed the request.
pub(super) const REASON: &str = "authorization.k8s.io/reason";

/// How much of a request is in its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Level {
    /// Everything but the bodies.
    Metadata,
    /// Also the body of the request.
    Request,
}

/// The stage of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Stage {
    /// The headers of a response that stays open have been sent.
    ResponseStarted,
    /// The response is complete.
    ResponseComplete,
}

/// An audit event. Its JSON is an `audit.k8s.io/v1` `Event`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub(super) kind: &'static str,
    pub(super) api_version: &'static str,
    /// The audit level.
    pub level: Level,
    /// The `Audit-ID` header of the response; the same in all events of a request.
    #[serde(rename = "auditID")]
    pub audit_id: String,
    /// The stage.
    pub stage: Stage,
    /// Path and query as they were sent.
    #[serde(rename = "requestURI")]
    pub request_uri: String,
    /// The verb of the API; for paths that are not resources, the method in lower case.
    pub verb: &'static str,
    /// The authenticated user; empty if authentication failed.
    pub user: User,
    /// The impersonated user, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonated_user: Option<User>,
    /// The client's address; none for clients in the process. Forwarding headers are ignored.
    #[serde(rename = "sourceIPs", skip_serializing_if = "Vec::is_empty")]
    pub source_ips: Vec<IpAddr>,
    /// The `User-Agent` header.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user_agent: String,
    /// The object or collection; none for paths that are not resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_ref: Option<ObjectReference>,
    /// `metav1.Status` of the response, with its `code`.
    pub response_status: Value,
    /// The body of the request as JSON, as it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_object: Option<Value>,
    /// When the request arrived, by the cluster's clock.
    pub request_received_timestamp: String,
    /// When it reached this stage.
    pub stage_timestamp: String,
    /// The decision of the authorizer and its reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<&'static str, String>,
}

/// The object of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// The resource, in the plural.
    pub resource: String,
    /// The namespace; empty for cluster-scoped resources and for all namespaces.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name in the path; for a create, the name in the body.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The API group; empty for the core group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_group: String,
    /// The version of the API group.
    pub api_version: String,
    /// The subresource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
}

impl Event {
    /// The HTTP status of the response.
    pub fn code(&self) -> u16 {
        let code = self.response_status["code"].as_u64().unwrap_or_default();
        u16::try_from(code).unwrap_or_default()
    }

    /// The user that the request acts as: the impersonated one, or the authenticated one.
    pub fn acting_user(&self) -> &str {
        &self.impersonated_user.as_ref().unwrap_or(&self.user).name
    }

    /// Whether RBAC allowed the request; `None` if there was no decision.
    pub fn is_allowed(&self) -> Option<bool> {
        self.annotations.get(DECISION).map(|decision| decision == "allow")
    }

    /// The event as a JSON value.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("an event has only texts as keys")
    }
}
