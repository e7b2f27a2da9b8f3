//! SelfSubjectReview: who the author of the request is taken for.

use serde_json::{Map, Value, json};
use sluice_base::clock::Clock as _;
use sluice_base::time;

use crate::auth::User;
use crate::call::Call;

pub(super) fn serve(call: &Call) -> Value {
    json!({
        "metadata": {"creationTimestamp": time::format_seconds(call.state.clock.now())},
        "status": {"userInfo": user_info(&call.user)},
    })
}

/// A user as the API shows one.
pub(super) fn user_info(user: &User) -> Map<String, Value> {
    let mut out = Map::new();
    for (field, value) in [("username", &user.name), ("uid", &user.uid)] {
        if !value.is_empty() {
            out.insert(field.to_owned(), value.as_str().into());
        }
    }
    if !user.groups.is_empty() {
        out.insert("groups".to_owned(), user.groups.clone().into());
    }
    if !user.extra.is_empty() {
        out.insert("extra".to_owned(), json!(user.extra));
    }
    out
}
