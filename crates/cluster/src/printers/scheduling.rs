//! The tables of the group `scheduling.k8s.io`.

mod priority_class;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "priorityclasses" => priority_class::PRINTER,
        _ => return None,
    })
}
