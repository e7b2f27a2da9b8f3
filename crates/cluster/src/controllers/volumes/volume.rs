//! Volumes without a claim: available, released, or deleted.

use serde_json::Value;

use super::{SOURCE, VOLUME_PROTECTION, remove_finalizer, set_phase};
use crate::controllers::Key;
use crate::controllers::control::Control;
use crate::write::DeleteOptions;
use crate::{metadata, value};

pub(super) async fn sync(control: &Control, key: &Key, volume: &Value) {
    let reference = &volume["spec"]["claimRef"];
    let phase = value::text(volume, "status.phase");
    let claim = (!reference.is_null())
        .then(|| {
            let (namespace, name) =
                (value::text(reference, "namespace"), value::text(reference, "name"));
            control.object(&Key::new("", "persistentvolumeclaims", namespace, name))
        })
        .flatten()
        .filter(|claim| reference["uid"].is_null() || reference["uid"] == metadata::uid(claim));
    if metadata::is_terminating(volume) {
        let protected = metadata::finalizers(volume).any(|name| name == VOLUME_PROTECTION);
        if protected && claim.is_none() {
            remove_finalizer(control, key, VOLUME_PROTECTION).await;
        }
        return;
    }
    if reference.is_null() || (reference["uid"].is_null() && claim.is_none()) {
        if phase != "Available" {
            set_phase(control, key, "Available").await;
        }
        return;
    }
    if claim.is_some() {
        return;
    }
    if phase == "Bound" {
        set_phase(control, key, "Released").await;
        return;
    }
    if phase == "Released" && volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete" {
        let options = DeleteOptions::default();
        let _ = control.delete(SOURCE.actor, key, options, metadata::uid(volume)).await;
    }
}
