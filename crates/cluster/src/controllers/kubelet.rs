//! The simulated kubelets of all nodes.
//!
//! Like a real one, a kubelet knows more about its pods than their status shows (when the next step is
//! due, which images are on the node). Only that is kept here; the status is written whenever it
//! differs from the one that follows from the pod state.

mod behaviour;
mod needs;
mod pod_state;
mod start;
mod status;
mod stop;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use self::pod_state::{PodState, Step};
use super::control::{Control, Object};
use super::nodes::KUBELET;
use super::recorder::{EventSource, NewEvent};
use super::{Controller, Key, Next, Reconcile, nodes, pods};
use crate::store::{Event, GroupResource};
use crate::write::DeleteOptions;
use crate::{metadata, value};

/// The kubelets.
#[derive(Default)]
pub(super) struct Kubelet {
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    pods: BTreeMap<Key, PodState>,
    /// The images that are on each node.
    images: BTreeSet<(String, String)>,
    /// The last octet of the addresses that are taken on each node, and where to look next.
    addresses: BTreeMap<String, (BTreeSet<u8>, u8)>,
}

impl Controller for Kubelet {
    fn wakes(&self, _: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        let is_pod = resource.group.is_empty() && resource.resource == "pods";
        if is_pod && !value::text(&event.object.value, "spec.nodeName").is_empty() {
            return vec![Key::of(resource, &event.key)];
        }
        Vec::new()
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let pod_state = self.lock().pods.remove(key);
            let pod = control.object(key);
            let Some(pod) = pod.filter(|pod| !value::text(pod, "spec.nodeName").is_empty()) else {
                if let Some(pod_state) = pod_state {
                    self.lock().release(&pod_state);
                }
                return Next::Wait;
            };
            let node = Key::new("", "nodes", "", value::text(&pod, "spec.nodeName"));
            let Some(node) = control.object(&node) else {
                remove(control, key, &pod).await;
                return Next::Wait;
            };
            let pod_state = match pod_state {
                Some(pod_state) if pod_state.uid == metadata::uid(&pod) => pod_state,
                _ => PodState::new(control, &pod, nodes::address(&node)),
            };
            self.advance(control, key, pod, pod_state).await
        })
    }
}

impl Kubelet {
    fn lock(&self) -> std::sync::MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the steps of a pod that are due and writes its status.
    async fn advance(
        &self,
        control: &Control,
        key: &Key,
        pod: Object,
        mut pod_state: PodState,
    ) -> Next {
        if pods::is_finished(&pod) && !metadata::is_terminating(&pod) {
            self.lock().release(&pod_state);
            return Next::Wait;
        }
        if metadata::is_terminating(&pod) {
            pod_state.begin_stop(control, &pod).await;
        }
        while let Some((unit, step)) = pod_state.due(control) {
            if step == Step::Gone {
                pod_state.write(control, key).await;
                self.lock().release(&pod_state);
                remove(control, key, &pod).await;
                return Next::Wait;
            }
            self.take_step(control, &pod, &mut pod_state, unit, step).await;
        }
        pod_state.write(control, key).await;
        let next = pod_state.next_due().map_or(Next::Wait, Next::At);
        self.lock().pods.insert(key.clone(), pod_state);
        next
    }

    async fn take_step(
        &self,
        control: &Control,
        pod: &Value,
        pod_state: &mut PodState,
        unit: usize,
        step: Step,
    ) {
        match step {
            Step::Sandbox => {
                if let Some(lack) = needs::missing_volume(control, pod) {
                    pod_state.record(control, pod, NewEvent::warning("FailedMount", &lack)).await;
                    pod_state.retry_sandbox(control);
                    return;
                }
                if !value::flag(pod, "spec.hostNetwork") {
                    pod_state.address = self.lock().lease(&pod_state.node);
                }
                pod_state.sandbox_made(control);
            }
            Step::Pull => {
                let present = self.lock().images.contains(&pod_state.image_key(unit));
                pod_state.pull(control, pod, unit, present).await;
            }
            Step::Pulled(micros) => {
                let key = pod_state.image_key(unit);
                self.lock().images.insert(key);
                pod_state.pulled(control, pod, unit, micros).await;
            }
            Step::PullFailed => pod_state.pull_failed(control, pod, unit).await,
            Step::PullBackOff => pod_state.pull_back_off(control, pod, unit).await,
            Step::Start => pod_state.start(control, pod, unit).await,
            Step::Ready => pod_state.units[unit].ready = true,
            Step::Unready => pod_state.unready(control, pod, unit).await,
            Step::Exit(code, reason) => pod_state.exit(control, unit, code, reason),
            Step::CrashBackOff(seconds) => {
                pod_state.crash_back_off(control, pod, unit, seconds).await;
            }
            Step::Stopped => pod_state.stopped(control),
            Step::Gone => {}
        }
    }
}

impl Inside {
    /// Leases a pod address on a node.
    fn lease(&mut self, node: &str) -> String {
        let (taken, next) = self.addresses.entry(node.to_owned()).or_insert((BTreeSet::new(), 2));
        // 2..=254 are pod addresses; after the last comes the first again.
        for _ in 2..=254_u8 {
            let candidate = *next;
            *next = if candidate >= 254 { 2 } else { candidate + 1 };
            if taken.insert(candidate) {
                let subnet = node.rsplit('-').next().and_then(|text| text.parse::<u8>().ok());
                return format!("10.244.{}.{candidate}", subnet.unwrap_or(0));
            }
        }
        String::new()
    }

    fn release(&mut self, pod_state: &PodState) {
        let octet = pod_state.address.rsplit('.').next().and_then(|octet| octet.parse().ok());
        if let Some((taken, _)) = self.addresses.get_mut(&pod_state.node)
            && let Some(octet) = octet
        {
            taken.remove(&octet);
        }
    }
}

/// Removes a pod after its containers have stopped.
async fn remove(control: &Control, key: &Key, pod: &Value) {
    let options = DeleteOptions { grace_period: Some(0), ..DeleteOptions::default() };
    let _ = control.delete(KUBELET, key, options, metadata::uid(pod)).await;
}

impl PodState {
    /// Records an Event as the kubelet of the pod's node.
    async fn record(&self, control: &Control, pod: &Value, event: NewEvent<'_>) {
        let source = EventSource { actor: KUBELET, component: "kubelet", host: &self.node };
        control.record(source, pod, event).await;
    }

    /// Records an Event about a container.
    async fn record_for(&self, control: &Control, pod: &Value, unit: usize, event: NewEvent<'_>) {
        let unit = &self.units[unit];
        let part = format!("spec.{}{{{}}}", unit.list, unit.name);
        self.record(control, pod, event.about(&part)).await;
    }
}
