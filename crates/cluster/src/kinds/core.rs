//! The core group.

use std::sync::Arc;

use crate::kind::Kind;

pub(crate) mod persistent_volume_claim;
mod pod;
mod pod_template;
mod replication_controller;

/// The hooks of a resource of the core group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    Some(match resource {
        "persistentvolumeclaims" => Arc::new(persistent_volume_claim::PersistentVolumeClaim),
        "pods" => Arc::new(pod::Pod),
        "podtemplates" => Arc::new(pod_template::PodTemplate),
        "replicationcontrollers" => Arc::new(replication_controller::ReplicationController),
        _ => return None,
    })
}
