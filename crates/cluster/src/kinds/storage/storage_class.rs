//! StorageClass.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::{forbidden_changes, parameters, provisioner};
use crate::kind::{Context, Kind};
use crate::validation::{Errors, immutable, labels, one_of_or_unset};
use crate::value::{at, fill_absent, list, text};

/// The hooks of StorageClass.
pub(super) struct StorageClass;

impl Kind for StorageClass {
    fn default(&self, object: &mut Value) {
        fill_absent(object, "reclaimPolicy", "Delete");
        fill_absent(object, "volumeBindingMode", "Immediate");
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let root = Path::default();
        let mut errors = provisioner(object, "provisioner");
        errors.extend(parameters(object, true));
        errors.extend(one_of_or_unset(object, "reclaimPolicy", &["Delete", "Retain"], &root));
        let modes = ["Immediate", "WaitForFirstConsumer"];
        errors.extend(one_of_or_unset(object, "volumeBindingMode", &modes, &root));
        for (index, term) in list(object, "allowedTopologies").iter().enumerate() {
            errors.extend(topology(term, &Path::new("allowedTopologies").index(index)));
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let fixed = ["parameters", "provisioner", "reclaimPolicy"];
        let mut errors = self.validate(context, object);
        errors.extend(forbidden_changes(object, old, &fixed));
        let mode = "volumeBindingMode";
        errors.extend(immutable(at(object, mode), at(old, mode), &Path::new(mode)));
        errors
    }
}

fn topology(term: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, expression) in list(term, "matchLabelExpressions").iter().enumerate() {
        let path = path.child("matchLabelExpressions").index(index);
        let key = text(expression, "key");
        if list(expression, "values").is_empty() {
            errors.push(FieldError::required(&path.child("values"), ""));
        }
        errors.extend(labels::label_name(key, &path.child("key")));
        if seen.contains(&key) {
            errors.push(FieldError::duplicate(&path.child("key"), key));
        }
        seen.push(key);
    }
    errors
}
