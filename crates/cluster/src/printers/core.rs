//! The tables of the core group.

mod component_status;
mod config_map;
mod endpoints;
mod event;
mod namespace;
mod node;
mod persistent_volume;
mod persistent_volume_claim;
mod pod;
mod pod_status;
mod pod_template;
mod replication_controller;
mod resource_quota;
mod secret;
mod service;
mod service_account;
mod volumes;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "componentstatuses" => component_status::PRINTER,
        "configmaps" => config_map::PRINTER,
        "endpoints" => endpoints::PRINTER,
        "events" => event::PRINTER,
        "namespaces" => namespace::PRINTER,
        "nodes" => node::PRINTER,
        "persistentvolumeclaims" => persistent_volume_claim::PRINTER,
        "persistentvolumes" => persistent_volume::PRINTER,
        "pods" => pod::PRINTER,
        "podtemplates" => pod_template::PRINTER,
        "replicationcontrollers" => replication_controller::PRINTER,
        "resourcequotas" => resource_quota::PRINTER,
        "secrets" => secret::PRINTER,
        "serviceaccounts" => service_account::PRINTER,
        "services" => service::PRINTER,
        _ => return None,
    })
}
