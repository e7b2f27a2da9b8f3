//! Access reviews and token reviews: kinds that are answered and never stored.

mod access;
mod identity;
mod rules;
mod token;

use http::Response;
use serde_json::Value;

use crate::body::Body;
use crate::call::Call;
use crate::status::Status;
use crate::{managed, verbs};

/// Answers a review.
pub(crate) fn serve(call: &Call, mut object: Value) -> Result<Response<Body>, Status> {
    let manager = call.manager();
    call.writer(&manager, false).check_namespace(&mut object)?;
    let mut answer = match call.resource.kind.as_str() {
        "SelfSubjectAccessReview" => access::of_self(call, tracked(call, object))?,
        "SubjectAccessReview" => access::of_subject(call, tracked(call, object))?,
        "LocalSubjectAccessReview" => access::in_namespace(call, tracked(call, object))?,
        "SelfSubjectRulesReview" => rules::serve(call, &object)?,
        "SelfSubjectReview" => identity::serve(call),
        "TokenReview" => token::serve(call, tracked(call, object))?,
        _ => return Err(verbs::not_allowed()),
    };
    answer["apiVersion"] = call.resource.api_version().into();
    answer["kind"] = call.resource.kind.as_str().into();
    call.resource.shape.normalize(&mut answer);
    verbs::respond(call, 201, &answer)
}

/// Reviews have managed fields too, although they are never stored.
fn tracked(call: &Call, object: Value) -> Value {
    let manager = call.manager();
    managed::track(&call.writer(&manager, false), &Value::Null, object)
}
