//! Failures as `metav1.Status`, with upstream's messages.
//!
//! The messages are a contract: controllers match on them, and Flux takes any 409 Conflict or 422
//! Invalid on apply as "immutable field", so a wrong code here makes it delete and re-create objects.

use serde_json::{Map, Value, json};
use sluice_base::go::quote;
use sluice_schema::field::{FieldError, aggregate};

/// A failed request; becomes the body of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`.
    pub reason: &'static str,
    /// The message for people.
    pub message: String,
    /// `details`, if any.
    pub details: Option<Value>,
    /// Whether the response is plain text, as upstream's outermost router sends it.
    pub plain: bool,
    /// `metadata.continue`: the token with which an expired list can continue, inconsistently.
    pub continue_token: Option<String>,
    /// `Warning` headers of a request that failed.
    pub warnings: Box<[String]>,
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

/// `resource.group`, as upstream prints a group resource; the core group is bare.
pub fn group_resource(group: &str, resource: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}

fn details(name: &str, group: &str, kind: &str) -> Map<String, Value> {
    let mut out = Map::new();
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            out.insert(key.to_owned(), value.into());
        }
    }
    out
}

impl Status {
    /// A failure without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            plain: false,
            continue_token: None,
            warnings: Box::default(),
        }
    }

    /// With `details` set.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// With more warnings.
    #[must_use]
    pub fn warned(mut self, warnings: &[String]) -> Self {
        self.warnings = self.warnings.iter().chain(warnings).cloned().collect();
        self
    }

    /// 404 for an object.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {} not found", group_resource(group, resource), quote(name));
        Self {
            details: Some(details(name, group, resource).into()),
            ..Self::new(404, "NotFound", message)
        }
    }

    /// 404 for an unknown path; plain text.
    pub fn page_not_found() -> Self {
        Self { plain: true, ..Self::new(404, "NotFound", "404 page not found\n") }
    }

    /// 404 for an unknown resource of a known group.
    pub fn no_such_resource() -> Self {
        Self {
            details: Some(json!({})),
            ..Self::new(404, "NotFound", "the server could not find the requested resource")
        }
    }

    /// 409 on create.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {} already exists", group_resource(group, resource), quote(name));
        Self {
            details: Some(details(name, group, resource).into()),
            ..Self::new(409, "AlreadyExists", message)
        }
    }

    /// 409 for a concurrent write or a failed precondition.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {}: {why}",
            group_resource(group, resource),
            quote(name)
        );
        Self {
            details: Some(details(name, group, resource).into()),
            ..Self::new(409, "Conflict", message)
        }
    }

    /// The conflict of a stale `resourceVersion`.
    pub fn modified(group: &str, resource: &str, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(group, resource, name, why)
    }

    /// 422 with a cause per field error. `kind` and its `group`, not the resource.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let causes: Vec<Value> = errors
            .iter()
            .map(|error| {
                json!({"reason": error.kind.reason(), "message": error.body(), "field": error.field})
            })
            .collect();
        let mut detail = details(name, group, kind);
        if !causes.is_empty() {
            detail.insert("causes".to_owned(), causes.into());
        }
        let subject = format!("{} {} is invalid", group_resource(group, kind), quote(name));
        let message =
            if errors.is_empty() { subject } else { format!("{subject}: {}", aggregate(errors)) };
        Self { details: Some(detail.into()), ..Self::new(422, "Invalid", message) }
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403 for an object or, with an empty name, a collection.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let subject = group_resource(group, resource);
        let message = if resource.is_empty() {
            format!("forbidden: {why}")
        } else if name.is_empty() {
            format!("{subject} is forbidden: {why}")
        } else {
            format!("{subject} {} is forbidden: {why}", quote(name))
        };
        Self {
            details: Some(details(name, group, resource).into()),
            ..Self::new(403, "Forbidden", message)
        }
    }

    /// 405.
    pub fn method_not_allowed(group: &str, resource: &str, action: &str) -> Self {
        let message = format!(
            "{action} is not supported on resources of kind {}",
            quote(&group_resource(group, resource))
        );
        Self {
            details: Some(details("", group, resource).into()),
            ..Self::new(405, "MethodNotAllowed", message)
        }
    }

    /// 410: the history does not reach back that far.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 415.
    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 500.
    pub fn internal(why: &str) -> Self {
        let message = format!("Internal error occurred: {why}");
        Self {
            details: Some(json!({"causes": [{"message": why}]})),
            ..Self::new(500, "InternalError", message)
        }
    }

    /// The JSON form.
    pub fn to_value(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".to_owned(), token.as_str().into());
        }
        let mut out = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            out["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            out["details"] = details.clone();
        }
        out
    }
}
