//! What stands behind an object's name: `status`, `scale`, `log` and the like.

use std::sync::Arc;

use http::Response;

use crate::body::Body;
use crate::call::Call;
use crate::status::Status;
use crate::verbs;

/// Serves a request to a subresource.
pub(crate) async fn serve(call: Arc<Call>) -> Result<Response<Body>, Status> {
    let Some(found) = call.resource.subresources.get(&call.info.subresource) else {
        return Err(crate::endpoints::page_not_found_status());
    };
    if !found.verbs.iter().any(|verb| verb == call.info.verb) {
        return Err(verbs::not_allowed());
    }
    match (call.info.subresource.as_str(), call.info.verb) {
        ("status", "get") => verbs::get::serve(&call),
        ("status", "update") => verbs::replace::serve(&call).await,
        ("status", "patch") => verbs::patch::serve(&call).await,
        _ => Err(Status::new(501, "NotImplemented", "not served by the embedded cluster")),
    }
}
