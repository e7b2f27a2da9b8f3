//! PATCH of one object, in its four forms.

use http::Response;
use serde_json::Value;

use crate::body::Body;
use crate::call::Call;
use crate::status::Status;

/// An object with the request's patch applied.
pub(crate) fn patched(call: &Call, object: &Value) -> Result<Value, Status> {
    let _ = (call, object);
    Err(super::not_allowed())
}

pub(crate) async fn serve(call: &Call) -> Result<Response<Body>, Status> {
    let _ = call;
    Err(super::not_allowed())
}
