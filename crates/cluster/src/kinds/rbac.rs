//! The rbac.authorization.k8s.io group.

use std::sync::Arc;

use crate::kind::Kind;

mod binding;
mod role;

/// The group's name, which references to roles carry.
const GROUP: &str = "rbac.authorization.k8s.io";

/// The hooks of a resource of the RBAC group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    Some(match resource {
        "clusterrolebindings" => Arc::new(binding::Binding { namespaced: false }),
        "clusterroles" => Arc::new(role::Role { namespaced: false }),
        "rolebindings" => Arc::new(binding::Binding { namespaced: true }),
        "roles" => Arc::new(role::Role { namespaced: true }),
        _ => return None,
    })
}
