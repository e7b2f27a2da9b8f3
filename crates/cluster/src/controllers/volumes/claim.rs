//! Binds a claim to a volume, or provisions one.

use serde_json::{Value, json};

use super::{
    CLAIM_PROTECTION, PROVISIONING, SOURCE, VOLUME_PROTECTION, annotate, remove_finalizer,
    set_phase,
};
use crate::controllers::control::{Control, Object};
use crate::controllers::recorder::{EventSource, NewEvent};
use crate::controllers::{Key, Next, pods, scheduler};
use crate::store::GroupResource;
use crate::validation::quantity;
use crate::{metadata, value};

const BOUND: &str = "pv.kubernetes.io/bind-completed";
const BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
const OLD_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";

pub(super) async fn sync(control: &Control, key: &Key, claim: &Object) -> Next {
    if metadata::is_terminating(claim) {
        let protected = metadata::finalizers(claim).any(|name| name == CLAIM_PROTECTION);
        if protected && !in_use(control, claim) {
            remove_finalizer(control, key, CLAIM_PROTECTION).await;
        }
        return Next::Wait;
    }
    let volume = value::text(claim, "spec.volumeName");
    if !volume.is_empty() {
        finish(control, key, claim, volume).await;
        return Next::Wait;
    }
    if value::text(claim, "status.phase").is_empty() {
        set_phase(control, key, "Pending").await;
    }
    let class_name = value::text(claim, "spec.storageClassName");
    let class = control.object(&Key::new("storage.k8s.io", "storageclasses", "", class_name));
    let late =
        class.as_ref().is_some_and(|class| class["volumeBindingMode"] == "WaitForFirstConsumer");
    let node = metadata::entry(claim, "annotations", scheduler::SELECTED_NODE);
    if late && node.is_none() {
        let message = "waiting for first consumer to be created before binding";
        control.record(SOURCE, claim, NewEvent::normal("WaitForFirstConsumer", message)).await;
        return Next::Wait;
    }
    if let Some(volume) = matching(control, claim) {
        bind(control, key, claim, metadata::name(&volume)).await;
        return Next::Wait;
    }
    if class_name.is_empty() {
        let message = "no persistent volumes available for this claim and no storage class is set";
        control.record(SOURCE, claim, NewEvent::normal("FailedBinding", message)).await;
        return Next::Wait;
    }
    let Some(class) = class else {
        let message = format!("storageclass.storage.k8s.io \"{class_name}\" not found");
        control.record(SOURCE, claim, NewEvent::warning("ProvisioningFailed", &message)).await;
        return Next::Wait;
    };
    let provisioner = value::text(&class, "provisioner");
    if provisioner == "kubernetes.io/no-provisioner" {
        return Next::Wait;
    }
    provision(control, key, claim, &class, provisioner).await
}

/// Whether an unfinished pod uses the claim.
fn in_use(control: &Control, claim: &Value) -> bool {
    control.objects("", "pods", Some(metadata::namespace(claim))).iter().any(|pod| {
        !pods::is_finished(pod)
            && value::list(pod, "spec.volumes").iter().any(|volume| {
                value::text(volume, "persistentVolumeClaim.claimName") == metadata::name(claim)
            })
    })
}

/// The smallest free volume that fits, or the one that is reserved for the claim.
fn matching(control: &Control, claim: &Value) -> Option<Object> {
    let wanted = &claim["spec"]["resources"]["requests"]["storage"];
    let mut volumes = control.objects("", "persistentvolumes", None);
    volumes.retain(|volume| {
        let reserved = &volume["spec"]["claimRef"];
        if !reserved.is_null() {
            return reserved["namespace"] == metadata::namespace(claim)
                && reserved["name"] == metadata::name(claim)
                && (reserved["uid"].is_null() || reserved["uid"] == metadata::uid(claim));
        }
        let modes = value::texts(volume, "spec.accessModes");
        value::text(volume, "spec.storageClassName") == value::text(claim, "spec.storageClassName")
            && value::text(volume, "status.phase") == "Available"
            && value::texts(claim, "spec.accessModes").iter().all(|mode| modes.contains(mode))
            && quantity::compare(&volume["spec"]["capacity"]["storage"], wanted).is_ge()
    });
    volumes.into_iter().min_by_key(|volume| {
        let free = volume["spec"]["claimRef"].is_null();
        (free, quantity::nanos(&volume["spec"]["capacity"]["storage"]).unwrap_or_default())
    })
}

fn claim_reference(claim: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": metadata::namespace(claim), "name": metadata::name(claim),
        "uid": metadata::uid(claim),
        "resourceVersion": metadata::text(claim, "resourceVersion"),
    })
}

async fn bind(control: &Control, key: &Key, claim: &Value, volume: &str) {
    let volume_key = Key::new("", "persistentvolumes", "", volume);
    let reference = claim_reference(claim);
    let taken = control
        .update(SOURCE.actor, &volume_key, "", &mut |volume| {
            if volume["spec"]["claimRef"]["uid"].is_null() {
                volume["spec"]["claimRef"] = reference.clone();
                annotate(volume, &[(BY_CONTROLLER, "yes")]);
            }
        })
        .await;
    if taken.is_err() {
        return;
    }
    set_phase(control, &volume_key, "Bound").await;
    let _ = control
        .update(SOURCE.actor, key, "", &mut |claim| {
            claim["spec"]["volumeName"] = volume.into();
            annotate(claim, &[(BOUND, "yes"), (BY_CONTROLLER, "yes")]);
        })
        .await;
}

/// Completes the binding of a claim that names its volume.
async fn finish(control: &Control, key: &Key, claim: &Value, volume: &str) {
    let found = control.object(&Key::new("", "persistentvolumes", "", volume));
    let Some(volume) = found else {
        if claim["status"]["phase"] == "Bound" {
            set_phase(control, key, "Lost").await;
            let message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
            control.record(SOURCE, claim, NewEvent::warning("ClaimLost", message)).await;
        }
        return;
    };
    if volume["spec"]["claimRef"].is_null() {
        bind(control, key, claim, metadata::name(&volume)).await;
    }
    if claim["status"]["phase"] == "Bound" {
        return;
    }
    let status = json!({
        "phase": "Bound",
        "accessModes": volume["spec"]["accessModes"],
        "capacity": volume["spec"]["capacity"],
    });
    let _ = control
        .update(SOURCE.actor, key, "status", &mut |claim| claim["status"] = status.clone())
        .await;
}

/// Provisions a volume for the claim, if the cluster has nodes.
async fn provision(
    control: &Control,
    key: &Key,
    claim: &Value,
    class: &Value,
    provisioner: &str,
) -> Next {
    if metadata::entry(claim, "annotations", PROVISIONER).is_none() {
        let entries = [(PROVISIONER, provisioner), (OLD_PROVISIONER, provisioner)];
        let _ = control.update(SOURCE.actor, key, "", &mut |claim| annotate(claim, &entries)).await;
        let message = format!(
            "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
        );
        control.record(SOURCE, claim, NewEvent::normal("ExternalProvisioning", &message)).await;
        let (least, most) = PROVISIONING;
        return Next::After(control.between(least, most));
    }
    if !control.state.workloads {
        return Next::Wait;
    }
    let name = format!("pvc-{}", metadata::uid(claim));
    let mut volume = json!({
        "metadata": {
            "name": name,
            "annotations": {PROVISIONED_BY: provisioner},
            "finalizers": [VOLUME_PROTECTION],
        },
        "spec": {
            "accessModes": claim["spec"]["accessModes"],
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "claimRef": claim_reference(claim),
            "csi": {"driver": provisioner, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": match value::text(class, "reclaimPolicy") {
                "" => "Delete",
                policy => policy,
            },
            "storageClassName": metadata::name(class),
            "volumeMode": match value::text(claim, "spec.volumeMode") {
                "" => "Filesystem",
                mode => mode,
            },
        },
    });
    let provider = EventSource {
        actor: crate::controllers::control::Actor {
            user: "system:serviceaccount:kube-system:csi-provisioner",
            manager: "csi-provisioner",
        },
        component: provisioner,
        host: "",
    };
    if let Some(node) = metadata::entry(claim, "annotations", scheduler::SELECTED_NODE) {
        volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [
            {"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]},
            ]},
        ]}});
    }
    let volumes = GroupResource::new("", "persistentvolumes");
    let made = control.create(provider.actor, &volumes, "", volume).await;
    if made.is_ok() {
        let message = format!("Successfully provisioned volume {name}");
        control.record(provider, claim, NewEvent::normal("ProvisioningSucceeded", &message)).await;
    }
    bind(control, key, claim, &name).await;
    Next::Wait
}
