//! PersistentVolumes and claims: binding, provisioning, protection while in use, release.

mod claim;
mod volume;

use std::time::Duration;

use serde_json::{Value, json};

use super::control::{Actor, CONTROLLER_MANAGER, Control};
use super::recorder::EventSource;
use super::{Controller, Key, Next, Reconcile, pods};
use crate::store::{Event, GroupResource};
use crate::{metadata, value};

const SOURCE: EventSource<'static> = EventSource {
    actor: Actor {
        user: "system:serviceaccount:kube-system:persistent-volume-binder",
        manager: CONTROLLER_MANAGER.manager,
    },
    component: "persistentvolume-controller",
    host: "",
};
const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";

/// The binder, the provisioner, and the two protection controllers.
pub(super) struct VolumeController;

impl Controller for VolumeController {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        let object = &event.object.value;
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("", "persistentvolumeclaims") => {
                let mut out = vec![Key::of(resource, &event.key)];
                let volume = value::text(object, "spec.volumeName");
                if !volume.is_empty() {
                    out.push(Key::new("", "persistentvolumes", "", volume));
                }
                out
            }
            ("", "persistentvolumes") => {
                let mut out = vec![Key::of(resource, &event.key)];
                out.extend(pending(control));
                out
            }
            ("storage.k8s.io", "storageclasses") => pending(control),
            // A pod that finishes may have been the last user of its claims.
            ("", "pods")
                if event.change == crate::store::Change::Deleted || pods::is_finished(object) =>
            {
                value::list(object, "spec.volumes")
                    .iter()
                    .map(|volume| value::text(volume, "persistentVolumeClaim.claimName"))
                    .filter(|name| !name.is_empty())
                    .map(|name| {
                        let namespace = metadata::namespace(object);
                        Key::new("", "persistentvolumeclaims", namespace, name)
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(object) = control.object(key) else { return Next::Wait };
            if key.resource.resource == "persistentvolumes" {
                volume::sync(control, key, &object).await;
                Next::Wait
            } else {
                claim::sync(control, key, &object).await
            }
        })
    }
}

/// The unbound claims.
fn pending(control: &Control) -> Vec<Key> {
    control
        .objects("", "persistentvolumeclaims", None)
        .iter()
        .filter(|claim| value::text(claim, "spec.volumeName").is_empty())
        .map(|claim| {
            let (namespace, name) = (metadata::namespace(claim), metadata::name(claim));
            Key::new("", "persistentvolumeclaims", namespace, name)
        })
        .collect()
}

async fn set_phase(control: &Control, key: &Key, phase: &str) {
    let _ = control
        .update(SOURCE.actor, key, "status", &mut |object| {
            value::set(object, "status.phase", phase);
        })
        .await;
}

async fn remove_finalizer(control: &Control, key: &Key, finalizer: &str) {
    let _ = control
        .update(SOURCE.actor, key, "", &mut |object| {
            let kept: Vec<String> = metadata::finalizers(object)
                .filter(|name| *name != finalizer)
                .map(str::to_owned)
                .collect();
            let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
            metadata::set(object, "finalizers", kept);
        })
        .await;
}

fn annotate(object: &mut Value, entries: &[(&str, &str)]) {
    let metadata = metadata::of_mut(object);
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    for (key, text) in entries {
        annotations[*key] = (*text).into();
    }
}

/// The shortest and the longest time that provisioning takes.
const PROVISIONING: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(2));
