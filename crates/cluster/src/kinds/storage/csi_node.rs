//! CSINode.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::kinds::pod_spec::csi_driver_name;
use crate::validation::{Errors, named, names, non_negative, required_text};
use crate::value::{at, int, list, number, remove, same, text, texts};

/// The hooks of CSINode.
pub(super) struct CsiNode;

impl Kind for CsiNode {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Vec::new();
        let mut seen = Vec::new();
        for (index, driver) in list(object, "spec.drivers").iter().enumerate() {
            let path = Path::new("spec").child("drivers").index(index);
            let name = text(driver, "name");
            errors.extend(csi_driver_name(name, &path.child("name")));
            errors.extend(required_text(driver, "nodeID", &path));
            let id = text(driver, "nodeID");
            if id.len() > 256 {
                let detail = "must be 256 characters or less";
                errors.push(FieldError::invalid(&path.child("nodeID"), id, detail));
            }
            if int(driver, "allocatable.count").is_some() {
                let path = path.child("allocatable").child("count");
                errors.extend(non_negative(number(driver, "allocatable.count"), &path));
            }
            if seen.contains(&name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
            seen.push(name);
            let mut keys = Vec::new();
            for key in texts(driver, "topologyKeys") {
                if key.is_empty() {
                    errors.push(FieldError::required(&path, ""));
                }
                if keys.contains(&key) {
                    errors.push(FieldError::duplicate(&path, key));
                }
                keys.push(key);
                errors.extend(named(names::qualified_name, key, &path));
            }
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        // Upstream validates twice.
        let mut errors = self.validate(context, object);
        errors.extend(self.validate(context, object));
        let path = Path::new("spec").child("drivers");
        for before in list(old, "spec.drivers") {
            for now in list(object, "spec.drivers") {
                let (mut before, mut now) = (before.clone(), now.clone());
                remove(&mut before, "allocatable");
                remove(&mut now, "allocatable");
                if text(&now, "name") == text(&before, "name") && !same(&now, &before) {
                    let printed = format!(
                        "{{\"Name\":\"{}\",\"NodeID\":\"{}\",\"TopologyKeys\":{},\"Allocatable\":null}}",
                        text(&now, "name"),
                        text(&now, "nodeID"),
                        at(&now, "topologyKeys")
                    );
                    let immutable = crate::validation::IMMUTABLE;
                    errors.push(crate::validation::invalid_raw(&path, &printed, immutable));
                }
            }
        }
        errors
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }
}
