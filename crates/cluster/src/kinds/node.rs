//! The node.k8s.io group: RuntimeClass.

use std::sync::Arc;

use serde_json::Value;
use sluice_schema::field::Path;

use crate::kind::{Context, Kind};
use crate::kinds::pod_spec::{container_resource_name, quantity_value, tolerations};
use crate::validation::{Errors, immutable_text, labels, named, names};
use crate::value::{at, entries, text};

/// The hooks of a resource of the node group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    (resource == "runtimeclasses").then(|| Arc::new(RuntimeClass) as _)
}

struct RuntimeClass;

impl Kind for RuntimeClass {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = named(names::dns_label, text(object, "handler"), &Path::new("handler"));
        for (name, amount) in entries(object, "overhead.podFixed") {
            let path = Path::new("overhead").child("limits").key(name);
            errors.extend(container_resource_name(name, &path));
            errors.extend(quantity_value(name, amount, &path));
        }
        let path = Path::new("scheduling");
        let scheduling = at(object, "scheduling");
        errors.extend(labels::labels(at(scheduling, "nodeSelector"), &path.child("nodeSelector")));
        errors.extend(tolerations(scheduling, &path.child("tolerations")));
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = self.validate(context, object);
        errors.extend(immutable_text(object, old, "handler", &Path::new("handler")));
        errors
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }
}
