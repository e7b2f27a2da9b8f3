//! Priority: a pod's class becomes its priority and preemption policy.

use serde_json::Value;

use crate::kind::ClusterView as _;
use crate::metadata;
use crate::status::Status;
use crate::write::Writer;

pub(super) fn admit(writer: &Writer<'_>, pod: &mut Value) -> Result<(), Status> {
    let name = metadata::name(pod).to_owned();
    let forbidden = |why: &str| Err(Status::forbidden("", "pods", &name, why));
    let wanted = pod["spec"]["priorityClassName"].as_str().unwrap_or_default().to_owned();
    let class = if wanted.is_empty() {
        let default = writer
            .state
            .list("scheduling.k8s.io", "priorityclasses", None)
            .into_iter()
            .find(|class| class["globalDefault"] == true);
        if let Some(class) = &default {
            pod["spec"]["priorityClassName"] = metadata::name(class).into();
        }
        default
    } else {
        let found = writer.state.get("scheduling.k8s.io", "priorityclasses", "", &wanted);
        if found.is_none() {
            return forbidden(&format!("no PriorityClass with name {wanted} was found"));
        }
        found
    };
    let value = class.as_ref().and_then(|class| class["value"].as_i64()).unwrap_or(0);
    let policy = class
        .as_ref()
        .and_then(|class| class["preemptionPolicy"].as_str())
        .unwrap_or("PreemptLowerPriority")
        .to_owned();
    if let Some(given) = pod["spec"]["priority"].as_i64()
        && given != value
    {
        return forbidden(&format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
        ));
    }
    if let Some(given) = pod["spec"]["preemptionPolicy"].as_str()
        && given != policy
    {
        return forbidden(&format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
        ));
    }
    pod["spec"]["priority"] = value.into();
    pod["spec"]["preemptionPolicy"] = policy.into();
    Ok(())
}
