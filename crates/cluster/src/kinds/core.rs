//! The core group.

use std::sync::Arc;

use crate::kind::Kind;

mod config_map;
pub(crate) mod endpoints;
pub(crate) mod event;
mod limit_range;
mod namespace;
mod node;
mod persistent_volume;
pub(crate) mod persistent_volume_claim;
mod pod;
mod pod_template;
mod replication_controller;
mod resource_quota;
mod secret;
mod service;
mod service_account;

/// The hooks of a resource of the core group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    Some(match resource {
        "configmaps" => Arc::new(config_map::ConfigMap),
        "endpoints" => Arc::new(endpoints::Endpoints),
        "events" => Arc::new(event::Event::Core),
        "limitranges" => Arc::new(limit_range::LimitRange),
        "namespaces" => Arc::new(namespace::Namespace),
        "nodes" => Arc::new(node::Node),
        "persistentvolumeclaims" => Arc::new(persistent_volume_claim::PersistentVolumeClaim),
        "persistentvolumes" => Arc::new(persistent_volume::PersistentVolume),
        "pods" => Arc::new(pod::Pod),
        "podtemplates" => Arc::new(pod_template::PodTemplate),
        "replicationcontrollers" => Arc::new(replication_controller::ReplicationController),
        "resourcequotas" => Arc::new(resource_quota::ResourceQuota),
        "secrets" => Arc::new(secret::Secret),
        "serviceaccounts" => Arc::new(service_account::ServiceAccount),
        "services" => Arc::new(service::Service),
        _ => return None,
    })
}
