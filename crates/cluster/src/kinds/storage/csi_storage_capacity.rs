//! CSIStorageCapacity.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::validation::{Errors, IMMUTABLE, invalid_raw, labels, named, names, quantity};
use crate::value::{at, same, text};

/// The hooks of CSIStorageCapacity.
pub(super) struct CsiStorageCapacity;

impl Kind for CsiStorageCapacity {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = labels::selector(at(object, "nodeTopology"), &Path::new("nodeTopology"));
        let class = text(object, "storageClassName");
        errors.extend(named(names::dns_subdomain, class, &Path::new("storageClassName")));
        let capacity = at(object, "capacity");
        if quantity::nanos(capacity).unwrap_or_default() < 0 {
            let detail = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(&Path::new("capacity"), capacity.clone(), detail));
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = self.validate(context, object);
        let topology = at(object, "nodeTopology");
        if !same(topology, at(old, "nodeTopology")) {
            let printed = labels::print(topology);
            errors.push(invalid_raw(&Path::new("nodeTopology"), &printed, IMMUTABLE));
        }
        let class = text(object, "storageClassName");
        if class != text(old, "storageClassName") {
            errors.push(FieldError::invalid(&Path::new("storageClassName"), class, IMMUTABLE));
        }
        errors
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }
}
