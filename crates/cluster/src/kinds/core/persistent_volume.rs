//! PersistentVolume.

use serde_json::{Value, json};
use sluice_schema::field::{FieldError, Path};

use super::persistent_volume_claim::access_modes;
use crate::kind::{Context, Kind};
use crate::kinds::pod_spec::{csi_driver_name, host_path, nfs, no_backsteps, node_selector};
use crate::kinds::resource_list;
use crate::kinds::{internal, line_diff};
use crate::status::Status;
use crate::validation::{
    Errors, IMMUTABLE, immutable, invalid_raw, named, names, one_of_or_unset, quantity,
    required_text,
};
use crate::value::{at, entries, fill, fill_absent, list, present, restore, same, set, text};

/// Every volume source, in upstream's order of checks; the second entry is the path if it differs.
const SOURCES: &[(&str, &str)] = &[
    ("hostPath", ""),
    ("gcePersistentDisk", ""),
    ("awsElasticBlockStore", ""),
    ("glusterfs", ""),
    ("flocker", ""),
    ("nfs", ""),
    ("rbd", ""),
    ("quobyte", ""),
    ("cephfs", "cephFS"),
    ("iscsi", ""),
    ("cinder", ""),
    ("fc", ""),
    ("flexVolume", ""),
    ("azureFile", ""),
    ("vsphereVolume", ""),
    ("photonPersistentDisk", ""),
    ("portworxVolume", ""),
    ("azureDisk", ""),
    ("scaleIO", ""),
    ("local", ""),
    ("storageos", ""),
    ("csi", ""),
];

/// The hooks of PersistentVolume.
pub(super) struct PersistentVolume;

impl Kind for PersistentVolume {
    fn default(&self, object: &mut Value) {
        fill(object, "status.phase", "Pending");
        fill(object, "spec.persistentVolumeReclaimPolicy", "Retain");
        fill_absent(object, "spec.volumeMode", "Filesystem");
        if present(object, "spec.hostPath") && !present(object, "spec.hostPath.type") {
            set(object, "spec.hostPath.type", "");
        }
        resource_list::round_up(object, &["spec.capacity"]);
    }

    fn prepare_create(&self, context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        let now = sluice_base::time::format_seconds(context.now);
        set(object, "status", json!({"phase": "Pending", "lastPhaseTransitionTime": now}));
        Ok(())
    }

    fn prepare_status_update(&self, context: &Context<'_>, object: &mut Value, old: &Value) {
        let (phase, moment) = ("status.phase", "status.lastPhaseTransitionTime");
        let unchanged = same(at(object, moment), at(old, moment));
        if at(object, phase) == at(old, phase) {
            if !present(object, moment) {
                restore(object, old, moment);
            }
        } else if !present(object, moment) || unchanged {
            set(object, moment, sluice_base::time::format_seconds(context.now));
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        specification(at(object, "spec"), &Path::new("spec"))
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        // Upstream validates twice.
        let mut errors = self.validate(context, object);
        errors.extend(self.validate(context, object));
        let mut object = object.clone();
        let secret = "spec.csi.controllerExpandSecretRef";
        if present(old, "spec.csi") && !present(old, secret) {
            restore(&mut object, old, secret);
        }
        let source = |object: &Value| -> Value {
            let fields = entries(object, "spec").iter();
            let kept = fields.filter(|(name, _)| SOURCES.iter().any(|(source, _)| source == name));
            Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        };
        let (now, before) = (source(&object), source(old));
        if !same(&now, &before) {
            let difference = line_diff::unified(
                &internal::print_lines("PersistentVolumeSource", &before),
                &internal::print_lines("PersistentVolumeSource", &now),
            );
            errors.push(FieldError::forbidden(
                &Path::new("spec").child("persistentvolumesource"),
                format!("spec.persistentvolumesource is immutable after creation\n{difference}"),
            ));
        }
        errors.extend(immutable(
            at(&object, "spec.volumeMode"),
            at(old, "spec.volumeMode"),
            &Path::new("volumeMode"),
        ));
        let affinity = "spec.nodeAffinity";
        if present(old, affinity) && !same(at(&object, affinity), at(old, affinity)) {
            let printed = if present(&object, affinity) {
                internal::print("VolumeNodeAffinity", at(&object, affinity))
            } else {
                "null".to_owned()
            };
            errors.push(invalid_raw(
                &Path::new("nodeAffinity"),
                &printed,
                &format!("{IMMUTABLE}, except for updating from beta label to GA"),
            ));
        }
        errors
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        if text(object, "spec.persistentVolumeReclaimPolicy") == "Recycle" {
            warnings.push("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.".to_owned());
        }
        let deprecated = [
            ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
            ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
            ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
            ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
            ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
        ];
        for (source, message) in deprecated {
            if present(object, &format!("spec.{source}")) {
                warnings.push(format!("spec.{source}: {message}"));
            }
        }
        warnings
    }

    fn has_status(&self) -> bool {
        true
    }
}

fn specification(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    if list(spec, "accessModes").is_empty() {
        errors.push(FieldError::required(&path.child("accessModes"), ""));
    }
    errors.extend(access_modes(spec, path));
    let capacity = entries(spec, "capacity");
    let place = path.child("capacity");
    if capacity.is_empty() {
        errors.push(FieldError::required(&place, ""));
    }
    if capacity.len() != 1 || !capacity.contains_key("storage") {
        let shown = at(spec, "capacity").clone();
        errors.push(FieldError::not_supported(&place, shown, &["storage"]));
    }
    for (name, amount) in capacity {
        let path = place.key(name);
        let size = quantity::nanos(amount).unwrap_or_default();
        if size < 0 {
            let detail = "must be a valid resource quantity";
            let whole = i64::try_from(size / 1_000_000_000).unwrap_or(i64::MIN);
            errors.push(FieldError::invalid(&path, whole, detail));
        }
        if size <= 0 {
            errors.push(FieldError::invalid(&path, amount.clone(), "must be greater than zero"));
        }
    }
    let policies = ["Delete", "Recycle", "Retain"];
    errors.extend(one_of_or_unset(spec, "persistentVolumeReclaimPolicy", &policies, path));
    let affinity = at(spec, "nodeAffinity");
    if !affinity.is_null() {
        let path = path.child("nodeAffinity").child("required");
        if present(affinity, "required") {
            errors.extend(node_selector(at(affinity, "required"), &path));
        } else {
            errors.push(FieldError::required(&path, "must specify required node constraints"));
        }
    }
    errors.extend(source(spec, path));
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        errors.extend(named(names::dns_subdomain, class, &path.child("storageClassName")));
    }
    errors.extend(one_of_or_unset(spec, "volumeMode", &["Block", "Filesystem"], path));
    errors
}

fn source(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut sources = 0;
    for (field, other) in SOURCES {
        let source = at(spec, field);
        if source.is_null() {
            continue;
        }
        sources += 1;
        let path_of = path.child(field);
        if sources > 1 && *field != "flexVolume" {
            let field = if other.is_empty() { field } else { other };
            let detail = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(&path.child(field), detail));
            continue;
        }
        match *field {
            "hostPath" => errors.extend(host_path(source, &path_of)),
            "nfs" => errors.extend(nfs(source, &path_of)),
            "local" => {
                let missing = required_text(source, "path", &path_of);
                if missing.is_empty() {
                    let place = path_of.child("path");
                    errors.extend(no_backsteps(text(source, "path"), &place));
                }
                errors.extend(missing);
                if !present(spec, "nodeAffinity") {
                    errors.push(FieldError::required(
                        &path.child("nodeAffinity"),
                        "Local volume requires node affinity",
                    ));
                }
            }
            "csi" => {
                errors.extend(csi_driver_name(text(source, "driver"), &path_of.child("driver")));
                errors.extend(required_text(source, "volumeHandle", &path_of));
            }
            _ => {}
        }
    }
    if sources == 0 {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
    errors
}
