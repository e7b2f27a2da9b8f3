//! The group `apiextensions.k8s.io`.

use std::sync::Arc;

use crate::kind::Kind;

mod custom_resource_definition;

/// The hooks of a resource of the group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    match resource {
        "customresourcedefinitions" => {
            Some(Arc::new(custom_resource_definition::CustomResourceDefinition))
        }
        _ => None,
    }
}
