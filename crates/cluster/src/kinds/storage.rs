//! The storage.k8s.io group.

use std::sync::Arc;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::Kind;
use crate::validation::{Errors, named, names};
use crate::value::{entries, text};

mod csi_driver;
mod csi_node;
mod csi_storage_capacity;
mod storage_class;
mod volume_attachment;
mod volume_attributes_class;

/// The hooks of a resource of the storage group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    Some(match resource {
        "csidrivers" => Arc::new(csi_driver::CsiDriver),
        "csinodes" => Arc::new(csi_node::CsiNode),
        "csistoragecapacities" => Arc::new(csi_storage_capacity::CsiStorageCapacity),
        "storageclasses" => Arc::new(storage_class::StorageClass),
        "volumeattachments" => Arc::new(volume_attachment::VolumeAttachment),
        "volumeattributesclasses" => Arc::new(volume_attributes_class::VolumeAttributesClass),
        _ => return None,
    })
}

/// Validates the name of a provisioner or driver.
fn provisioner(object: &Value, field: &str) -> Errors {
    let path = Path::new(field);
    let name = text(object, field);
    if name.is_empty() {
        return vec![FieldError::required(&path, "")];
    }
    named(names::qualified_name, &name.to_lowercase(), &path)
}

/// Validates parameters: at most 512 of them, at most 256 kB.
fn parameters(object: &Value, may_be_empty: bool) -> Errors {
    let path = Path::new("parameters");
    let parameters = entries(object, "parameters");
    if parameters.len() > 512 {
        return vec![FieldError::too_long(&path, 512)];
    }
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in parameters {
        if key.is_empty() {
            errors.push(FieldError::invalid(&path, "", "field can not be empty."));
        }
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > 256 * 1024 {
        errors.push(FieldError::too_long(&path, 256 * 1024));
    }
    if parameters.is_empty() && !may_be_empty {
        let detail = "must contain at least one key/value pair";
        errors.push(FieldError::required(&path, detail));
    }
    errors
}

/// `updates to … are forbidden.` where a field changed.
fn forbidden_changes(object: &Value, old: &Value, fields: &[&str]) -> Errors {
    fields
        .iter()
        .filter(|field| {
            let (new, old) = (crate::value::at(object, field), crate::value::at(old, field));
            !crate::value::same(new, old)
        })
        .map(|field| {
            FieldError::forbidden(&Path::new(field), format!("updates to {field} are forbidden."))
        })
        .collect()
}
