//! Addresses of load balancers and Ingresses, as a cloud and an ingress controller assign them.

use std::time::Duration;

use serde_json::{Value, json};

use super::control::{Actor, Control};
use super::recorder::{EventSource, NewEvent};
use super::{Controller, Key, Next, Reconcile};
use crate::store::{Change, Event, GroupResource};
use crate::{metadata, value};

const CLOUD: EventSource<'static> = EventSource {
    actor: Actor {
        user: "system:serviceaccount:kube-system:service-controller",
        manager: "cloud-controller-manager",
    },
    component: "service-controller",
    host: "",
};
const INGRESS: EventSource<'static> = EventSource {
    actor: Actor {
        user: "system:serviceaccount:kube-system:ingress-controller",
        manager: "ingress-controller",
    },
    component: "ingress-controller",
    host: "",
};
/// The address of all Ingresses.
const INGRESS_ADDRESS: &str = "192.0.2.10";

/// Assigns addresses to Services of type LoadBalancer and to Ingresses with a class, after a delay.
pub(super) struct AddressController;

impl Controller for AddressController {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        if event.change == Change::Deleted {
            return Vec::new();
        }
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("", "services") if event.object.value["spec"]["type"] == "LoadBalancer" => {
                vec![Key::of(resource, &event.key)]
            }
            ("networking.k8s.io", "ingresses") => vec![Key::of(resource, &event.key)],
            ("networking.k8s.io", "ingressclasses") => control
                .objects("networking.k8s.io", "ingresses", None)
                .iter()
                .map(|ingress| {
                    let (namespace, name) = (metadata::namespace(ingress), metadata::name(ingress));
                    Key::new("networking.k8s.io", "ingresses", namespace, name)
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    fn reaction(&self) -> (Duration, Duration) {
        (Duration::from_secs(1), Duration::from_secs(4))
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(object) = control.object(key) else { return Next::Wait };
            let has_address = !value::list(&object, "status.loadBalancer.ingress").is_empty();
            if has_address || metadata::is_terminating(&object) {
                return Next::Wait;
            }
            if key.resource.resource == "services" {
                balance(control, key, &object).await;
            } else {
                let class = value::text(&object, "spec.ingressClassName");
                let class = Key::new("networking.k8s.io", "ingressclasses", "", class);
                if control.object(&class).is_some() {
                    let address = json!([{"ip": INGRESS_ADDRESS}]);
                    write(control, INGRESS.actor, key, &address).await;
                }
            }
            Next::Wait
        })
    }
}

async fn balance(control: &Control, key: &Key, service: &Value) {
    if service["spec"]["type"] != "LoadBalancer"
        || !value::text(service, "spec.loadBalancerClass").is_empty()
    {
        return;
    }
    let taken: Vec<String> = control
        .objects("", "services", None)
        .iter()
        .flat_map(|service| value::list(service, "status.loadBalancer.ingress").to_vec())
        .map(|entry| value::text(&entry, "ip").to_owned())
        .collect();
    let wanted = value::text(service, "spec.loadBalancerIP");
    let free = (1..=254)
        .map(|number| format!("198.51.100.{number}"))
        .find(|address| !taken.contains(address));
    let address = if wanted.is_empty() { free } else { Some(wanted.to_owned()) };
    let Some(address) = address else { return };
    let event = NewEvent::normal("EnsuringLoadBalancer", "Ensuring load balancer");
    control.record(CLOUD, service, event).await;
    write(control, CLOUD.actor, key, &json!([{"ip": address, "ipMode": "VIP"}])).await;
    let event = NewEvent::normal("EnsuredLoadBalancer", "Ensured load balancer");
    control.record(CLOUD, service, event).await;
}

async fn write(control: &Control, actor: Actor, key: &Key, addresses: &Value) {
    let _ = control
        .update(actor, key, "status", &mut |object| {
            value::set(object, "status.loadBalancer.ingress", addresses.clone());
        })
        .await;
}
