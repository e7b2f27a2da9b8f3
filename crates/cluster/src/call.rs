//! One request to a resource, as the handlers see it.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_TYPE, USER_AGENT};

use crate::auth::User;
use crate::negotiate::Wanted;
use crate::request::{Query, RequestInfo};
use crate::resource::{FieldValidation, Resource};
use crate::state::State;
use crate::status::Status;
use crate::write::Writer;

/// A request that is authenticated and authorized.
pub(crate) struct Call {
    pub(crate) state: Arc<State>,
    pub(crate) info: RequestInfo,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) user: User,
    pub(crate) resource: Arc<Resource>,
    pub(crate) wanted: Wanted,
    /// Whether the method is HEAD, which no resource serves.
    pub(crate) head: bool,
}

/// The longest name of a field manager.
const MANAGER_LIMIT: usize = 128;

impl Call {
    /// Whether the request is a dry run.
    pub(crate) fn dry_run(&self) -> Result<bool, Status> {
        match self.query.all("dryRun") {
            [] => Ok(false),
            [only] if only == "All" => Ok(true),
            [only] if only.is_empty() => Ok(false),
            other => {
                let kind = match self.info.verb {
                    "create" => "CreateOptions",
                    "patch" => "PatchOptions",
                    "delete" | "deletecollection" => "DeleteOptions",
                    _ => "UpdateOptions",
                };
                let path = sluice_schema::field::Path::new("dryRun");
                let value: serde_json::Value = other.to_vec().into();
                let error = sluice_schema::field::FieldError::not_supported(&path, value, &["All"]);
                Err(Status::invalid("meta.k8s.io", kind, "", &[error]))
            }
        }
    }

    /// The `fieldValidation` parameter.
    pub(crate) fn field_validation(&self) -> Result<FieldValidation, Status> {
        match self.query.text("fieldValidation") {
            None | Some("Warn") => Ok(FieldValidation::Warn),
            Some("Ignore") => Ok(FieldValidation::Ignore),
            Some("Strict") => Ok(FieldValidation::Strict),
            Some(other) => {
                let path = sluice_schema::field::Path::new("fieldValidation");
                let error = sluice_schema::field::FieldError::not_supported(
                    &path,
                    other,
                    &["", "Ignore", "Strict", "Warn"],
                );
                let kind = match self.info.verb {
                    "create" => "CreateOptions",
                    "patch" => "PatchOptions",
                    _ => "UpdateOptions",
                };
                Err(Status::invalid("meta.k8s.io", kind, "", &[error]))
            }
        }
    }

    /// The field manager: `fieldManager`, or else the start of the user agent.
    pub(crate) fn manager(&self) -> String {
        if let Some(manager) = self.query.text("fieldManager") {
            return manager.to_owned();
        }
        let agent = self.header(USER_AGENT.as_str()).unwrap_or_default();
        let name = agent.split('/').next().unwrap_or_default();
        name.chars().filter(|letter| !letter.is_control()).take(MANAGER_LIMIT).collect()
    }

    /// A header as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The media type of the body, without parameters.
    pub(crate) fn content_type(&self) -> &str {
        let text = self.header(CONTENT_TYPE.as_str()).unwrap_or_default();
        text.split(';').next().unwrap_or_default().trim()
    }

    /// A writer for this request.
    pub(crate) fn writer<'a>(&'a self, manager: &'a str, dry_run: bool) -> Writer<'a> {
        Writer {
            state: &self.state,
            resource: &self.resource,
            namespace: if self.resource.namespaced { &self.info.namespace } else { "" },
            named: &self.info.name,
            subresource: &self.info.subresource,
            user: &self.user,
            manager,
            dry_run,
        }
    }

    /// Whether a listed or watched object has the name that the request was authorized for, if its path or its
    /// field selector names one.
    pub(crate) fn fits_path(&self, object: &serde_json::Value) -> bool {
        self.info.name.is_empty() || crate::metadata::name(object) == self.info.name
    }

    /// The key of the named object.
    pub(crate) fn key(&self) -> String {
        let namespace = if self.resource.namespaced { self.info.namespace.as_str() } else { "" };
        crate::store::key(namespace, &self.info.name)
    }
}
