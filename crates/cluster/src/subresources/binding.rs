//! `pods/binding`: assigns a pod to a node.

use http::Response;
use serde_json::{Value, json};
use sluice_base::clock::Clock as _;
use sluice_base::time;
use sluice_schema::field::{FieldError, Path};

use super::success;
use crate::body::Body;
use crate::call::Call;
use crate::status::Status;
use crate::write::Precondition;
use crate::{decode, metadata};

pub(super) async fn serve(call: &Call) -> Result<Response<Body>, Status> {
    let dry_run = call.dry_run()?;
    let binding = decode::parse(call.content_type(), &call.body)?.into_value();
    let node = binding["target"]["name"].as_str().unwrap_or_default().to_owned();
    if node.is_empty() {
        let error = FieldError::required(&Path::new("target").child("name"), "");
        return Err(Status::invalid("", "Binding", &call.info.name, &[error]));
    }
    let now = time::format_seconds(call.state.clock.now());
    let manager = call.manager();
    let writer = call.writer(&manager, dry_run);
    writer
        // Fields that a binding sets get no manager.
        .update(&call.info.name, Precondition::Computed, true, &mut |pod| {
            assign(call, pod, &node, &now)
        })
        .await?;
    Ok(success(call))
}

fn assign(call: &Call, pod: &Value, node: &str, now: &str) -> Result<Value, Status> {
    let name = &call.info.name;
    let taken = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if metadata::is_terminating(pod) {
        let why = format!("pod {name} is being deleted, cannot be assigned to a host");
        return Err(Status::conflict("", "pods/binding", name, &why));
    }
    if !taken.is_empty() {
        let why =
            format!("pod {name} is already assigned to node {}", sluice_base::go::quote(taken));
        return Err(Status::conflict("", "pods/binding", name, &why));
    }
    let mut pod = pod.clone();
    pod["spec"]["nodeName"] = node.into();
    let mut conditions: Vec<Value> = pod["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|condition| condition["type"] != "PodScheduled")
        .cloned()
        .collect();
    conditions.push(json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": now}));
    pod["status"]["conditions"] = conditions.into();
    Ok(pod)
}
