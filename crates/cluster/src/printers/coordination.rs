//! The tables of the group `coordination.k8s.io`.

mod lease;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "leases" => lease::PRINTER,
        _ => return None,
    })
}
