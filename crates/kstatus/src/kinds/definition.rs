//! Custom resource definitions.

use jiff::Timestamp;
use serde_json::Value;

use crate::Assessment;
use crate::fields::{FieldError, conditions};

pub(super) fn custom_resource(object: &Value, _: Timestamp) -> Result<Assessment, FieldError> {
    for condition in conditions(object)? {
        let refused = condition.is("NamesAccepted", "False")
            || condition.is("Established", "False") && condition.reason != "Installing";
        if refused {
            return Ok(Assessment::failed(condition.reason, condition.message));
        }
        if condition.is("Established", "True") {
            return Ok(Assessment::current("CRD is established"));
        }
    }
    Ok(Assessment::in_progress("Installing", "Install in progress"))
}
