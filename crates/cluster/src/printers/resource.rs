//! The tables of the group `resource.k8s.io`.

mod device_class;
mod resource_claim;
mod resource_claim_template;
mod resource_slice;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "deviceclasses" => device_class::PRINTER,
        "resourceclaims" => resource_claim::PRINTER,
        "resourceclaimtemplates" => resource_claim_template::PRINTER,
        "resourceslices" => resource_slice::PRINTER,
        _ => return None,
    })
}
