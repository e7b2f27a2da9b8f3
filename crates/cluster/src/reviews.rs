//! Kinds that are asked and answered, never stored: access reviews, token reviews.

use http::Response;
use serde_json::Value;

use crate::body::Body;
use crate::call::Call;
use crate::status::Status;

/// Answers a review.
pub(crate) async fn serve(call: &Call, object: Value) -> Result<Response<Body>, Status> {
    let _ = (call, object);
    Err(crate::verbs::not_allowed())
}
