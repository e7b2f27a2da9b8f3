//! Volumes of a pod.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::mounts::{file_path, no_backsteps};
use super::{Place, environment};
use crate::kinds::core::persistent_volume_claim;
use crate::validation::{
    Errors, labels, metadata, named, names, one_of, one_of_or_unset, quantity, required_text,
};
use crate::value::{at, int, is_zero, list, number, present, text};

const FILE_MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// In upstream's order of checks; the second entry is the path if it differs.
const SOURCES: &[(&str, &str)] = &[
    ("hostPath", ""),
    ("gitRepo", ""),
    ("gcePersistentDisk", ""),
    ("awsElasticBlockStore", ""),
    ("secret", ""),
    ("nfs", ""),
    ("iscsi", ""),
    ("glusterfs", ""),
    ("flocker", ""),
    ("persistentVolumeClaim", ""),
    ("rbd", ""),
    ("cinder", ""),
    ("cephfs", "cephFS"),
    ("quobyte", ""),
    ("downwardAPI", "downwarAPI"),
    ("fc", ""),
    ("flexVolume", ""),
    ("configMap", ""),
    ("azureFile", ""),
    ("vsphereVolume", ""),
    ("photonPersistentDisk", ""),
    ("portworxVolume", ""),
    ("azureDisk", ""),
    ("storageos", ""),
    ("projected", ""),
    ("scaleIO", ""),
    ("csi", ""),
    ("ephemeral", ""),
    ("image", ""),
];

/// Required fields of rarer sources.
const NEEDED: &[(&str, &[&str])] = &[
    ("gitRepo", &["repository"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("glusterfs", &["endpoints", "path"]),
    ("rbd", &["monitors", "image"]),
    ("cinder", &["volumeID"]),
    ("cephfs", &["monitors"]),
    ("flexVolume", &["driver"]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("portworxVolume", &["volumeID"]),
];

/// The valid volumes by name, and the errors of the others.
pub(super) fn volumes<'a>(
    spec: &'a Value,
    place: Place<'_>,
    path: &Path,
) -> (Vec<(&'a str, &'a Value)>, Errors) {
    let mut good: Vec<(&str, &Value)> = Vec::new();
    let mut errors = Vec::new();
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let path = path.index(index);
        let name = text(volume, "name");
        let mut wrong = source(volume, name, place, &path);
        if name.is_empty() {
            wrong.push(FieldError::required(&path.child("name"), ""));
        } else {
            wrong.extend(named(names::dns_label, name, &path.child("name")));
        }
        if good.iter().any(|(other, _)| *other == name) {
            wrong.push(FieldError::duplicate(&path.child("name"), name));
        }
        if wrong.is_empty() {
            good.push((name, volume));
        }
        errors.extend(wrong);
    }
    (good, errors)
}

fn source(volume: &Value, name: &str, place: Place<'_>, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut sources = 0;
    if present(volume, "emptyDir") {
        sources += 1;
        if quantity::nanos(at(volume, "emptyDir.sizeLimit")).unwrap_or_default() < 0 {
            errors.push(FieldError::forbidden(
                &path.child("emptyDir").child("sizeLimit"),
                "SizeLimit field must be a valid resource quantity",
            ));
        }
    }
    for (field, other) in SOURCES {
        let source = at(volume, field);
        if source.is_null() {
            continue;
        }
        sources += 1;
        if sources > 1 {
            let field = if other.is_empty() { field } else { other };
            let detail = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(&path.child(field), detail));
            continue;
        }
        errors.extend(one_source(field, source, place, &path.child(field)));
        let pod = text(place.meta, "name");
        if *field == "ephemeral" && !pod.is_empty() && !name.is_empty() {
            let claim = format!("{pod}-{name}");
            for message in names::dns_subdomain(&claim) {
                let detail = format!("PVC name {claim:?}: {message}");
                errors.push(FieldError::invalid(&path.child("name"), name, detail));
            }
        }
    }
    if sources == 0 {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
    errors
}

fn one_source(field: &str, source: &Value, place: Place<'_>, path: &Path) -> Errors {
    match field {
        "hostPath" => host_path(source, path),
        "secret" => keyed(source, "secretName", path),
        "configMap" => keyed(source, "name", path),
        "nfs" => nfs(source, path),
        "persistentVolumeClaim" => required_text(source, "claimName", path),
        "downwardAPI" => {
            let mut errors = mode(source, "defaultMode", path);
            for item in list(source, "items") {
                errors.extend(downward_file(item, path));
            }
            errors
        }
        "projected" => projected(source, path),
        "csi" => csi(source, path),
        "ephemeral" => ephemeral(source, path),
        "image" => {
            let mut errors =
                if place.is_pod { required_text(source, "reference", path) } else { Vec::new() };
            errors.extend(one_of(source, "pullPolicy", &["Always", "IfNotPresent", "Never"], path));
            errors
        }
        _ => {
            let fields = NEEDED.iter().find(|(kind, _)| *kind == field);
            let fields = fields.map(|(_, fields)| *fields).unwrap_or_default();
            let missing = |name: &&&str| is_zero(at(source, name));
            let missing = fields.iter().filter(missing);
            missing.map(|name| FieldError::required(&path.child(name), "")).collect()
        }
    }
}

/// Validates a path on the host.
pub(crate) fn host_path(source: &Value, path: &Path) -> Errors {
    let missing = required_text(source, "path", path);
    if !missing.is_empty() {
        return missing;
    }
    let mut errors = no_backsteps(text(source, "path"), &path.child("path"));
    let types = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    errors.extend(one_of_or_unset(source, "type", &types, path));
    errors
}

/// Validates an NFS export.
pub(crate) fn nfs(source: &Value, path: &Path) -> Errors {
    let mut errors = required_text(source, "server", path);
    errors.extend(required_text(source, "path", path));
    let place = text(source, "path");
    if !place.starts_with('/') {
        let detail = "must be an absolute path";
        errors.push(FieldError::invalid(&path.child("path"), place, detail));
    }
    errors
}

/// Validates the name of a CSI driver.
pub(crate) fn csi_driver_name(name: &str, path: &Path) -> Errors {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut errors = Vec::new();
    if name.len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
    for message in names::dns_subdomain(&name.to_lowercase()) {
        errors.push(FieldError::invalid(path, name, message));
    }
    errors
}

fn csi(source: &Value, path: &Path) -> Errors {
    let mut errors = csi_driver_name(text(source, "driver"), &path.child("driver"));
    if present(source, "nodePublishSecretRef") {
        let name = text(source, "nodePublishSecretRef.name");
        if name.is_empty() {
            let path = path.child("nodePublishSecretRef").child("name");
            errors.push(FieldError::required(&path, ""));
        } else {
            errors.extend(named(names::dns_subdomain, name, &path.child("name")));
        }
    }
    errors
}

fn ephemeral(source: &Value, path: &Path) -> Errors {
    let path = path.child("volumeClaimTemplate");
    let template = at(source, "volumeClaimTemplate");
    if template.is_null() {
        return vec![FieldError::required(&path, "")];
    }
    let meta = path.child("metadata");
    let mut errors = labels::labels(at(template, "metadata.labels"), &meta.child("labels"));
    let annotations = at(template, "metadata.annotations");
    errors.extend(metadata::annotations(annotations, &meta.child("annotations")));
    errors
        .extend(persistent_volume_claim::validate_spec(at(template, "spec"), &path.child("spec")));
    errors
}

fn mode(source: &Value, name: &str, path: &Path) -> Errors {
    match int(source, name) {
        Some(mode) if !(0..=0o777).contains(&mode) => {
            vec![FieldError::invalid(&path.child(name), mode, FILE_MODE)]
        }
        _ => Vec::new(),
    }
}

fn keyed(source: &Value, name: &str, path: &Path) -> Errors {
    let mut errors = required_text(source, name, path);
    errors.extend(mode(source, "defaultMode", path));
    errors.extend(items(source, path));
    errors
}

fn items(source: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    for (index, item) in list(source, "items").iter().enumerate() {
        let path = path.child("items").index(index);
        errors.extend(required_text(item, "key", &path));
        errors.extend(required_text(item, "path", &path));
        errors.extend(file_path(text(item, "path"), &path.child("path")));
        errors.extend(mode(item, "mode", &path));
    }
    errors
}

fn downward_file(item: &Value, path: &Path) -> Errors {
    let mut errors = required_text(item, "path", path);
    errors.extend(file_path(text(item, "path"), &path.child("path")));
    if present(item, "fieldRef") {
        errors.extend(environment::field_reference(
            at(item, "fieldRef"),
            environment::VOLUME_FIELDS,
            &path.child("fieldRef"),
        ));
        if present(item, "resourceFieldRef") {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            errors.push(FieldError::invalid(path, "resource", detail));
        }
    } else if present(item, "resourceFieldRef") {
        errors.extend(environment::resource_reference(
            at(item, "resourceFieldRef"),
            true,
            &path.child("resourceFieldRef"),
        ));
    } else {
        let detail = "one of fieldRef and resourceFieldRef is required";
        errors.push(FieldError::required(path, detail));
    }
    errors.extend(mode(item, "mode", path));
    errors
}

fn projected(source: &Value, path: &Path) -> Errors {
    let mut errors = mode(source, "defaultMode", path);
    let mut paths = Vec::new();
    for (index, source) in list(source, "sources").iter().enumerate() {
        let item = path.child("sources").index(index);
        let mut sources = 0;
        let mut claim = |target: &str, shown: &str, errors: &mut Errors| {
            if target.is_empty() {
                return;
            }
            if paths.iter().any(|path| path == target) {
                errors.push(FieldError::invalid(path, shown, "conflicting duplicate paths"));
            } else {
                paths.push(target.to_owned());
            }
        };
        for field in ["secret", "configMap"] {
            let part = at(source, field);
            if part.is_null() {
                continue;
            }
            sources += 1;
            let path = item.child(field);
            errors.extend(required_text(part, "name", &path));
            errors.extend(items(part, &path));
            for file in list(part, "items") {
                claim(text(file, "path"), text(part, "name"), &mut errors);
            }
        }
        if present(source, "downwardAPI") {
            sources += 1;
            for file in list(source, "downwardAPI.items") {
                errors.extend(downward_file(file, &item.child("downwardAPI")));
                claim(text(file, "path"), text(file, "path"), &mut errors);
            }
        }
        let token = at(source, "serviceAccountToken");
        if !token.is_null() {
            sources += 1;
            let seconds = number(token, "expirationSeconds");
            let expiration = item.child("serviceAccountToken").child("expirationSeconds");
            if seconds < 600 {
                let detail = "may not specify a duration less than 10 minutes";
                errors.push(FieldError::invalid(&expiration, seconds, detail));
            }
            if seconds > 1 << 32 {
                let detail = "may not specify a duration larger than 2^32 seconds";
                errors.push(FieldError::invalid(&expiration, seconds, detail));
            }
            errors.extend(required_text(token, "path", path));
            errors.extend(file_path(text(token, "path"), &path.child("path")));
        }
        for field in ["clusterTrustBundle", "podCertificate"] {
            sources += usize::from(present(source, field));
        }
        if sources > 1 {
            let detail = "may not specify more than 1 volume type per source";
            errors.push(FieldError::forbidden(&item, detail));
        }
    }
    errors
}
