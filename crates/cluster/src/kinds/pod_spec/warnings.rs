//! Warnings about a pod specification.

use serde_json::Value;
use sluice_schema::field::Path;

use super::{containers_of, overlaps};
use crate::validation::{addresses, names, quantity};
use crate::value::{at, entries, int, list, number, present, text, texts};

const NODE_LABELS: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#),
    ("beta.kubernetes.io/os", r#"deprecated since v1.14; use "kubernetes.io/os" instead"#),
    (
        "failure-domain.beta.kubernetes.io/region",
        r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#,
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#,
    ),
    (
        "beta.kubernetes.io/instance-type",
        r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#,
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", r#"use "node-role.kubernetes.io/control-plane" instead"#),
];

const VOLUMES: &[(&str, &str, &str)] = &[
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Warnings of a Pod.
pub(crate) fn pod_warnings(pod: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let wrong = names::dns_label(text(pod, "metadata.name"));
    if !wrong.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [{}]",
            wrong.join(" ")
        ));
    }
    warnings.extend(specification(at(pod, "spec"), at(pod, "metadata"), &Path::default()));
    warnings
}

/// Warnings of a pod template at `path`.
pub(crate) fn template_warnings(template: &Value, path: &Path) -> Vec<String> {
    specification(at(template, "spec"), at(template, "metadata"), path)
}

fn deprecated_label(key: &str) -> Option<&'static str> {
    NODE_LABELS.iter().find(|(label, _)| *label == key).map(|(_, message)| *message)
}

fn specification(spec: &Value, meta: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    let annotations = path.child("metadata").child("annotations");
    let path = path.child("spec");
    for key in entries(spec, "nodeSelector").keys() {
        if let Some(message) = deprecated_label(key) {
            warnings.push(format!("{}: {message}", path.child("nodeSelector").key(key)));
        }
    }
    warnings.extend(node_affinity(spec, &path));
    for (index, constraint) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        let path = path.child("topologySpreadConstraints").index(index);
        let key = text(constraint, "topologyKey");
        if let Some(message) = deprecated_label(key) {
            warnings.push(format!("{}: {key} is {message}", path.child("topologyKey")));
        }
        if !present(constraint, "labelSelector") {
            warnings.push(no_selector(&path.child("labelSelector")));
        }
    }
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        for (field, shown, message) in VOLUMES {
            if present(volume, field) {
                let path = path.child("volumes").index(index).child(shown);
                warnings.push(format!("{path}: {message}"));
            }
        }
    }
    for volume in list(spec, "volumes") {
        warnings.extend(overlaps::warnings(volume));
    }
    warnings.extend(duplicates(spec, "hostAliases", "ip", &path));
    warnings.extend(duplicates(spec, "imagePullSecrets", "name", &path));
    for (index, secret) in list(spec, "imagePullSecrets").iter().enumerate() {
        if text(secret, "name").is_empty() {
            let path = path.child("imagePullSecrets").index(index).child("name");
            warnings.push(format!("{path}: invalid empty name \"\""));
        }
    }
    let seccomp = "seccomp.security.alpha.kubernetes.io/pod";
    if !present(spec, "securityContext.seccompProfile")
        && entries(meta, "annotations").contains_key(seccomp)
    {
        warnings.push(format!(
            "{}: non-functional in v1.27+; use the \"seccompProfile\" field instead",
            annotations.key(seccomp)
        ));
    }
    for (path, container) in containers_of(spec, &path) {
        for (list, name) in [
            ("limits", "memory"),
            ("requests", "memory"),
            ("limits", "ephemeral-storage"),
            ("requests", "ephemeral-storage"),
        ] {
            if let Some(amount) = entries(container, &format!("resources.{list}")).get(name)
                && !quantity::is_whole(amount)
            {
                warnings.push(format!(
                    "{}: fractional byte value {amount} is invalid, must be an integer",
                    path.child("resources").child(list).key(name)
                ));
            }
        }
        warnings.extend(hidden_variables(container, &path));
    }
    warnings.extend(ports(spec, &path));
    if int(spec, "terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0) {
        warnings.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            path.child("terminationGracePeriodSeconds")
        ));
    }
    warnings.extend(pod_affinity(spec, &path));
    for (index, server) in texts(spec, "dnsConfig.nameservers").into_iter().enumerate() {
        let path = path.child("dnsConfig").child("nameservers").index(index);
        warnings.extend(addresses::address_warning(server, &path));
    }
    for (index, alias) in list(spec, "hostAliases").iter().enumerate() {
        let path = path.child("hostAliases").index(index).child("ip");
        warnings.extend(addresses::address_warning(text(alias, "ip"), &path));
    }
    warnings
}

fn no_selector(path: &Path) -> String {
    format!("{path}: a null labelSelector results in matching no pod")
}

fn node_affinity(spec: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    let affinity = at(spec, "affinity.nodeAffinity");
    let path = path.child("affinity").child("nodeAffinity");
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = list(affinity, &format!("{required}.nodeSelectorTerms"));
    for (index, term) in terms.iter().enumerate() {
        let path = path.child(required).child("nodeSelectorTerms").index(index);
        warnings.extend(selector_term(term, false, &path));
    }
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (index, term) in list(affinity, preferred).iter().enumerate() {
        let path = path.child(preferred).index(index).child("preference");
        warnings.extend(selector_term(at(term, "preference"), true, &path));
    }
    warnings
}

fn selector_term(term: &Value, check_values: bool, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    for (index, expression) in list(term, "matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(index);
        let key = text(expression, "key");
        if let Some(message) = deprecated_label(key) {
            warnings.push(format!("{}: {key} is {message}", path.child("key")));
        }
        if check_values {
            for (index, value) in texts(expression, "values").into_iter().enumerate() {
                for message in names::label_value(value) {
                    let path = path.child("values").index(index);
                    warnings.push(format!("{path}: {value} is invalid, {message}"));
                }
            }
        }
    }
    warnings
}

fn pod_affinity(spec: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for field in ["podAffinity", "podAntiAffinity"] {
        let affinity = at(spec, &format!("affinity.{field}"));
        let path = path.child("affinity").child(field);
        for (index, term) in list(affinity, required).iter().enumerate() {
            if !present(term, "labelSelector") {
                let path = path.child(required).index(index).child("labelSelector");
                warnings.push(no_selector(&path));
            }
        }
        for (index, term) in list(affinity, preferred).iter().enumerate() {
            if !present(term, "podAffinityTerm.labelSelector") {
                let path = path.child(preferred).index(index).child("podAffinityTerm");
                warnings.push(no_selector(&path.child("labelSelector")));
            }
        }
    }
    warnings
}

fn duplicates(spec: &Value, field: &str, key: &str, path: &Path) -> Vec<String> {
    let mut seen = Vec::new();
    let mut warnings = Vec::new();
    for (index, item) in list(spec, field).iter().enumerate() {
        let value = text(item, key);
        if seen.contains(&value) {
            let path = path.child(field).index(index).child(key);
            warnings.push(format!("{path}: duplicate {key} \"{value}\""));
        } else {
            seen.push(value);
        }
    }
    warnings
}

fn hidden_variables(container: &Value, path: &Path) -> Vec<String> {
    let mut seen = Vec::new();
    let mut warnings = Vec::new();
    for (index, variable) in list(container, "env").iter().enumerate() {
        let (name, value) = (text(variable, "name"), text(variable, "value"));
        if !seen.contains(&name) {
            seen.push(name);
            continue;
        }
        let reference = format!("$({name})");
        if present(variable, "valueFrom") || value == reference || !value.contains(&reference) {
            warnings.push(format!(
                "{}: hides previous definition of \"{name}\", which may be dropped when using apply",
                path.child("env").index(index)
            ));
        }
    }
    warnings
}

fn ports(spec: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    let all: Vec<(Path, &Value)> = containers_of(spec, path)
        .flat_map(|(path, container)| {
            let path = path.child("ports");
            list(container, "ports")
                .iter()
                .enumerate()
                .map(move |(index, port)| (path.index(index), port))
                .collect::<Vec<_>>()
        })
        .collect();
    let key = |port: &Value| (number(port, "containerPort"), text(port, "protocol").to_owned());
    for (index, (path, port)) in all.iter().enumerate() {
        let (host, address) = (number(port, "hostPort"), text(port, "hostIP"));
        for (other_path, other) in &all[..index] {
            if key(port) != key(other) {
                continue;
            }
            let (other_host, other_address) = (number(other, "hostPort"), text(other, "hostIP"));
            let what = if address == other_address && host == other_host {
                "duplicate"
            } else if host == 0 || other_host == 0 {
                "overlapping"
            } else if host == other_host && address.is_empty() != other_address.is_empty() {
                "dangerously ambiguous"
            } else {
                continue;
            };
            warnings.push(format!("{path}: {what} port definition with {other_path}"));
        }
    }
    let mut names: Vec<(&str, &Path)> = Vec::new();
    for (path, port) in &all {
        let name = text(port, "name");
        if name.is_empty() {
            continue;
        }
        match names.iter().find(|(other, _)| *other == name) {
            Some((_, other)) => warnings.push(format!(
                "{path}: duplicate port name \"{name}\" with {other}, services and probes that select ports by name will use {other}"
            )),
            None => names.push((name, path)),
        }
    }
    warnings
}
