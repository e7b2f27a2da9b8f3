//! Containers of a pod, and the specification around them.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::{Place, environment, host, mounts, probes, resources, scheduling, security, volumes};
use crate::validation::{
    Errors, labels, named, names, one_of, one_of_or_unset, port_number, range_message,
    required_text,
};
use crate::value::{at, flag, int, list, number, present, text};

/// Every container of a specification with its path, in upstream's visiting order.
pub(crate) fn containers_of<'a>(
    spec: &'a Value,
    path: &Path,
) -> impl Iterator<Item = (Path, &'a Value)> {
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map({
        let path = path.clone();
        move |field| {
            let path = path.child(field);
            list(spec, field)
                .iter()
                .enumerate()
                .map(move |(index, container)| (path.index(index), container))
                .collect::<Vec<_>>()
        }
    })
}

/// The parts of a pod that the validation of one container needs.
pub(super) struct Surroundings<'a> {
    /// The valid volumes by name.
    pub(super) volumes: Vec<(&'a str, &'a Value)>,
    /// The names of the pod's resource claims.
    pub(super) claims: Vec<&'a str>,
    restart_policy: &'a str,
    host_users: bool,
    grace: Option<i64>,
    system: &'a str,
}

/// Validates a pod specification.
pub(super) fn validate_spec(spec: &Value, place: Place<'_>, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let grace = int(spec, "terminationGracePeriodSeconds");
    if grace.is_none() {
        errors.push(FieldError::required(&path.child("terminationGracePeriodSeconds"), ""));
    }
    let (volumes, wrong) = volumes::volumes(spec, place, &path.child("volumes"));
    errors.extend(wrong);
    let around = Surroundings {
        volumes,
        claims: list(spec, "resourceClaims").iter().map(|claim| text(claim, "name")).collect(),
        restart_policy: text(spec, "restartPolicy"),
        host_users: at(spec, "hostUsers").as_bool().unwrap_or(true),
        grace,
        system: text(spec, "os.name"),
    };
    errors.extend(regular(spec, &around, &path.child("containers")));
    errors.extend(initial(spec, &around, &path.child("initContainers")));
    errors.extend(ephemeral(spec, &around, &path.child("ephemeralContainers")));
    errors.extend(host::host_network_ports(spec, place, &path.child("containers")));
    errors.extend(one_of(spec, "restartPolicy", &["Always", "OnFailure", "Never"], path));
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    errors.extend(one_of(spec, "dnsPolicy", &policies, path));
    errors.extend(labels::labels(at(spec, "nodeSelector"), &path.child("nodeSelector")));
    errors.extend(security::pod_context(spec, &path.child("securityContext")));
    errors.extend(scheduling::affinity(at(spec, "affinity"), &path.child("affinity")));
    errors.extend(host::dns_config(spec, &path.child("dnsConfig")));
    for (index, gate) in list(spec, "readinessGates").iter().enumerate() {
        let path = path.child("readinessGates").index(index).child("conditionType");
        errors.extend(named(names::qualified_name, text(gate, "conditionType"), &path));
    }
    errors.extend(scheduling::gates(spec, &path.child("schedulingGates")));
    errors.extend(scheduling::spread(spec, &path.child("topologySpreadConstraints")));
    errors.extend(host::user_namespaces(spec, path));
    let account = text(spec, "serviceAccountName");
    if !account.is_empty() {
        errors.extend(named(names::dns_subdomain, account, &path.child("serviceAccountName")));
    }
    let node = text(spec, "nodeName");
    if !node.is_empty() {
        errors.extend(named(names::dns_subdomain, node, &path.child("nodeName")));
    }
    if let Some(seconds) = int(spec, "activeDeadlineSeconds") {
        let limit = i64::from(i32::MAX);
        if !(1..=limit).contains(&seconds) {
            errors.push(FieldError::invalid(
                &path.child("activeDeadlineSeconds"),
                seconds,
                range_message(1, limit),
            ));
        }
    }
    for name in ["hostname", "subdomain"] {
        if !text(spec, name).is_empty() {
            errors.extend(named(names::dns_label, text(spec, name), &path.child(name)));
        }
    }
    errors.extend(scheduling::tolerations(spec, &path.child("tolerations")));
    errors.extend(host::aliases(spec, &path.child("hostAliases")));
    for name in ["priorityClassName", "runtimeClassName"] {
        if !text(spec, name).is_empty() {
            errors.extend(named(names::dns_subdomain, text(spec, name), &path.child(name)));
        }
    }
    if present(spec, "preemptionPolicy") {
        let policies = ["PreemptLowerPriority", "Never"];
        errors.extend(one_of(spec, "preemptionPolicy", &policies, path));
    }
    errors.extend(host::operating_system(spec, path));
    errors
}

fn regular(spec: &Value, around: &Surroundings<'_>, path: &Path) -> Errors {
    let containers = list(spec, "containers");
    if containers.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        errors.extend(any(container, around, &path));
        let name = text(container, "name");
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        } else {
            seen.push(name);
        }
        if present(container, "lifecycle") {
            errors.extend(probes::lifecycle(
                at(container, "lifecycle"),
                around.grace,
                around.system,
                &path.child("lifecycle"),
            ));
        }
        errors.extend(probes::probes(container, around.grace, &path));
        errors.extend(restart_policy(container, &path));
    }
    errors.extend(host::port_conflicts(containers, path));
    errors
}

fn initial(spec: &Value, around: &Surroundings<'_>, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut seen: Vec<_> = list(spec, "containers").iter().map(|c| text(c, "name")).collect();
    for (index, container) in list(spec, "initContainers").iter().enumerate() {
        let item = path.index(index);
        errors.extend(any(container, around, &item));
        errors.extend(restart_policy(container, &item));
        let name = text(container, "name");
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(&item.child("name"), name));
        } else if !name.is_empty() {
            seen.push(name);
        }
        errors.extend(host::port_conflicts(std::slice::from_ref(container), path));
        if text(container, "restartPolicy") == "Always" {
            if present(container, "lifecycle") {
                errors.extend(probes::lifecycle(
                    at(container, "lifecycle"),
                    around.grace,
                    around.system,
                    &item.child("lifecycle"),
                ));
            }
            errors.extend(probes::probes(container, around.grace, &item));
        } else {
            for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if present(container, name) {
                    errors.push(FieldError::forbidden(
                        &item.child(name),
                        "may not be set for init containers without restartPolicy=Always",
                    ));
                }
            }
        }
    }
    errors
}

fn ephemeral(spec: &Value, around: &Surroundings<'_>, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let others: Vec<_> = ["containers", "initContainers"]
        .iter()
        .flat_map(|field| list(spec, field))
        .map(|container| text(container, "name"))
        .collect();
    let mut seen = others.clone();
    for (index, container) in list(spec, "ephemeralContainers").iter().enumerate() {
        let path = path.index(index);
        errors.extend(any(container, around, &path));
        let name = text(container, "name");
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        } else {
            seen.push(name);
        }
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !others.contains(&target) {
            errors.push(FieldError::not_found(&path.child("targetContainerName"), target));
        }
        for name in ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"] {
            if present(container, name) {
                errors.push(FieldError::forbidden(
                    &path.child(name),
                    "cannot be set for an Ephemeral Container",
                ));
            }
        }
    }
    errors
}

fn any(container: &Value, around: &Surroundings<'_>, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let name = text(container, "name");
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    } else {
        errors.extend(named(names::dns_label, name, &path.child("name")));
    }
    errors.extend(required_text(container, "image", path));
    let policies = ["File", "FallbackToLogsOnError"];
    errors.extend(one_of(container, "terminationMessagePolicy", &policies, path));
    errors.extend(ports(container, &path.child("ports")));
    errors.extend(environment::variables(container, &path.child("env")));
    errors.extend(environment::sources(container, &path.child("envFrom")));
    errors.extend(mounts::mounts(container, around, &path.child("volumeMounts")));
    errors.extend(mounts::devices(container, around, &path.child("volumeDevices")));
    errors.extend(one_of(container, "imagePullPolicy", &["Always", "IfNotPresent", "Never"], path));
    errors.extend(resources::requirements(
        at(container, "resources"),
        &around.claims,
        &path.child("resources"),
    ));
    errors.extend(resize_policies(container, around, &path.child("resizePolicy")));
    errors.extend(security::container_context(
        at(container, "securityContext"),
        around.host_users,
        &path.child("securityContext"),
    ));
    errors
}

fn ports(container: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let path = path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            let wrong = named(names::port_name, name, &path.child("name"));
            if !wrong.is_empty() {
                errors.extend(wrong);
            } else if seen.contains(&name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            } else {
                seen.push(name);
            }
        }
        match number(port, "containerPort") {
            0 => errors.push(FieldError::required(&path.child("containerPort"), "")),
            port => errors.extend(port_number(port, &path.child("containerPort"))),
        }
        match number(port, "hostPort") {
            0 => {}
            port => errors.extend(port_number(port, &path.child("hostPort"))),
        }
        errors.extend(one_of(port, "protocol", &["SCTP", "TCP", "UDP"], &path));
    }
    errors
}

fn resize_policies(container: &Value, around: &Surroundings<'_>, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, policy) in list(container, "resizePolicy").iter().enumerate() {
        let name = text(policy, "resourceName");
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(&path.index(index), name));
        }
        seen.push(name);
        match name {
            "cpu" | "memory" => {}
            "" => errors.push(FieldError::required(path, "")),
            _ => errors.push(FieldError::not_supported(path, name, &["cpu", "memory"])),
        }
        let restart = text(policy, "restartPolicy");
        match restart {
            "NotRequired" | "RestartContainer" => {}
            "" => errors.push(FieldError::required(path, "")),
            _ => errors.push(FieldError::not_supported(
                path,
                restart,
                &["NotRequired", "RestartContainer"],
            )),
        }
        if around.restart_policy == "Never" && restart != "NotRequired" {
            errors.push(FieldError::invalid(
                path,
                restart,
                "must be 'NotRequired' when `restartPolicy` is 'Never'",
            ));
        }
    }
    errors
}

fn restart_policy(container: &Value, path: &Path) -> Errors {
    let rules = list(container, "restartPolicyRules");
    if !present(container, "restartPolicy") {
        if rules.is_empty() {
            return Vec::new();
        }
        let detail = "must specify restartPolicy when restart rules are used";
        return vec![FieldError::required(&path.child("restartPolicy"), detail)];
    }
    let mut errors =
        one_of_or_unset(container, "restartPolicy", &["Always", "Never", "OnFailure"], path);
    for (index, rule) in rules.iter().enumerate() {
        let path = path.child("restartPolicyRules").index(index);
        errors.extend(one_of_or_unset(rule, "action", &["Restart"], &path));
        if present(rule, "exitCodes") {
            let codes = at(rule, "exitCodes");
            let path = path.child("exitCodes");
            errors.extend(one_of_or_unset(codes, "operator", &["In", "NotIn"], &path));
        } else {
            errors.push(FieldError::required(&path.child("exitCodes"), "must be specified"));
        }
    }
    errors
}

/// Whether a container runs privileged.
pub(super) fn is_privileged(container: &Value) -> bool {
    flag(container, "securityContext.privileged")
}
