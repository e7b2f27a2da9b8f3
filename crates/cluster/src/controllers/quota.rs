//! ResourceQuotas: `status.used` beside `status.hard`.

use serde_json::{Map, Value, json};
use sluice_base::quantity::{Format, Quantity};

use super::control::{Actor, CONTROLLER_MANAGER, Control};
use super::{Controller, Key, Next, Reconcile, pods};
use crate::store::{Change, Event, GroupResource};
use crate::{metadata, value};

const ACTOR: Actor = Actor {
    user: "system:serviceaccount:kube-system:resourcequota-controller",
    manager: CONTROLLER_MANAGER.manager,
};

/// The quota controller.
pub(super) struct QuotaController;

impl Controller for QuotaController {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        if resource.group.is_empty() && resource.resource == "resourcequotas" {
            return vec![Key::of(resource, &event.key)];
        }
        let key = Key::of(resource, &event.key);
        let counts = event.change != Change::Modified
            || (resource.resource == "pods" && pods::is_finished(&event.object.value));
        if key.namespace.is_empty() || !counts || resource.resource == "events" {
            return Vec::new();
        }
        control
            .objects("", "resourcequotas", Some(&key.namespace))
            .iter()
            .map(|quota| Key::new("", "resourcequotas", &key.namespace, metadata::name(quota)))
            .collect()
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(quota) = control.object(key) else { return Next::Wait };
            let hard = value::entries(&quota, "spec.hard");
            let used: Map<String, Value> = hard
                .keys()
                .map(|name| (name.clone(), used(control, &key.namespace, name).into()))
                .collect();
            let status = json!({"hard": hard, "used": used});
            if !value::same(&status, &quota["status"]) {
                let _ = control
                    .update(ACTOR, key, "status", &mut |quota| quota["status"] = status.clone())
                    .await;
            }
            Next::Wait
        })
    }
}

/// The used amount of a resource in a namespace, as text.
fn used(control: &Control, namespace: &str, name: &str) -> String {
    if let Some(counted) = name.strip_prefix("count/") {
        let (plural, group) = counted.split_once('.').unwrap_or((counted, ""));
        return control.objects(group, plural, Some(namespace)).len().to_string();
    }
    let services = |test: &dyn Fn(&Value) -> usize| {
        let all = control.objects("", "services", Some(namespace));
        all.iter().map(|service| test(service)).sum::<usize>().to_string()
    };
    match name {
        "pods" => active(control, namespace).len().to_string(),
        "services.loadbalancers" => {
            services(&|service| usize::from(service["spec"]["type"] == "LoadBalancer"))
        }
        "services.nodeports" => services(&|service| {
            if matches!(value::text(service, "spec.type"), "NodePort" | "LoadBalancer") {
                value::list(service, "spec.ports").len()
            } else {
                0
            }
        }),
        "requests.storage" => sum(control
            .objects("", "persistentvolumeclaims", Some(namespace))
            .iter()
            .map(|claim| claim["spec"]["resources"]["requests"]["storage"].clone())),
        "services"
        | "configmaps"
        | "secrets"
        | "persistentvolumeclaims"
        | "replicationcontrollers"
        | "resourcequotas" => control.objects("", name, Some(namespace)).len().to_string(),
        _ => {
            let (kind, resource) = match name.split_once('.') {
                Some((kind @ ("requests" | "limits"), resource)) => (kind, resource),
                _ => ("requests", name),
            };
            let values: Vec<Value> = active(control, namespace)
                .iter()
                .flat_map(|pod| value::list(pod, "spec.containers").to_vec())
                .map(|container| container["resources"][kind][resource].clone())
                .collect();
            sum(values.into_iter())
        }
    }
}

fn active(control: &Control, namespace: &str) -> Vec<super::control::Object> {
    let mut found = control.objects("", "pods", Some(namespace));
    found.retain(|pod| !pods::is_finished(pod));
    found
}

fn sum(values: impl Iterator<Item = Value>) -> String {
    let mut total: Option<Quantity> = None;
    for value in values {
        let Some(quantity) = value.as_str().and_then(|text| Quantity::parse(text).ok()) else {
            continue;
        };
        total = match total {
            Some(total) => total.checked_add(&quantity).or(Some(total)),
            None => Some(quantity),
        };
    }
    total.unwrap_or_else(|| Quantity::from_integer(0, Format::DecimalSi)).to_string()
}
