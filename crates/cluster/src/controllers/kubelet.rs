//! The kubelets of all nodes: they run the pods that were assigned to them, or act as if.
//!
//! Like a real one, a kubelet knows more about its pods than their status says (when the next thing
//! is due, which images are there), and that is kept here. Nothing else is: the status is written
//! whenever it differs from what the life of the pod makes it.

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
    lives: BTreeMap<Key, PodState>,
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
            let life = self.lock().lives.remove(key);
            let pod = control.object(key);
            let Some(pod) = pod.filter(|pod| !value::text(pod, "spec.nodeName").is_empty()) else {
                if let Some(life) = life {
                    self.lock().release(&life);
                }
                return Next::Wait;
            };
            let node = Key::new("", "nodes", "", value::text(&pod, "spec.nodeName"));
            let Some(node) = control.object(&node) else {
                remove(control, key, &pod).await;
                return Next::Wait;
            };
            let life = match life {
                Some(life) if life.uid == metadata::uid(&pod) => life,
                _ => PodState::new(control, &pod, nodes::address(&node)),
            };
            self.live(control, key, pod, life).await
        })
    }
}

impl Kubelet {
    fn lock(&self) -> std::sync::MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what is due in the life of a pod and writes down how it is.
    async fn live(&self, control: &Control, key: &Key, pod: Object, mut life: PodState) -> Next {
        if pods::is_finished(&pod) && !metadata::is_terminating(&pod) {
            self.lock().release(&life);
            return Next::Wait;
        }
        if metadata::is_terminating(&pod) {
            life.begin_stop(control, &pod).await;
        }
        while let Some((unit, step)) = life.due(control) {
            if step == Step::Gone {
                life.write(control, key).await;
                self.lock().release(&life);
                remove(control, key, &pod).await;
                return Next::Wait;
            }
            self.take_step(control, &pod, &mut life, unit, step).await;
        }
        life.write(control, key).await;
        let next = life.next_due().map_or(Next::Wait, Next::At);
        self.lock().lives.insert(key.clone(), life);
        next
    }

    async fn take_step(
        &self,
        control: &Control,
        pod: &Value,
        life: &mut PodState,
        unit: usize,
        step: Step,
    ) {
        match step {
            Step::Sandbox => {
                if let Some(lack) = needs::missing_volume(control, pod) {
                    life.tell(control, pod, NewEvent::warning("FailedMount", &lack)).await;
                    life.retry_sandbox(control);
                    return;
                }
                if !value::flag(pod, "spec.hostNetwork") {
                    life.address = self.lock().lease(&life.node);
                }
                life.sandbox_made(control);
            }
            Step::Pull => {
                let present = self.lock().images.contains(&life.image_key(unit));
                life.pull(control, pod, unit, present).await;
            }
            Step::Pulled(micros) => {
                let key = life.image_key(unit);
                self.lock().images.insert(key);
                life.pulled(control, pod, unit, micros).await;
            }
            Step::PullFailed => life.pull_failed(control, pod, unit).await,
            Step::PullBackOff => life.pull_back_off(control, pod, unit).await,
            Step::Start => life.start(control, pod, unit).await,
            Step::Ready => life.units[unit].ready = true,
            Step::Unready => life.unready(control, pod, unit).await,
            Step::Exit(code, reason) => life.exit(control, unit, code, reason),
            Step::CrashBackOff(seconds) => life.crash_back_off(control, pod, unit, seconds).await,
            Step::Stopped => life.stopped(control),
            Step::Gone => {}
        }
    }
}

impl Inside {
    /// An address on a node.
    fn lease(&mut self, node: &str) -> String {
        let (taken, next) = self.addresses.entry(node.to_owned()).or_insert((BTreeSet::new(), 2));
        // 2..=254 are addresses of pods; after the last comes the first again.
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

    fn release(&mut self, life: &PodState) {
        let octet = life.address.rsplit('.').next().and_then(|octet| octet.parse().ok());
        if let Some((taken, _)) = self.addresses.get_mut(&life.node)
            && let Some(octet) = octet
        {
            taken.remove(&octet);
        }
    }
}

/// Takes a pod away whose containers are gone.
async fn remove(control: &Control, key: &Key, pod: &Value) {
    let options = DeleteOptions { grace_period: Some(0), ..DeleteOptions::default() };
    let _ = control.delete(KUBELET, key, options, metadata::uid(pod)).await;
}

impl PodState {
    /// Records an Event as the kubelet of the pod's node.
    async fn tell(&self, control: &Control, pod: &Value, word: NewEvent<'_>) {
        let teller = EventSource { actor: KUBELET, component: "kubelet", host: &self.node };
        control.tell(teller, pod, word).await;
    }

    /// Records an Event about a container.
    async fn tell_unit(&self, control: &Control, pod: &Value, unit: usize, word: NewEvent<'_>) {
        let unit = &self.units[unit];
        let part = format!("spec.{}{{{}}}", unit.list, unit.name);
        self.tell(control, pod, word.about(&part)).await;
    }
}
