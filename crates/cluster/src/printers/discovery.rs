//! The tables of the group `discovery.k8s.io`.

mod endpoint_slice;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "endpointslices" => endpoint_slice::PRINTER,
        _ => return None,
    })
}
