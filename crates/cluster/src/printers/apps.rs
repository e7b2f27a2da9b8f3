//! The tables of the group `apps`.

mod controller_revision;
mod daemon_set;
mod deployment;
mod replica_set;
mod stateful_set;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "controllerrevisions" => controller_revision::PRINTER,
        "daemonsets" => daemon_set::PRINTER,
        "deployments" => deployment::PRINTER,
        "replicasets" => replica_set::PRINTER,
        "statefulsets" => stateful_set::PRINTER,
        _ => return None,
    })
}
