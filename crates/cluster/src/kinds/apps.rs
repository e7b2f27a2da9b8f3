//! The apps group.

use std::sync::Arc;

use crate::kind::Kind;

mod controller_revision;
mod daemon_set;
mod deployment;
mod replica_set;
mod stateful_set;
pub(crate) mod workload;

/// The hooks of a resource of the apps group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    Some(match resource {
        "controllerrevisions" => Arc::new(controller_revision::ControllerRevision),
        "daemonsets" => Arc::new(daemon_set::DaemonSet),
        "deployments" => Arc::new(deployment::Deployment),
        "replicasets" => Arc::new(replica_set::ReplicaSet),
        "statefulsets" => Arc::new(stateful_set::StatefulSet),
        _ => return None,
    })
}
