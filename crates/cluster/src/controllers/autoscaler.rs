//! HorizontalPodAutoscalers. There are no metrics; an annotation can replace them.
//!
//! `sluice.dev/simulate-utilization: "80"` on the autoscaler is the utilization, in percent, that
//! its first resource metric measures.

use serde_json::{Value, json};

use super::control::{Actor, CONTROLLER_MANAGER, Control, Object};
use super::recorder::{EventSource, NewEvent};
use super::{Controller, Key, Next, Reconcile, condition};
use crate::store::{Event, GroupResource};
use crate::{metadata, value};

const SOURCE: EventSource<'static> = EventSource {
    actor: Actor {
        user: "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
        manager: CONTROLLER_MANAGER.manager,
    },
    component: "horizontal-pod-autoscaler",
    host: "",
};
const UTILIZATION: &str = "sluice.dev/simulate-utilization";
const GROUP: &str = "autoscaling";
const PLURAL: &str = "horizontalpodautoscalers";

/// The autoscaler.
pub(super) struct Autoscaler;

impl Controller for Autoscaler {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        if resource.group == GROUP && resource.resource == PLURAL {
            return vec![Key::of(resource, &event.key)];
        }
        let scales = matches!(
            (resource.group.as_str(), resource.resource.as_str()),
            ("apps", "deployments" | "replicasets" | "statefulsets")
                | ("", "replicationcontrollers")
        );
        if !scales {
            return Vec::new();
        }
        let object = &event.object.value;
        control
            .objects(GROUP, PLURAL, Some(metadata::namespace(object)))
            .iter()
            .filter(|scaler| {
                let target = &scaler["spec"]["scaleTargetRef"];
                target["kind"] == object["kind"] && target["name"] == metadata::name(object)
            })
            .map(|scaler| {
                Key::new(GROUP, PLURAL, metadata::namespace(scaler), metadata::name(scaler))
            })
            .collect()
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(scaler) = control.object(key) else { return Next::Wait };
            if !metadata::is_terminating(&scaler) {
                scale(control, key, &scaler).await;
            }
            Next::Wait
        })
    }
}

fn plural(kind: &str) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        "Deployment" => ("apps", "deployments"),
        "ReplicaSet" => ("apps", "replicasets"),
        "StatefulSet" => ("apps", "statefulsets"),
        "ReplicationController" => ("", "replicationcontrollers"),
        _ => return None,
    })
}

async fn scale(control: &Control, key: &Key, scaler: &Object) {
    let now = control.now();
    let target = &scaler["spec"]["scaleTargetRef"];
    let name = value::text(target, "name");
    let kind = plural(value::text(target, "kind"));
    let target_key = kind.map(|(group, plural)| Key::new(group, plural, &key.namespace, name));
    let found = target_key.as_ref().and_then(|key| control.object(key));
    let mut status = scaler["status"].clone();
    let (Some(target_key), Some(found)) = (target_key, found) else {
        let resource = kind.map_or_else(
            || value::text(target, "kind").to_owned(),
            |(group, plural)| crate::status::group_resource(group, plural),
        );
        let why = format!("{resource} \"{name}\" not found");
        let message =
            format!("the HPA controller was unable to get the target's current scale: {why}");
        condition::set(&mut status, "AbleToScale", "False", "FailedGetScale", &message, &now);
        status["desiredReplicas"] = 0.into();
        write(control, key, scaler, status).await;
        control.record(SOURCE, scaler, NewEvent::warning("FailedGetScale", &why)).await;
        return;
    };
    let current = value::int(&found, "spec.replicas").unwrap_or(1);
    let least = value::int(scaler, "spec.minReplicas").unwrap_or(1);
    let most = value::int(scaler, "spec.maxReplicas").unwrap_or(least);
    let message = "the HPA controller was able to get the target's current scale";
    condition::set(&mut status, "AbleToScale", "True", "SucceededGetScale", message, &now);
    let mut wanted = current;
    if current == 0 && least != 0 {
        let message = "scaling is disabled since the replica count of the target is zero";
        condition::set(&mut status, "ScalingActive", "False", "ScalingDisabled", message, &now);
    } else if current > most {
        wanted = most;
    } else if current < least {
        wanted = least;
    } else {
        let measured = measure(control, scaler, current, least, most, &mut status, &now).await;
        status["currentReplicas"] = current.into();
        let Some(measured) = measured else {
            // Upstream leaves the metrics it could not read as empty entries.
            status["desiredReplicas"] = 0.into();
            status["currentMetrics"] = json!([{"type": ""}]);
            write(control, key, scaler, status).await;
            return;
        };
        wanted = measured;
    }
    status["currentReplicas"] = current.into();
    status["desiredReplicas"] = wanted.into();
    if wanted != current {
        let resized = control
            .update(SOURCE.actor, &target_key, "scale", &mut |object| {
                object["spec"]["replicas"] = wanted.into();
            })
            .await;
        if resized.is_ok() {
            let message =
                format!("the HPA controller was able to update the target scale to {wanted}");
            condition::set(&mut status, "AbleToScale", "True", "SucceededRescale", &message, &now);
            status["lastScaleTime"] = now.as_str().into();
            let reason = if current > most {
                "Current number of replicas above Spec.MaxReplicas"
            } else if current < least {
                "Current number of replicas below Spec.MinReplicas"
            } else {
                "cpu resource utilization (percentage of request) above target"
            };
            let message = format!("New size: {wanted}; reason: {reason}");
            control.record(SOURCE, scaler, NewEvent::normal("SuccessfulRescale", &message)).await;
        }
    }
    write(control, key, scaler, status).await;
}

/// The replicas that the metric asks for, if there is one.
async fn measure(
    control: &Control,
    scaler: &Value,
    current: i64,
    least: i64,
    most: i64,
    status: &mut Value,
    now: &str,
) -> Option<i64> {
    let metric = value::list(scaler, "spec.metrics").first();
    let resource = metric.map_or("cpu", |metric| value::text(metric, "resource.name"));
    let goal = metric.and_then(|metric| value::int(metric, "resource.target.averageUtilization"));
    let measured = metadata::entry(scaler, "annotations", UTILIZATION)
        .and_then(|text| text.parse::<i64>().ok());
    let (Some(measured), Some(goal)) = (measured, goal.filter(|goal| *goal > 0)) else {
        let why = format!(
            "failed to get {resource} utilization: unable to get metrics for resource {resource}: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)"
        );
        let message = format!("the HPA was unable to compute the replica count: {why}");
        let reason = "FailedGetResourceMetric";
        condition::set(status, "ScalingActive", "False", reason, &message, now);
        control.record(SOURCE, scaler, NewEvent::warning(reason, &why)).await;
        let metrics = value::list(scaler, "spec.metrics").len().max(1);
        let why = format!(
            "invalid metrics ({metrics} invalid out of {metrics}), first error is: failed to get {resource} resource metric value: {why}"
        );
        control
            .record(SOURCE, scaler, NewEvent::warning("FailedComputeMetricsReplicas", &why))
            .await;
        return None;
    };
    let message = format!(
        "the HPA was able to successfully calculate a replica count from {resource} resource utilization (percentage of request)"
    );
    condition::set(status, "ScalingActive", "True", "ValidMetricFound", &message, now);
    status["currentMetrics"] = json!([{"type": "Resource", "resource": {
        "name": resource, "current": {"averageUtilization": measured, "averageValue": "0"},
    }}]);
    // Within a tenth of the target nothing changes.
    let near = (measured - goal).abs() * 10 <= goal;
    let wanted = if near { current } else { (current * measured + goal - 1) / goal };
    let (state, reason, message) = if wanted > most {
        (
            "True",
            "TooManyReplicas",
            "the desired replica count is more than the maximum replica count",
        )
    } else if wanted < least {
        (
            "True",
            "TooFewReplicas",
            "the desired replica count is less than the minimum replica count",
        )
    } else {
        ("False", "DesiredWithinRange", "the desired count is within the acceptable range")
    };
    condition::set(status, "ScalingLimited", state, reason, message, now);
    Some(wanted.clamp(least, most))
}

async fn write(control: &Control, key: &Key, scaler: &Value, status: Value) {
    if value::same(&status, &scaler["status"]) {
        return;
    }
    let _ = control
        .update(SOURCE.actor, key, "status", &mut |scaler| scaler["status"] = status.clone())
        .await;
}
