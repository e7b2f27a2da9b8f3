//! EndpointSlices and Endpoints: the addresses of the pods of a Service.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::control::{Actor, CONTROLLER_MANAGER, Control, Object};
use super::{Controller, Key, Next, Reconcile, pods};
use crate::selector::LabelSelector;
use crate::store::{Event, GroupResource};
use crate::write::DeleteOptions;
use crate::{metadata, value};

const SLICES: Actor = Actor {
    user: "system:serviceaccount:kube-system:endpointslice-controller",
    manager: CONTROLLER_MANAGER.manager,
};
const ENDPOINTS: Actor = Actor {
    user: "system:serviceaccount:kube-system:endpoint-controller",
    manager: CONTROLLER_MANAGER.manager,
};
const SERVICE_LABEL: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const SLICE_CONTROLLER: &str = "endpointslice-controller.k8s.io";
const TRIGGER: &str = "endpoints.kubernetes.io/last-change-trigger-time";
const HEADLESS: &str = "service.kubernetes.io/headless";
/// The number of endpoints in a slice.
const SLICE_SIZE: usize = 100;

/// The controllers of EndpointSlices and of Endpoints.
pub(super) struct EndpointsController;

impl Controller for EndpointsController {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        let object = &event.object.value;
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("", "services") => vec![Key::of(resource, &event.key)],
            ("discovery.k8s.io", "endpointslices") => {
                let managed = metadata::entry(object, "labels", MANAGED_BY);
                let service = metadata::entry(object, "labels", SERVICE_LABEL);
                service
                    .filter(|_| managed == Some(SLICE_CONTROLLER))
                    .map(|name| Key::new("", "services", metadata::namespace(object), name))
                    .into_iter()
                    .collect()
            }
            ("", "pods") => {
                let before = event.previous.as_ref().map(|previous| &previous.value);
                if before.is_some_and(|before| !changed(before, object))
                    && event.change == crate::store::Change::Modified
                {
                    return Vec::new();
                }
                control.selecting("", "services", &event.states(), selector)
            }
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(service) = control.object(key) else {
                // Slices are garbage-collected with the Service; Endpoints have no owner reference.
                let stale = Key::new("", "endpoints", &key.namespace, &key.name);
                if let Some(object) = control.object(&stale)
                    && metadata::entry(&object, "labels", "endpoints.kubernetes.io/managed-by")
                        .is_some()
                {
                    let uid = metadata::uid(&object).to_owned();
                    let options = DeleteOptions::default();
                    let _ = control.delete(ENDPOINTS, &stale, options, &uid).await;
                }
                return Next::Wait;
            };
            let Some(selector) = selector(&service) else { return Next::Wait };
            let mut pods = control.selected("", "pods", &key.namespace, &selector);
            pods.retain(|pod| {
                !pods::is_finished(pod) && !value::text(pod, "status.podIP").is_empty()
            });
            sync_slices(control, &service, &pods).await;
            sync_endpoints(control, key, &service, &pods).await;
            Next::Wait
        })
    }
}

/// Whether a pod's change can affect the endpoints of a Service.
fn changed(before: &Value, after: &Value) -> bool {
    before["metadata"]["labels"] != after["metadata"]["labels"]
        || metadata::is_terminating(before) != metadata::is_terminating(after)
        || value::at(before, "status.podIP") != value::at(after, "status.podIP")
        || pods::is_ready(before) != pods::is_ready(after)
        || pods::phase(before) != pods::phase(after)
}

/// The selector of a Service; endpoints of a Service without one are managed by others.
fn selector(service: &Value) -> Option<LabelSelector> {
    let labels = value::at(service, "spec.selector");
    let external = service["spec"]["type"] == "ExternalName";
    if value::is_zero(labels) || external {
        return None;
    }
    LabelSelector::from_object(&json!({"matchLabels": labels}))
}

fn is_headless(service: &Value) -> bool {
    service["spec"]["clusterIP"] == "None"
}

/// The number of a Service's port in one pod.
fn target(port: &Value, pod: &Value) -> Option<i64> {
    match &port["targetPort"] {
        Value::String(name) => value::list(pod, "spec.containers")
            .iter()
            .flat_map(|container| value::list(container, "ports"))
            .find(|found| found["name"] == **name)
            .and_then(|found| value::int(found, "containerPort")),
        other => other.as_i64().filter(|number| *number != 0).or(value::int(port, "port")),
    }
}

fn ports_for(service: &Value, pod: &Value) -> Vec<Value> {
    let ports = value::list(service, "spec.ports").iter().filter_map(|port| {
        let mut out = json!({
            "name": value::text(port, "name"),
            "port": target(port, pod)?,
            "protocol": match value::text(port, "protocol") { "" => "TCP", protocol => protocol },
        });
        if let Some(protocol) = port.get("appProtocol") {
            out["appProtocol"] = protocol.clone();
        }
        Some(out)
    });
    ports.collect()
}

fn reference(pod: &Value) -> Value {
    json!({
        "kind": "Pod", "namespace": metadata::namespace(pod), "name": metadata::name(pod),
        "uid": metadata::uid(pod),
    })
}

/// The labels that are copied from a Service.
fn labels(service: &Value) -> Map<String, Value> {
    let mut labels = value::entries(service, "metadata.labels").clone();
    if is_headless(service) {
        labels.insert(HEADLESS.to_owned(), "".into());
    }
    labels
}

fn endpoint(service: &Value, pod: &Value) -> Value {
    let tolerant = value::flag(service, "spec.publishNotReadyAddresses");
    let serving = pods::is_ready(pod);
    let leaving = metadata::is_terminating(pod);
    let mut out = json!({
        "addresses": [value::text(pod, "status.podIP")],
        "conditions": {
            "ready": tolerant || (serving && !leaving), "serving": serving, "terminating": leaving,
        },
        "targetRef": reference(pod),
    });
    let node = value::text(pod, "spec.nodeName");
    if !node.is_empty() {
        out["nodeName"] = node.into();
    }
    let hostname = value::text(pod, "spec.hostname");
    if !hostname.is_empty() && value::text(pod, "spec.subdomain") == metadata::name(service) {
        out["hostname"] = hostname.into();
    }
    out
}

async fn sync_slices(control: &Control, service: &Object, pods: &[Object]) {
    let namespace = metadata::namespace(service);
    let mut by_ports: BTreeMap<String, (Vec<Value>, Vec<Value>)> = BTreeMap::new();
    let placed = pods.iter().filter(|pod| !value::text(pod, "spec.nodeName").is_empty());
    for pod in placed {
        let ports = ports_for(service, pod);
        let entry = by_ports.entry(Value::from(ports.clone()).to_string());
        entry.or_insert_with(|| (ports, Vec::new())).1.push(endpoint(service, pod));
    }
    if by_ports.is_empty() {
        by_ports.insert(String::new(), (Vec::new(), Vec::new()));
    }
    let mut wanted = Vec::new();
    for (ports, endpoints) in by_ports.into_values() {
        if endpoints.is_empty() {
            wanted.push((ports.clone(), Vec::new()));
        }
        wanted.extend(endpoints.chunks(SLICE_SIZE).map(|chunk| (ports.clone(), chunk.to_vec())));
    }
    let ours = LabelSelector::equal(&[
        (SERVICE_LABEL, metadata::name(service)),
        (MANAGED_BY, SLICE_CONTROLLER),
    ]);
    let mut known = control.selected("discovery.k8s.io", "endpointslices", namespace, &ours);
    known.retain(|slice| !metadata::is_terminating(slice));
    let mut known = known.into_iter();
    let mut labels = labels(service);
    labels.insert(SERVICE_LABEL.to_owned(), metadata::name(service).into());
    labels.insert(MANAGED_BY.to_owned(), SLICE_CONTROLLER.into());
    let trigger = control.now();
    for (ports, endpoints) in wanted {
        // A list that was never set must have no owner, so it stays absent.
        let list = |items: Vec<Value>| if items.is_empty() { Value::Null } else { items.into() };
        let (ports, endpoints) = (list(ports), list(endpoints));
        let Some(slice) = known.next() else {
            let slice = json!({
                "metadata": {
                    "generateName": format!("{}-", metadata::name(service)),
                    "namespace": namespace,
                    "labels": labels,
                    "annotations": {TRIGGER: trigger},
                    "ownerReferences": [pods::controller_reference(service)],
                },
                "addressType": "IPv4",
                "endpoints": endpoints,
                "ports": ports,
            });
            let resource = GroupResource::new("discovery.k8s.io", "endpointslices");
            let _ = control.create(SLICES, &resource, namespace, slice).await;
            continue;
        };
        let same = value::same(&slice["endpoints"], &endpoints)
            && value::same(&slice["ports"], &ports)
            && slice["metadata"]["labels"] == json!(labels);
        if same {
            continue;
        }
        let key = slice_key(&slice);
        let _ = control
            .update(SLICES, &key, "", &mut |slice| {
                slice["endpoints"] = endpoints.clone();
                slice["ports"] = ports.clone();
                slice["metadata"]["labels"] = json!(labels);
                slice["metadata"]["annotations"][TRIGGER] = trigger.as_str().into();
            })
            .await;
    }
    for slice in known {
        let options = DeleteOptions::default();
        let _ = control.delete(SLICES, &slice_key(&slice), options, metadata::uid(&slice)).await;
    }
}

fn slice_key(slice: &Value) -> Key {
    let (namespace, name) = (metadata::namespace(slice), metadata::name(slice));
    Key::new("discovery.k8s.io", "endpointslices", namespace, name)
}

async fn sync_endpoints(control: &Control, key: &Key, service: &Value, pods: &[Object]) {
    let mut by_ports: BTreeMap<String, Value> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !metadata::is_terminating(pod)) {
        let mut ports = ports_for(service, pod);
        for port in &mut ports {
            if value::text(port, "name").is_empty() {
                value::remove(port, "name");
            }
        }
        let subset = by_ports
            .entry(Value::from(ports.clone()).to_string())
            .or_insert_with(|| if ports.is_empty() { json!({}) } else { json!({"ports": ports}) });
        let ready = pods::is_ready(pod) || value::flag(service, "spec.publishNotReadyAddresses");
        let list = if ready { "addresses" } else { "notReadyAddresses" };
        let mut address =
            json!({"ip": value::text(pod, "status.podIP"), "targetRef": reference(pod)});
        let node = value::text(pod, "spec.nodeName");
        if !node.is_empty() {
            address["nodeName"] = node.into();
        }
        let hostname = value::text(pod, "spec.hostname");
        if !hostname.is_empty() && value::text(pod, "spec.subdomain") == metadata::name(service) {
            address["hostname"] = hostname.into();
        }
        let mut addresses = value::list(subset, list).to_vec();
        addresses.push(address);
        addresses.sort_by_key(|address| value::text(address, "ip").to_owned());
        subset[list] = addresses.into();
    }
    let subsets: Vec<Value> = by_ports.into_values().collect();
    let mut labels = labels(service);
    labels.insert("endpoints.kubernetes.io/managed-by".to_owned(), "endpoint-controller".into());
    let trigger = control.now();
    let target = Key::new("", "endpoints", &key.namespace, &key.name);
    let Some(known) = control.object(&target) else {
        let mut endpoints = json!({
            "metadata": {
                "name": key.name, "namespace": key.namespace, "labels": labels,
                "annotations": {TRIGGER: trigger},
            },
        });
        if !subsets.is_empty() {
            endpoints["subsets"] = subsets.into();
        }
        let _ = control.create(ENDPOINTS, &target.resource, &key.namespace, endpoints).await;
        return;
    };
    let same = value::same(&known["subsets"], &json!(subsets))
        && known["metadata"]["labels"] == json!(labels);
    if same {
        return;
    }
    let _ = control
        .update(ENDPOINTS, &target, "", &mut |endpoints| {
            endpoints["subsets"] = json!(subsets);
            endpoints["metadata"]["labels"] = json!(labels);
            endpoints["metadata"]["annotations"][TRIGGER] = trigger.as_str().into();
        })
        .await;
}
