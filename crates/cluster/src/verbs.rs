//! The verbs of resources, one file each.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod replace;
pub(crate) mod watch;

use std::sync::Arc;

use http::Response;
use serde_json::Value;
use sluice_base::clock::Clock as _;
use sluice_base::go::quote;

use crate::body::{self, Body};
use crate::call::Call;
use crate::decode;
use crate::negotiate::Form;
use crate::status::Status;
use crate::table::{self, Columns, Include};

/// Serves a request.
pub(crate) async fn serve(call: Arc<Call>) -> Result<Response<Body>, Status> {
    let resource = &call.resource;
    if !call.info.subresource.is_empty() {
        return crate::subresources::serve(call).await;
    }
    let allowed = resource.allows(call.info.verb);
    let named = !call.info.name.is_empty();
    let misplaced = match call.info.verb {
        "create" => named,
        "update" | "patch" => !named,
        _ => call.head,
    };
    if misplaced {
        return Err(not_allowed());
    }
    let mut response = match call.info.verb {
        "get" if allowed => get::serve(&call),
        "list" if allowed => list::serve(&call),
        "watch" if allowed => watch::serve(&call),
        "create" if allowed => create::serve(&call).await,
        "update" if allowed => replace::serve(&call).await,
        "patch" if allowed => patch::serve(&call).await,
        "delete" if allowed => delete::one(&call).await,
        "deletecollection" if allowed => delete::many(&call).await,
        _ => Err(not_allowed()),
    }
    .map_err(|status| status.warned(resource.deprecation.as_slice()))?;
    if let Some(warning) = &resource.deprecation {
        body::warn(&mut response, std::slice::from_ref(warning));
    }
    Ok(response)
}

/// 405, in the words of upstream's router.
pub(crate) fn not_allowed() -> Status {
    Status {
        details: Some(serde_json::json!({})),
        ..Status::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }
}

/// One object, in the requested form.
pub(crate) fn respond(call: &Call, code: u16, object: &Value) -> Result<Response<Body>, Status> {
    respond_in(call, &call.resource.columns, code, object)
}

/// One object, in the requested form; a table has these columns.
pub(crate) fn respond_in(
    call: &Call,
    columns: &Columns,
    code: u16,
    object: &Value,
) -> Result<Response<Body>, Status> {
    Ok(match call.wanted.form {
        Form::Object => body::object(code, call.wanted.encoding, object),
        Form::Metadata => body::object(code, call.wanted.encoding, &table::partial(object)),
        Form::MetadataList => {
            let message = format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list (*{}.{})",
                decode::internal_package(&call.resource.group),
                call.resource.kind
            );
            return Err(Status::new(406, "NotAcceptable", message));
        }
        Form::Table | Form::OldTable => {
            let include = include(call)?;
            let row = columns.row(object, include, call.state.clock.now());
            let mut metadata = serde_json::Map::new();
            let version = crate::metadata::text(object, "resourceVersion");
            if !version.is_empty() {
                metadata.insert("resourceVersion".to_owned(), version.into());
            }
            let definitions = columns.definitions();
            let table =
                table::table(call.wanted.form, metadata.into(), Some(definitions), vec![row]);
            body::object(code, call.wanted.encoding, &table)
        }
    })
}

/// `includeObject` of a table request.
pub(crate) fn include(call: &Call) -> Result<Include, Status> {
    match call.query.text("includeObject") {
        None | Some("Metadata") => Ok(Include::Metadata),
        Some("None") => Ok(Include::None),
        Some("Object") => Ok(Include::Object),
        Some(other) => Err(Status::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', 'None', or empty",
            quote(other)
        ))),
    }
}
