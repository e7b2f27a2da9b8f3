//! `pods/eviction`: a delete that asks the disruption budgets first.

use http::Response;
use serde_json::{Value, json};

use super::success;
use crate::body::Body;
use crate::call::Call;
use crate::kind::World as _;
use crate::selector::LabelSelector;
use crate::status::Status;
use crate::write::DeleteOptions;
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
    check_budgets(call, &pod.value)?;
    let delete = DeleteOptions {
        grace_period: options["gracePeriodSeconds"].as_i64(),
        uid: options["preconditions"]["uid"].as_str().map(str::to_owned),
        ..DeleteOptions::default()
    };
    let manager = call.manager();
    let writer = crate::write::Writer { subresource: "", ..call.writer(&manager, dry_run) };
    writer.delete(name, &delete).await?;
    Ok(success(call))
}

/// A pod that is covered by a budget goes only if the budget allows one more.
fn check_budgets(call: &Call, pod: &Value) -> Result<(), Status> {
    if matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending")) {
        return Ok(());
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
        [] => Ok(()),
        [budget] if budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0) > 0 => Ok(()),
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

/// 429: nobody has counted yet how many pods the budget has.
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
