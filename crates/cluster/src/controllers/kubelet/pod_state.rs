//! The state of a pod on its node: the states of its containers and the steps that are due.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use sluice_base::clock::Clock as _;

use super::behaviour::Behaviour;
use super::status;
use crate::controllers::Key;
use crate::controllers::control::Control;
use crate::controllers::nodes::KUBELET;
use crate::{metadata, value};

/// A step of a pod or of one of its containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The pod sandbox gets its network.
    Sandbox,
    /// Pulls an image.
    Pull,
    /// The image has been pulled, after so many microseconds.
    Pulled(u64),
    PullFailed,
    PullBackOff,
    Start,
    Ready,
    /// A readiness probe fails.
    Unready,
    /// The container exits by itself.
    Exit(i64, &'static str),
    /// A restart is delayed by so many seconds.
    CrashBackOff(u64),
    /// All containers have stopped.
    Stopped,
    /// The pod can be removed.
    Gone,
}

/// The state of a container.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    Waiting { reason: &'static str, message: String },
    Running { since: String },
    Ended { code: i64, state: Value },
}

/// One container.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) name: String,
    /// `containers` or `initContainers`.
    pub(super) list: &'static str,
    /// A restartable init container.
    pub(super) sidecar: bool,
    pub(super) spec: Value,
    pub(super) state: State,
    /// The last termination state.
    pub(super) last: Option<Value>,
    pub(super) ready: bool,
    pub(super) restarts: u32,
    /// The number of failed image pulls.
    pub(super) pull_failures: u32,
    pub(super) id: String,
    /// Whether it will not be restarted.
    pub(super) done: bool,
}

/// The state of one pod.
pub(super) struct PodState {
    pub(super) uid: String,
    pub(super) node: String,
    pub(super) host_address: String,
    pub(super) address: String,
    pub(super) start_time: String,
    pub(super) sandbox: bool,
    pub(super) units: Vec<Unit>,
    pub(super) behaviour: Behaviour,
    pub(super) restart_policy: String,
    pub(super) stopping: bool,
    /// The number of failed mounts.
    mount_failures: u32,
    agenda: BTreeMap<(Timestamp, u64), (usize, Step)>,
    arrivals: u64,
}

/// The index of steps that concern the whole pod.
pub(super) const POD: usize = usize::MAX;

impl PodState {
    /// The state of a pod that was just bound to the node.
    pub(super) fn new(control: &Control, pod: &Value, host_address: &str) -> Self {
        let init = value::list(pod, "spec.initContainers").iter();
        let main = value::list(pod, "spec.containers").iter();
        let waits = if value::list(pod, "spec.initContainers").is_empty() {
            "ContainerCreating"
        } else {
            "PodInitializing"
        };
        let units = init
            .map(|spec| ("initContainers", spec))
            .chain(main.map(|spec| ("containers", spec)))
            .map(|(list, spec)| Unit {
                name: value::text(spec, "name").to_owned(),
                list,
                sidecar: list == "initContainers" && spec["restartPolicy"] == "Always",
                spec: spec.clone(),
                state: State::Waiting { reason: waits, message: String::new() },
                last: None,
                ready: false,
                restarts: 0,
                pull_failures: 0,
                id: String::new(),
                done: false,
            })
            .collect();
        let mut pod_state = Self {
            uid: metadata::uid(pod).to_owned(),
            node: value::text(pod, "spec.nodeName").to_owned(),
            host_address: host_address.to_owned(),
            address: if value::flag(pod, "spec.hostNetwork") {
                host_address.to_owned()
            } else {
                String::new()
            },
            start_time: control.now(),
            sandbox: false,
            units,
            behaviour: Behaviour::of(pod),
            restart_policy: match value::text(pod, "spec.restartPolicy") {
                "" => "Always".to_owned(),
                policy => policy.to_owned(),
            },
            stopping: false,
            mount_failures: 0,
            agenda: BTreeMap::new(),
            arrivals: 0,
        };
        pod_state.plan(control, POD, Step::Sandbox, 300, 1200);
        pod_state
    }

    /// Schedules a step at a random time between two bounds in milliseconds.
    pub(super) fn plan(
        &mut self,
        control: &Control,
        unit: usize,
        step: Step,
        least: u64,
        most: u64,
    ) {
        let wait =
            control.between(Duration::from_millis(least), Duration::from_millis(most.max(least)));
        self.plan_after(control, unit, step, wait);
    }

    /// Schedules a step after a fixed time.
    pub(super) fn plan_after(
        &mut self,
        control: &Control,
        unit: usize,
        step: Step,
        wait: Duration,
    ) {
        self.arrivals += 1;
        let due = control.state.clock.after(wait);
        self.agenda.insert((due, self.arrivals), (unit, step));
    }

    /// Drops the scheduled steps of a container, or all.
    pub(super) fn forget(&mut self, unit: Option<usize>) {
        self.agenda.retain(|_, (planned, _)| unit.is_some_and(|unit| *planned != unit));
    }

    /// Takes the first step that is due.
    pub(super) fn due(&mut self, control: &Control) -> Option<(usize, Step)> {
        let first = self.agenda.first_entry()?;
        (first.key().0 <= control.state.clock.now()).then(|| first.remove())
    }

    /// When the next step is due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.agenda.keys().next().map(|(due, _)| *due)
    }

    /// Schedules another attempt to mount missing volumes.
    pub(super) fn retry_sandbox(&mut self, control: &Control) {
        self.mount_failures += 1;
        let wait = (1_u64 << self.mount_failures.min(7)).min(122);
        self.plan(control, POD, Step::Sandbox, wait * 1000, wait * 1000 + 500);
    }

    /// The sandbox is ready: starts the first containers.
    pub(super) fn sandbox_made(&mut self, control: &Control) {
        self.sandbox = true;
        self.start_next(control, 0);
    }

    /// Starts what comes at `place`: one init container, or all the others.
    pub(super) fn start_next(&mut self, control: &Control, place: usize) {
        let Some(unit) = self.units.get(place) else { return };
        if unit.list == "initContainers" {
            self.plan(control, place, Step::Pull, 10, 60);
            return;
        }
        for place in place..self.units.len() {
            self.plan(control, place, Step::Pull, 10, 60);
        }
    }

    /// The phase that follows from the container states.
    pub(super) fn phase(&self) -> &'static str {
        let init = self.units.iter().filter(|unit| unit.list == "initContainers");
        for unit in init {
            match &unit.state {
                State::Ended { code: 0, .. } => {}
                State::Ended { .. } if unit.done => return "Failed",
                State::Running { .. } if unit.sidecar => {}
                _ if unit.sidecar && unit.last.is_some() => {}
                _ => return "Pending",
            }
        }
        let main: Vec<&Unit> = self.units.iter().filter(|unit| unit.list == "containers").collect();
        let unborn =
            |unit: &&&Unit| matches!(unit.state, State::Waiting { .. }) && unit.last.is_none();
        if main.iter().any(|unit| unborn(&unit)) {
            return "Pending";
        }
        let ended = |unit: &&Unit| unit.done && matches!(unit.state, State::Ended { .. });
        if !main.iter().all(ended) {
            return "Running";
        }
        let well = main.iter().all(|unit| matches!(unit.state, State::Ended { code: 0, .. }));
        if well { "Succeeded" } else { "Failed" }
    }

    /// Writes the status if it changed.
    pub(super) async fn write(&self, control: &Control, key: &Key) {
        let Some(pod) = control.object(key).filter(|pod| metadata::uid(pod) == self.uid) else {
            return;
        };
        let now = control.now();
        if value::same(&status::of(self, &pod, &now), &pod["status"]) {
            return;
        }
        let written = control
            .update(KUBELET, key, "status", &mut |pod| {
                let status = status::of(self, pod, &now);
                pod["status"] = status;
            })
            .await;
        if let Err(status) = written {
            tracing::debug!(%status, pod = %key.name, "status not written");
        }
    }

    /// The `terminated` state of a container.
    pub(super) fn ended(unit: &Unit, code: i64, reason: &str, now: &str) -> Value {
        let started = match &unit.state {
            State::Running { since } => since.as_str(),
            _ => now,
        };
        json!({"terminated": {
            "exitCode": code, "reason": reason, "startedAt": started, "finishedAt": now,
            "containerID": unit.id,
        }})
    }
}
