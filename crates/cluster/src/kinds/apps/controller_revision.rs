//! ControllerRevision.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::validation::{Errors, immutable, non_negative};
use crate::value::{at, number};

/// The hooks of ControllerRevision.
pub(super) struct ControllerRevision;

impl Kind for ControllerRevision {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = revision(object);
        let detail = match at(object, "data") {
            Value::Object(_) => return errors,
            Value::Null => "data is mandatory",
            _ => "data must be a valid JSON object",
        };
        errors.push(FieldError::required(&Path::new("data"), detail));
        errors
    }

    fn validate_update(&self, _context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = revision(object);
        errors.extend(immutable(at(object, "data"), at(old, "data"), &Path::new("data")));
        errors
    }
}

fn revision(object: &Value) -> Errors {
    non_negative(number(object, "revision"), &Path::new("revision"))
}
