//! The status of a pod, from its state.

use std::fmt::Write as _;

use ring::digest;
use serde_json::{Map, Value, json};

use super::pod_state::{PodState, State, Unit};
use crate::controllers::condition;
use crate::{metadata, value};

/// The status of a pod in this state.
pub(super) fn of(pod_state: &PodState, pod: &Value, now: &str) -> Value {
    let mut status = pod["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let phase = pod_state.phase();
    status["phase"] = phase.into();
    status["startTime"] = pod_state.start_time.as_str().into();
    if !pod_state.host_address.is_empty() {
        status["hostIP"] = pod_state.host_address.as_str().into();
        status["hostIPs"] = json!([{"ip": pod_state.host_address}]);
    }
    if !pod_state.address.is_empty() {
        status["podIP"] = pod_state.address.as_str().into();
        status["podIPs"] = json!([{"ip": pod_state.address}]);
    }
    for (field, list) in
        [("initContainerStatuses", "initContainers"), ("containerStatuses", "containers")]
    {
        let statuses: Vec<Value> =
            pod_state.units.iter().filter(|unit| unit.list == list).map(container).collect();
        if !statuses.is_empty() {
            status[field] = statuses.into();
        }
    }
    conditions(pod_state, pod, phase, &mut status, now);
    if let Some(generation) = metadata::of(pod).get("generation") {
        status["observedGeneration"] = generation.clone();
        for condition in value::list_mut(&mut status, "conditions") {
            condition["observedGeneration"] = generation.clone();
        }
    }
    status
}

fn conditions(pod_state: &PodState, pod: &Value, phase: &str, status: &mut Value, now: &str) {
    let finished = match phase {
        "Succeeded" => Some("PodCompleted"),
        "Failed" => Some("PodFailed"),
        _ => None,
    };
    let names = |test: &dyn Fn(&Unit) -> bool| -> Vec<&str> {
        pod_state.units.iter().filter(|unit| test(unit)).map(|unit| unit.name.as_str()).collect()
    };
    let up = pod_state.sandbox && !(pod_state.stopping && finished.is_some()) && finished.is_none();
    condition::set_pod(status, "PodReadyToStartContainers", up, "", "", now);
    let incomplete = names(&|unit| {
        unit.list == "initContainers"
            && if unit.sidecar { !is_running(unit) && unit.last.is_none() } else { !unit.ready }
    });
    if phase == "Succeeded" {
        condition::set_pod(status, "Initialized", true, "PodCompleted", "", now);
    } else if incomplete.is_empty() || finished.is_some() {
        condition::set_pod(status, "Initialized", true, "", "", now);
    } else {
        let message = format!("containers with incomplete status: [{}]", incomplete.join(" "));
        condition::set_pod(status, "Initialized", false, "ContainersNotInitialized", &message, now);
    }
    let unready = names(&|unit| (unit.list == "containers" || unit.sidecar) && !unit.ready);
    let (all_ready, reason, message) = if let Some(reason) = finished {
        (false, reason, String::new())
    } else if unready.is_empty() {
        (true, "", String::new())
    } else {
        let message = format!("containers with unready status: [{}]", unready.join(" "));
        (false, "ContainersNotReady", message)
    };
    let gates = gates(pod, status);
    if all_ready && !gates.is_empty() {
        let message = gates.join(", ");
        condition::set_pod(status, "Ready", false, "ReadinessGatesNotReady", &message, now);
    } else {
        condition::set_pod(status, "Ready", all_ready, reason, &message, now);
    }
    condition::set_pod(status, "ContainersReady", all_ready, reason, &message, now);
    condition::set_pod(status, "PodScheduled", true, "", "", now);
    sort_conditions(status);
}

/// Sorts conditions: the kubelet's in its own order, then the others.
fn sort_conditions(status: &mut Value) {
    const ORDER: [&str; 5] =
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    if let Some(conditions) = status["conditions"].as_array_mut() {
        conditions.sort_by_key(|condition| {
            ORDER.iter().position(|kind| condition["type"] == *kind).unwrap_or(ORDER.len())
        });
    }
}

/// The readiness gates of a pod that are not met.
fn gates(pod: &Value, status: &Value) -> Vec<String> {
    value::list(pod, "spec.readinessGates")
        .iter()
        .filter_map(|gate| {
            let kind = value::text(gate, "conditionType");
            match condition::find(status, kind) {
                None => Some(format!(
                    "corresponding condition of pod readiness gate \"{kind}\" does not exist."
                )),
                Some(found) if found["status"] != "True" => Some(format!(
                    "the status of pod readiness gate \"{kind}\" is not \"True\", but {}",
                    value::text(found, "status")
                )),
                Some(_) => None,
            }
        })
        .collect()
}

fn is_running(unit: &Unit) -> bool {
    matches!(unit.state, State::Running { .. })
}

fn container(unit: &Unit) -> Value {
    let image = value::text(&unit.spec, "image");
    let state = match &unit.state {
        State::Waiting { reason, message } if message.is_empty() => {
            json!({"waiting": {"reason": reason}})
        }
        State::Waiting { reason, message } => {
            json!({"waiting": {"reason": reason, "message": message}})
        }
        State::Running { since } => json!({"running": {"startedAt": since}}),
        State::Ended { state, .. } => state.clone(),
    };
    let began = !unit.id.is_empty();
    let mut out = json!({
        "name": unit.name,
        "image": if began { full_image(image) } else { image.to_owned() },
        "imageID": if began { image_id(image) } else { String::new() },
        "lastState": unit.last.clone().unwrap_or_else(|| json!({})),
        "ready": unit.ready,
        "restartCount": unit.restarts,
        "started": is_running(unit) && (unit.list == "containers" || unit.sidecar)
            && (unit.ready || !unit.spec["startupProbe"].is_object()),
        "state": state,
    });
    if began {
        out["containerID"] = unit.id.as_str().into();
        if let Some(requests) = unit.spec["resources"].get("requests") {
            out["allocatedResources"] = requests.clone();
        }
        out["resources"] = unit.spec.get("resources").cloned().unwrap_or_else(|| json!({}));
    }
    let mounts: Vec<Value> = value::list(&unit.spec, "volumeMounts").iter().map(mount).collect();
    if !mounts.is_empty() {
        out["volumeMounts"] = mounts.into();
    }
    out
}

fn mount(mount: &Value) -> Value {
    let mut out = Map::new();
    out.insert("name".to_owned(), mount["name"].clone());
    out.insert("mountPath".to_owned(), mount["mountPath"].clone());
    if value::flag(mount, "readOnly") {
        out.insert("readOnly".to_owned(), true.into());
        out.insert("recursiveReadOnly".to_owned(), "Disabled".into());
    }
    out.into()
}

/// An image with its registry and its tag.
pub(super) fn full_image(image: &str) -> String {
    let first = image.split('/').next().unwrap_or_default();
    let has_registry =
        image.contains('/') && (first.contains('.') || first.contains(':') || first == "localhost");
    let named = if has_registry {
        image.to_owned()
    } else if image.contains('/') {
        format!("docker.io/{image}")
    } else {
        format!("docker.io/library/{image}")
    };
    let last = named.rsplit('/').next().unwrap_or_default();
    if last.contains(':') || last.contains('@') { named } else { format!("{named}:latest") }
}

/// A digest for an image; the same name gives the same digest.
fn image_id(image: &str) -> String {
    let full = full_image(image);
    if let Some((_, _)) = full.split_once('@') {
        return full;
    }
    let name = full.rsplit_once(':').map_or(full.as_str(), |(name, _)| name);
    let digest = digest::digest(&digest::SHA256, full.as_bytes());
    let mut out = format!("{name}@sha256:");
    for byte in digest.as_ref() {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::full_image;

    #[test]
    fn images_are_named_in_full() {
        let cases = [
            ("nginx", "docker.io/library/nginx:latest"),
            ("nginx:1.27", "docker.io/library/nginx:1.27"),
            ("stefanprodan/podinfo:6", "docker.io/stefanprodan/podinfo:6"),
            ("ghcr.io/a/b", "ghcr.io/a/b:latest"),
            ("localhost:5000/x", "localhost:5000/x:latest"),
        ];
        for (given, expected) in cases {
            assert_eq!(full_image(given), expected);
        }
    }
}
