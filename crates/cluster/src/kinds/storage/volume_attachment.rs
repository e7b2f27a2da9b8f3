//! VolumeAttachment.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::kinds::internal;
use crate::kinds::pod_spec::csi_driver_name;
use crate::validation::{Errors, IMMUTABLE, invalid_raw, named, names, required_text};
use crate::value::{at, present, same, text};

/// The hooks of VolumeAttachment.
pub(super) struct VolumeAttachment;

impl Kind for VolumeAttachment {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = specification(object);
        let path = Path::new("spec.attacher");
        errors.extend(csi_driver_name(text(object, "spec.attacher"), &path));
        if let Some(volume) = at(object, "spec.source.persistentVolumeName").as_str() {
            let path = Path::new("spec.source.persistentVolumeName");
            errors.extend(named(names::dns_subdomain, volume, &path));
        }
        errors
    }

    fn validate_update(&self, _context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = specification(object);
        if !same(at(object, "spec"), at(old, "spec")) {
            let printed = internal::print("VolumeAttachmentSpec", at(object, "spec"));
            errors.push(invalid_raw(&Path::new("spec"), &printed, IMMUTABLE));
        }
        errors
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }
}

fn specification(object: &Value) -> Errors {
    let path = Path::new("spec");
    let mut errors = required_text(at(object, "spec"), "attacher", &path);
    let source = at(object, "spec.source");
    let place = path.child("source");
    let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (present(source, "inlineVolumeSpec"), at(source, "persistentVolumeName").as_str()) {
        (false, None) => errors.push(FieldError::required(&place, detail)),
        (true, Some(_)) => errors.push(FieldError::forbidden(&place, detail)),
        (false, Some("")) => errors.push(FieldError::required(
            &place.child("persistentVolumeName"),
            "must specify non empty persistentVolumeName",
        )),
        _ => {}
    }
    errors.extend(named(
        names::dns_subdomain,
        text(object, "spec.nodeName"),
        &path.child("nodeName"),
    ));
    errors
}
