//! The tables of the group `certificates.k8s.io`.

mod certificate_signing_request;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "certificatesigningrequests" => certificate_signing_request::PRINTER,
        _ => return None,
    })
}
