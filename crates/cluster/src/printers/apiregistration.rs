//! The tables of the group `apiregistration.k8s.io`.

mod api_service;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "apiservices" => api_service::PRINTER,
        _ => return None,
    })
}
