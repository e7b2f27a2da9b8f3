//! Subresources: `status`, `scale`, `log` and others, one file each.

mod binding;
mod eviction;
mod log;
mod scale;
mod token;

use std::sync::Arc;

use http::Response;
use serde_json::json;

use crate::body::{self, Body};
use crate::call::Call;
use crate::status::Status;
use crate::verbs;

/// Serves a request to a subresource.
pub(crate) async fn serve(call: Arc<Call>) -> Result<Response<Body>, Status> {
    let Some(found) = call.resource.subresources.get(&call.info.subresource) else {
        return Err(if call.resource.shape.is_custom() {
            call.resource.not_found(&call.info.name)
        } else {
            Status::no_such_resource()
        });
    };
    if !found.verbs.iter().any(|verb| verb == call.info.verb) {
        return Err(verbs::not_allowed());
    }
    match (call.info.subresource.as_str(), call.info.verb) {
        ("scale", _) => scale::serve(&call).await,
        ("binding", "create") => binding::serve(&call).await,
        ("token", "create") => token::serve(&call),
        ("eviction", "create") => eviction::serve(&call).await,
        ("log", "get") => log::serve(&call),
        ("attach" | "exec" | "portforward" | "proxy", _) => Err(no_machine(&call)),
        // `status`, and those that change a part of the object: `approval`, `ephemeralcontainers`,
        // `finalize`, `resize`.
        (_, "get") => verbs::get::serve(&call),
        (_, "update") => verbs::replace::serve(&call).await,
        (_, "patch") => verbs::patch::serve(&call).await,
        _ => Err(verbs::not_allowed()),
    }
}

/// The error for `exec`, `attach`, `portforward` and `proxy`: a simulated pod has no process to connect to.
fn no_machine(call: &Call) -> Status {
    Status::new(
        501,
        "NotImplemented",
        format!(
            "{} is not possible here: the pods of the embedded cluster are simulated",
            call.info.subresource
        ),
    )
}

/// The response to an action that succeeded.
fn success(call: &Call) -> Response<Body> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    body::object(201, call.wanted.encoding, &status)
}
