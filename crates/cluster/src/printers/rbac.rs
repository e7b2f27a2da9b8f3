//! The tables of the group `rbac.authorization.k8s.io`.

mod cluster_role_binding;
mod role_binding;
mod subjects;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "clusterrolebindings" => cluster_role_binding::PRINTER,
        "rolebindings" => role_binding::PRINTER,
        _ => return None,
    })
}
