//! Volume mounts and volume devices of containers.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::containers::{Surroundings, is_privileged};
use crate::validation::{Errors, one_of_or_unset, required_text};
use crate::value::{flag, list, present, text};

/// Validates `volumeMounts`.
pub(super) fn mounts(container: &Value, around: &Surroundings<'_>, path: &Path) -> Errors {
    let devices = list(container, "volumeDevices");
    let mut errors = Vec::new();
    let mut points = Vec::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let item = path.index(index);
        let (name, point) = (text(mount, "name"), text(mount, "mountPath"));
        errors.extend(required_text(mount, "name", &item));
        if !around.volumes.iter().any(|(volume, _)| *volume == name) {
            errors.push(FieldError::not_found(&item.child("name"), name));
        }
        errors.extend(required_text(mount, "mountPath", &item));
        if points.contains(&point) {
            errors.push(FieldError::invalid(&item.child("mountPath"), point, "must be unique"));
        }
        points.push(point);
        if devices.iter().any(|device| text(device, "name") == name) {
            let detail = "must not already exist in volumeDevices";
            errors.push(FieldError::invalid(&item.child("name"), name, detail));
        }
        if devices.iter().any(|device| text(device, "devicePath") == point) {
            let detail = "must not already exist as a path in volumeDevices";
            errors.push(FieldError::invalid(&item.child("mountPath"), point, detail));
        }
        let (below, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
        if !below.is_empty() {
            errors.extend(relative_path(below, &path.child("subPath")));
        }
        if !expression.is_empty() {
            if !below.is_empty() {
                let detail = "subPathExpr and subPath are mutually exclusive";
                errors.push(FieldError::invalid(&item.child("subPathExpr"), expression, detail));
            }
            errors.extend(relative_path(expression, &path.child("subPathExpr")));
        }
        errors.extend(propagation(mount, container, path));
    }
    errors
}

fn propagation(mount: &Value, container: &Value, path: &Path) -> Errors {
    let modes = ["Bidirectional", "HostToContainer", "None"];
    let mut errors = one_of_or_unset(mount, "mountPropagation", &modes, path);
    let mode = text(mount, "mountPropagation");
    if mode == "Bidirectional" && !is_privileged(container) {
        errors.push(FieldError::forbidden(
            &path.child("mountPropagation"),
            "Bidirectional mount propagation is available only to privileged containers",
        ));
    }
    let recursive = path.child("recursiveReadOnly");
    match text(mount, "recursiveReadOnly") {
        "Enabled" | "IfPossible" => {
            if !flag(mount, "readOnly") {
                let detail = "may only be specified when readOnly is true";
                errors.push(FieldError::forbidden(&recursive, detail));
            }
            if !["", "None"].contains(&mode) {
                let detail = "may only be specified when mountPropagation is None or not specified";
                errors.push(FieldError::forbidden(&recursive, detail));
            }
        }
        _ => errors.extend(one_of_or_unset(
            mount,
            "recursiveReadOnly",
            &["Disabled", "Enabled", "IfPossible"],
            path,
        )),
    }
    errors
}

/// Validates `volumeDevices`.
pub(super) fn devices(container: &Value, around: &Surroundings<'_>, path: &Path) -> Errors {
    let mounts = list(container, "volumeMounts");
    let mut errors = Vec::new();
    let mut seen: (Vec<&str>, Vec<&str>) = Default::default();
    for (index, device) in list(container, "volumeDevices").iter().enumerate() {
        let path = path.index(index);
        let (name, place) = (text(device, "name"), text(device, "devicePath"));
        errors.extend(required_text(device, "name", &path));
        if seen.0.contains(&name) {
            errors.push(FieldError::invalid(&path.child("name"), name, "must be unique"));
        }
        match around.volumes.iter().find(|(volume, _)| *volume == name) {
            None => errors.push(FieldError::not_found(&path.child("name"), name)),
            Some((_, volume)) => {
                if !present(volume, "persistentVolumeClaim") && !present(volume, "ephemeral") {
                    errors.push(FieldError::invalid(
                        &path.child("name"),
                        name,
                        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
                    ));
                }
            }
        }
        errors.extend(required_text(device, "devicePath", &path));
        if seen.1.contains(&place) {
            errors.push(FieldError::invalid(&path.child("devicePath"), place, "must be unique"));
        }
        if place.split('/').any(|part| part == "..") {
            let detail = "can not contain backsteps ('..')";
            errors.push(FieldError::invalid(&path.child("devicePath"), place, detail));
        } else {
            seen.1.push(place);
        }
        if mounts.iter().any(|mount| text(mount, "name") == name) {
            let detail = "must not already exist in volumeMounts";
            errors.push(FieldError::invalid(&path.child("name"), name, detail));
        }
        if mounts.iter().any(|mount| text(mount, "mountPath") == place) {
            let detail = "must not already exist as a path in volumeMounts";
            errors.push(FieldError::invalid(&path.child("devicePath"), place, detail));
        }
        seen.0.push(name);
    }
    errors
}

/// Validates a path that must be relative and stay below its root.
pub(crate) fn relative_path(target: &str, path: &Path) -> Errors {
    let mut errors = Vec::new();
    if target.starts_with('/') {
        errors.push(FieldError::invalid(path, target, "must be a relative path"));
    }
    errors.extend(no_backsteps(target, path));
    errors
}

/// Validates a path that must not step back.
pub(crate) fn no_backsteps(target: &str, path: &Path) -> Errors {
    if target.split('/').any(|part| part == "..") {
        return vec![FieldError::invalid(path, target, "must not contain '..'")];
    }
    Vec::new()
}

/// Validates the path of a file in a volume.
pub(crate) fn file_path(target: &str, path: &Path) -> Errors {
    let mut errors = relative_path(target, path);
    if target.starts_with("..") && !target.starts_with("../") {
        errors.push(FieldError::invalid(path, target, "must not start with '..'"));
    }
    errors
}
