//! `pods/eviction`: a delete that respects disruption budgets.

use std::sync::Arc;

use http::Response;
use serde_json::{Value, json};
use sluice_base::clock::Clock as _;
use sluice_base::time;

use super::success;
use crate::auth::User;
use crate::body::Body;
use crate::call::Call;
use crate::kind::ClusterView as _;
use crate::selector::LabelSelector;
use crate::status::Status;
use crate::store::GroupResource;
use crate::write::{DeleteOptions, Precondition, Writer};
use crate::{decode, metadata};

pub(super) async fn serve(call: &Call) -> Result<Response<Body>, Status> {
    let query_dry_run = call.dry_run()?;
    let eviction = decode::parse(call.content_type(), &call.body)?.into_value();
    let name = &call.info.name;
    let given = metadata::name(&eviction);
    if !given.is_empty() && given != name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let key = crate::store::key(&call.info.namespace, name);
    let pod = call
        .state
        .store
        .get(&call.resource.storage, &key)
        .ok_or_else(|| call.resource.not_found(name))?;
    let options = &eviction["deleteOptions"];
    let dry_run =
        query_dry_run || options["dryRun"].as_array().is_some_and(|list| !list.is_empty());
    if let Some(budget) = sparing_budget(call, &pod.value)? {
        charge(call, &budget, name, dry_run).await?;
    }
    let delete = DeleteOptions {
        grace_period: options["gracePeriodSeconds"].as_i64(),
        uid: options["preconditions"]["uid"].as_str().map(str::to_owned),
        ..DeleteOptions::default()
    };
    let manager = call.manager();
    let writer = Writer { subresource: "", ..call.writer(&manager, dry_run) };
    writer.delete(name, &delete).await?;
    Ok(success(call))
}

/// The budget of a pod, if it allows a disruption; an error if it does not.
fn sparing_budget(call: &Call, pod: &Value) -> Result<Option<Arc<Value>>, Status> {
    if matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending")) {
        return Ok(None);
    }
    let budgets: Vec<_> = call
        .state
        .list("policy", "poddisruptionbudgets", Some(&call.info.namespace))
        .into_iter()
        .filter(|budget| {
            LabelSelector::from_object(&budget["spec"]["selector"])
                .is_some_and(|selector| selector.matches(pod))
        })
        .collect();
    match budgets.as_slice() {
        [] => Ok(None),
        [budget] if budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0) > 0 => {
            Ok(Some(budget.clone()))
        }
        [budget] => {
            let name = metadata::name(budget);
            let observed = budget["status"]["observedGeneration"].as_i64().unwrap_or(0);
            let generation = metadata::of(budget).get("generation").and_then(Value::as_i64);
            if observed < generation.unwrap_or(0) {
                return Err(unprocessed(name));
            }
            let healthy = budget["status"]["currentHealthy"].as_i64().unwrap_or(0);
            let desired = budget["status"]["desiredHealthy"].as_i64().unwrap_or(0);
            let message = format!(
                "The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
            );
            let status = Status::new(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
            );
            Err(status.with_details(json!({
                "causes": [{"reason": "DisruptionBudget", "message": message}],
            })))
        }
        _ => Err(Status::internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        )),
    }
}

/// Decrements `disruptionsAllowed` and records the pod, so that two concurrent evictions cannot both
/// use it.
async fn charge(call: &Call, budget: &Value, pod: &str, dry_run: bool) -> Result<(), Status> {
    let budgets = GroupResource::new("policy", "poddisruptionbudgets");
    let Some(resource) = call.state.registry.stored(&budgets) else { return Ok(()) };
    let now = time::format_seconds(call.state.clock.now());
    let user = User::in_groups("system:apiserver", &["system:masters"]);
    let writer = Writer {
        state: &call.state,
        resource: &resource,
        namespace: &call.info.namespace,
        subresource: "status",
        user: &user,
        manager: "kube-apiserver",
        named: "",
        dry_run,
    };
    let spend = &mut |budget: &Value| {
        let mut budget = budget.clone();
        let left = budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0) - 1;
        budget["status"]["disruptionsAllowed"] = left.into();
        budget["status"]["disruptedPods"][pod] = now.as_str().into();
        if left == 0 {
            set_exhausted(&mut budget, &now);
        }
        Ok(budget)
    };
    writer.update(metadata::name(budget), Precondition::Computed, false, spend).await.map(|_| ())
}

/// The condition of a budget that allows no further disruption.
fn set_exhausted(budget: &mut Value, now: &str) {
    let generation = metadata::of(budget).get("generation").cloned().unwrap_or_default();
    let mut conditions: Vec<Value> =
        budget["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let since = conditions
        .iter()
        .find(|found| found["type"] == "DisruptionAllowed" && found["status"] == "False")
        .and_then(|found| found["lastTransitionTime"].as_str())
        .unwrap_or(now)
        .to_owned();
    conditions.retain(|found| found["type"] != "DisruptionAllowed");
    conditions.push(json!({
        "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods",
        "message": "", "observedGeneration": generation, "lastTransitionTime": since,
    }));
    budget["status"]["conditions"] = conditions.into();
}

/// 429: the disruption controller has not processed the budget yet.
fn unprocessed(name: &str) -> Status {
    let message = format!("The disruption budget {name} is still being processed by the server.");
    let status = Status::new(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
    );
    status.with_details(json!({
        "causes": [{"reason": "DisruptionBudget", "message": message}],
        "retryAfterSeconds": 10,
    }))
}
