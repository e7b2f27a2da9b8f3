//! VolumeAttributesClass.

use serde_json::Value;

use super::{forbidden_changes, parameters, provisioner};
use crate::kind::{Context, Kind};
use crate::validation::Errors;

/// The hooks of VolumeAttributesClass.
pub(super) struct VolumeAttributesClass;

impl Kind for VolumeAttributesClass {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = provisioner(object, "driverName");
        errors.extend(parameters(object, false));
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = forbidden_changes(object, old, &["driverName", "parameters"]);
        errors.extend(self.validate(context, object));
        errors
    }
}
