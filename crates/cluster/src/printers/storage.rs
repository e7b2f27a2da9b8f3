//! The tables of the group `storage.k8s.io`.

mod csi_driver;
mod csi_node;
mod storage_class;
mod volume_attachment;
mod volume_attributes_class;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "csidrivers" => csi_driver::PRINTER,
        "csinodes" => csi_node::PRINTER,
        "storageclasses" => storage_class::PRINTER,
        "volumeattachments" => volume_attachment::PRINTER,
        "volumeattributesclasses" => volume_attributes_class::PRINTER,
        _ => return None,
    })
}
