//! The tables of the group `node.k8s.io`.

mod runtime_class;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "runtimeclasses" => runtime_class::PRINTER,
        _ => return None,
    })
}
