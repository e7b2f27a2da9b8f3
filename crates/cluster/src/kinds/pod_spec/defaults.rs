//! Defaults of a pod specification.

use serde_json::{Map, Value, json};

use crate::kinds::resource_list;
use crate::value::{
    at, at_mut, entries, fill, fill_zero, flag, is_zero, list_mut, number, present, set, text,
};

/// Defaults of any pod specification, of a Pod or of a template.
pub(crate) fn spec_defaults(spec: &mut Value) {
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "restartPolicy", "Always");
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill(spec, "schedulerName", "default-scheduler");
    fill(spec, "securityContext", json!({}));
    // The deprecated field follows the new one, and fills it in where that is empty.
    let account = [text(spec, "serviceAccountName"), text(spec, "serviceAccount")]
        .into_iter()
        .find(|name| !name.is_empty())
        .map(str::to_owned);
    if let Some(account) = account {
        set(spec, "serviceAccountName", account.clone());
        set(spec, "serviceAccount", account);
    }
    for volume in list_mut(spec, "volumes") {
        volume_defaults(volume);
    }
    for field in ["initContainers", "containers", "ephemeralContainers"] {
        for container in list_mut(spec, field) {
            container_defaults(container);
        }
    }
}

/// Defaults that only a real Pod gets: requests from limits, service links, host ports.
pub(crate) fn pod_defaults(spec: &mut Value) {
    let host_network = flag(spec, "hostNetwork");
    for field in ["containers", "initContainers"] {
        for container in list_mut(spec, field) {
            requests_from_limits(container);
            if host_network {
                for port in list_mut(container, "ports") {
                    let number = number(port, "containerPort");
                    fill_zero(port, "hostPort", number);
                }
            }
        }
    }
    fill(spec, "enableServiceLinks", true);
    if number(spec, "terminationGracePeriodSeconds") < 0 {
        set(spec, "terminationGracePeriodSeconds", 1);
    }
}

fn requests_from_limits(container: &mut Value) {
    if !present(container, "resources.limits") {
        return;
    }
    let mut requests = entries(container, "resources.requests").clone();
    for (name, quantity) in entries(container, "resources.limits") {
        requests.entry(name).or_insert_with(|| quantity.clone());
    }
    if !requests.is_empty() {
        set(container, "resources.requests", Value::Object(requests));
    }
}

fn container_defaults(container: &mut Value) {
    let policy = pull_policy(text(container, "image"));
    fill(container, "imagePullPolicy", policy);
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    fill(container, "resources", json!({}));
    resource_list::round_up(container, &["resources.limits", "resources.requests"]);
    for port in list_mut(container, "ports") {
        fill(port, "protocol", "TCP");
    }
    for variable in list_mut(container, "env") {
        if let Some(reference) = at_mut(variable, "valueFrom.fieldRef") {
            fill(reference, "apiVersion", "v1");
        }
        if let Some(reference) = at_mut(variable, "valueFrom.fileKeyRef") {
            fill(reference, "optional", false);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = at_mut(container, name) {
            fill_zero(probe, "timeoutSeconds", 1);
            fill_zero(probe, "periodSeconds", 10);
            fill_zero(probe, "successThreshold", 1);
            fill_zero(probe, "failureThreshold", 3);
            handler_defaults(probe);
        }
    }
    for name in ["lifecycle.postStart", "lifecycle.preStop"] {
        if let Some(handler) = at_mut(container, name) {
            handler_defaults(handler);
        }
    }
}

fn handler_defaults(handler: &mut Value) {
    if let Some(action) = at_mut(handler, "httpGet") {
        fill(action, "path", "/");
        fill(action, "scheme", "HTTP");
    }
    if let Some(action) = at_mut(handler, "grpc") {
        fill(action, "service", "");
    }
}

/// The default pull policy: `Always` for the tag `latest`, spelled out or implied.
pub(super) fn pull_policy(image: &str) -> &'static str {
    if tag_is_latest(image) { "Always" } else { "IfNotPresent" }
}

fn tag_is_latest(image: &str) -> bool {
    // A reference that does not parse has no tag.
    if image.contains('@') {
        return false;
    }
    let (name, tag) = match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    };
    let path = match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => path,
        _ => name,
    };
    let good = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    tag == "latest"
        && (1..=255).contains(&path.len())
        && path.split('/').all(|part| part.starts_with(good) && part.ends_with(good))
        && path.chars().all(|letter| good(letter) || "._-/".contains(letter))
}

/// Volume source, field, value.
const SOURCE_TEXTS: &[(&str, &str, &str)] = &[
    ("iscsi", "iscsiInterface", "default"),
    ("rbd", "pool", "rbd"),
    ("rbd", "user", "admin"),
    ("rbd", "keyring", "/etc/ceph/keyring"),
    ("azureDisk", "cachingMode", "ReadWrite"),
    ("azureDisk", "fsType", "ext4"),
    ("azureDisk", "kind", "Shared"),
    ("scaleIO", "storageMode", "ThinProvisioned"),
    ("scaleIO", "fsType", "xfs"),
];

fn volume_defaults(volume: &mut Value) {
    let has_source = volume.as_object().is_some_and(|fields| {
        fields.iter().any(|(name, value)| name != "name" && !value.is_null())
    });
    if !has_source {
        fill(volume, "emptyDir", json!({}));
    }
    for name in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = at_mut(volume, name) {
            fill(source, "defaultMode", 420);
        }
    }
    for item in list_mut(volume, "downwardAPI.items") {
        field_reference_defaults(item);
    }
    for source in list_mut(volume, "projected.sources") {
        for item in list_mut(source, "downwardAPI.items") {
            field_reference_defaults(item);
        }
        if let Some(token) = at_mut(source, "serviceAccountToken") {
            fill(token, "expirationSeconds", 3600);
        }
    }
    if let Some(source) = at_mut(volume, "hostPath")
        && is_zero(at(source, "type"))
    {
        set(source, "type", "");
    }
    for (source, name, value) in SOURCE_TEXTS {
        if let Some(source) = at_mut(volume, source) {
            fill(source, name, *value);
        }
    }
    if let Some(source) = at_mut(volume, "azureDisk") {
        fill(source, "readOnly", false);
    }
    if let Some(source) = at_mut(volume, "image") {
        let policy = pull_policy(text(source, "reference"));
        fill(source, "pullPolicy", policy);
    }
    if let Some(template) = at_mut(volume, "ephemeral.volumeClaimTemplate") {
        fill(template, "spec.volumeMode", "Filesystem");
        fill(template, "spec.resources", Value::Object(Map::new()));
    }
}

fn field_reference_defaults(item: &mut Value) {
    if let Some(reference) = at_mut(item, "fieldRef") {
        fill(reference, "apiVersion", "v1");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pull_policy_follows_the_tag() {
        let cases = [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.27", "IfNotPresent"),
            ("registry.example.com:5000/team/app", "Always"),
            ("registry.example.com:5000/team/app:v1", "IfNotPresent"),
            (
                "app@sha256:0000000000000000000000000000000000000000000000000000000000000000",
                "IfNotPresent",
            ),
            ("Bad/Name", "IfNotPresent"),
            ("", "IfNotPresent"),
        ];
        for (image, expected) in cases {
            assert_eq!(pull_policy(image), expected, "{image}");
        }
    }
}
