//! SelfSubjectReview: the user that the request is authenticated as.

use serde_json::{Value, json};
use sluice_base::clock::Clock as _;
use sluice_base::time;

use crate::call::Call;

pub(super) fn serve(call: &Call) -> Value {
    json!({
        "metadata": {"creationTimestamp": time::format_seconds(call.state.clock.now())},
        "status": {"userInfo": call.user},
    })
}
