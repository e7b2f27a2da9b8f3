//! TokenReview: the user of a token.

use serde_json::{Value, json};

use crate::auth::{self, Authenticated, ISSUER};
use crate::call::Call;
use crate::status::Status;
use crate::value::{text, texts};

pub(super) fn serve(call: &Call, mut review: Value) -> Result<Value, Status> {
    let token = text(&review, "spec.token");
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let mut audiences: Vec<String> =
        texts(&review, "spec.audiences").into_iter().map(str::to_owned).collect();
    if audiences.is_empty() {
        audiences.push(ISSUER.to_owned());
    }
    let status = match auth::authenticate_token(&call.state, token, &audiences) {
        Ok(Authenticated { user, audiences }) => {
            json!({"authenticated": true, "user": user, "audiences": audiences})
        }
        Err(why) => json!({"user": {}, "error": why}),
    };
    review["status"] = status;
    Ok(review)
}
