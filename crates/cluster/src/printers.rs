//! The tables of the built-in kinds: a folder per group, a file per kind.

mod admissionregistration;
pub(crate) mod age;
mod apiregistration;
mod apps;
mod autoscaling;
mod batch;
mod cell;
mod certificates;
mod coordination;
mod core;
mod discovery;
mod flowcontrol;
mod networking;
mod node;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod storage;

use crate::printer::Printer;

/// The printer of the scale subresource of built-in kinds.
pub(crate) const SCALE: Printer = autoscaling::scale::PRINTER;

/// The printer of a built-in resource; `None` means `NAME` and `CREATED AT`.
pub(crate) fn printer(group: &str, resource: &str) -> Option<Printer> {
    match group {
        "" | "events.k8s.io" => core::printer(resource),
        "admissionregistration.k8s.io" => admissionregistration::printer(resource),
        "apiregistration.k8s.io" => apiregistration::printer(resource),
        "apps" => apps::printer(resource),
        "autoscaling" => autoscaling::printer(resource),
        "batch" => batch::printer(resource),
        "certificates.k8s.io" => certificates::printer(resource),
        "coordination.k8s.io" => coordination::printer(resource),
        "discovery.k8s.io" => discovery::printer(resource),
        "flowcontrol.apiserver.k8s.io" => flowcontrol::printer(resource),
        "networking.k8s.io" => networking::printer(resource),
        "node.k8s.io" => node::printer(resource),
        "policy" => policy::printer(resource),
        "rbac.authorization.k8s.io" => rbac::printer(resource),
        "resource.k8s.io" => resource::printer(resource),
        "scheduling.k8s.io" => scheduling::printer(resource),
        "storage.k8s.io" => storage::printer(resource),
        _ => None,
    }
}
