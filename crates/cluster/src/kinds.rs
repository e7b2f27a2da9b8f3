//! The built-in kinds: one folder per API group, one file per kind.

use std::sync::Arc;

use crate::kind::{Kind, Plain};

mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apps;
mod autoscaling;
pub(crate) mod batch;
mod certificates;
pub(crate) mod conversion;
mod coordination;
mod core;
mod discovery;
mod flowcontrol;
mod internal;
mod line_diff;
mod networking;
mod node;
mod pod_spec;
mod policy;
mod rbac;
mod resource;
mod resource_list;
mod scheduling;
mod storage;

/// The hooks of a built-in resource; [`Plain`] for one without special rules.
pub(crate) fn kind(group: &str, resource: &str) -> Arc<dyn Kind> {
    let found = match group {
        "apiextensions.k8s.io" => apiextensions::kind(resource),
        "" => core::kind(resource),
        "apps" => apps::kind(resource),
        "batch" => batch::kind(resource),
        "admissionregistration.k8s.io" => admissionregistration::kind(resource),
        "apiregistration.k8s.io" => apiregistration::kind(resource),
        "autoscaling" => autoscaling::kind(resource),
        "certificates.k8s.io" => certificates::kind(resource),
        "coordination.k8s.io" => coordination::kind(resource),
        "discovery.k8s.io" => discovery::kind(resource),
        "flowcontrol.apiserver.k8s.io" => flowcontrol::kind(resource),
        "networking.k8s.io" => networking::kind(resource),
        "node.k8s.io" => node::kind(resource),
        "policy" => policy::kind(resource),
        "rbac.authorization.k8s.io" => rbac::kind(resource),
        "resource.k8s.io" => resource::kind(resource),
        "scheduling.k8s.io" => scheduling::kind(resource),
        "storage.k8s.io" => storage::kind(resource),
        "events.k8s.io" if resource == "events" => Some(Arc::new(core::event::Event::Events) as _),
        _ => None,
    };
    found.unwrap_or_else(|| Arc::new(Plain))
}
