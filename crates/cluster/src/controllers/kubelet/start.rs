//! Starting containers: image pull, start, readiness, exit and restart.

use std::time::Duration;

use serde_json::Value;
use sluice_base::duration::GoDuration;

use super::needs;
use super::pod_state::{PodState, State, Step};
use crate::controllers::control::Control;
use crate::controllers::hash;
use crate::controllers::recorder::NewEvent;
use crate::{metadata, value};

/// The longest back-off, in seconds.
const LONGEST: u64 = 300;

impl PodState {
    /// Node and image of a container.
    pub(super) fn image_key(&self, unit: usize) -> (String, String) {
        (self.node.clone(), value::text(&self.units[unit].spec, "image").to_owned())
    }

    fn image(&self, unit: usize) -> String {
        value::text(&self.units[unit].spec, "image").to_owned()
    }

    pub(super) async fn pull(
        &mut self,
        control: &Control,
        pod: &Value,
        unit: usize,
        present: bool,
    ) {
        let image = self.image(unit);
        let policy = value::text(&self.units[unit].spec, "imagePullPolicy").to_owned();
        if present && policy != "Always" && !self.behaviour.image_pull_error {
            let message = format!(
                "Container image \"{image}\" already present on machine and can be accessed by the pod"
            );
            self.record_for(control, pod, unit, NewEvent::normal("Pulled", &message)).await;
            self.plan(control, unit, Step::Start, 40, 160);
            return;
        }
        let message = format!("Pulling image \"{image}\"");
        self.record_for(control, pod, unit, NewEvent::normal("Pulling", &message)).await;
        if self.behaviour.image_pull_error {
            self.plan(control, unit, Step::PullFailed, 400, 1500);
            return;
        }
        let (least, most) = if present { (200, 600) } else { (600, 3000) };
        let wait = control.between(Duration::from_millis(least), Duration::from_millis(most));
        let micros = u64::try_from(wait.as_micros()).unwrap_or_default();
        self.plan_after(control, unit, Step::Pulled(micros), wait);
    }

    pub(super) async fn pulled(
        &mut self,
        control: &Control,
        pod: &Value,
        unit: usize,
        micros: u64,
    ) {
        let image = self.image(unit);
        // Truncated to milliseconds, as the kubelet does.
        let nanos = i64::try_from(micros / 1000).unwrap_or_default() * 1_000_000;
        let took = GoDuration::from_nanos(nanos);
        let size = 5_000_000 + u64::from(hash::fnv1a(image.as_bytes())) % 200_000_000;
        let message = format!(
            "Successfully pulled image \"{image}\" in {took} ({took} including waiting). Image size: {size} bytes."
        );
        self.record_for(control, pod, unit, NewEvent::normal("Pulled", &message)).await;
        self.plan(control, unit, Step::Start, 40, 160);
    }

    pub(super) async fn pull_failed(&mut self, control: &Control, pod: &Value, unit: usize) {
        let image = self.image(unit);
        let why = pull_error(&image);
        let message = format!("Failed to pull image \"{image}\": {why}");
        self.record_for(control, pod, unit, NewEvent::warning("Failed", &message)).await;
        self.record_for(control, pod, unit, NewEvent::warning("Failed", "Error: ErrImagePull"))
            .await;
        self.units[unit].state = State::Waiting { reason: "ErrImagePull", message: why };
        self.plan(control, unit, Step::PullBackOff, 900, 2000);
    }

    pub(super) async fn pull_back_off(&mut self, control: &Control, pod: &Value, unit: usize) {
        let image = self.image(unit);
        let message = format!("Back-off pulling image \"{image}\"");
        self.record_for(control, pod, unit, NewEvent::normal("BackOff", &message)).await;
        let error = "Error: ImagePullBackOff";
        self.record_for(control, pod, unit, NewEvent::warning("Failed", error)).await;
        let why = pull_error(&image);
        self.units[unit].state = State::Waiting {
            reason: "ImagePullBackOff",
            message: format!("{message}: ErrImagePull: {why}"),
        };
        let failures = self.units[unit].pull_failures;
        self.units[unit].pull_failures += 1;
        let wait = (10_u64 << failures.min(5)).min(LONGEST);
        self.plan(control, unit, Step::Pull, wait * 1000, wait * 1000 + 800);
    }

    pub(super) async fn start(&mut self, control: &Control, pod: &Value, unit: usize) {
        if let Some(lack) = needs::missing_environment(control, pod, &self.units[unit].spec) {
            let message = format!("Error: {lack}");
            self.record_for(control, pod, unit, NewEvent::warning("Failed", &message)).await;
            self.units[unit].state =
                State::Waiting { reason: "CreateContainerConfigError", message: lack };
            self.plan(control, unit, Step::Start, 10_000, 15_000);
            return;
        }
        self.record_for(control, pod, unit, NewEvent::normal("Created", "Container created")).await;
        self.record_for(control, pod, unit, NewEvent::normal("Started", "Container started")).await;
        let random = &control.state.random;
        let started = &mut self.units[unit];
        started.id = format!(
            "containerd://{:016x}{:016x}{:016x}{:016x}",
            random.next(),
            random.next(),
            random.next(),
            random.next()
        );
        started.state = State::Running { since: control.now() };
        started.restarts += u32::from(started.last.is_some());
        let (list, sidecar) = (started.list, started.sidecar);
        if list == "initContainers" && !sidecar {
            self.plan(control, unit, Step::Exit(0, "Completed"), 300, 1500);
            return;
        }
        self.plan_readiness(control, unit);
        if sidecar {
            self.start_next(control, unit + 1);
            return;
        }
        let (code, reason) = self.behaviour.ending();
        if let Some(wait) = self.behaviour.run_for {
            self.plan_after(control, unit, Step::Exit(code, reason), wait);
        } else if self.behaviour.ends() {
            self.plan(control, unit, Step::Exit(code, reason), 500, 3000);
        } else if self.restart_policy != "Always" && !self.behaviour.runs_forever {
            self.plan(control, unit, Step::Exit(code, reason), 3000, 8000);
        }
    }

    fn plan_readiness(&mut self, control: &Control, unit: usize) {
        let spec = &self.units[unit].spec;
        let readiness = &spec["readinessProbe"];
        if self.behaviour.never_ready {
            if readiness.is_object() {
                let period = probe_number(readiness, "periodSeconds", 10);
                self.plan_after(control, unit, Step::Unready, Duration::from_secs(period));
            }
            return;
        }
        if let Some(wait) = self.behaviour.ready_after {
            self.plan_after(control, unit, Step::Ready, wait);
            return;
        }
        let delay = |probe: &Value| {
            if probe.is_object() {
                probe_number(probe, "initialDelaySeconds", 0) * 1000 + 100
            } else {
                0
            }
        };
        let wait = delay(&spec["startupProbe"]) + delay(readiness);
        if wait == 0 {
            self.units[unit].ready = true;
        } else {
            self.plan(control, unit, Step::Ready, wait, wait + 1400);
        }
    }

    pub(super) async fn unready(&mut self, control: &Control, pod: &Value, unit: usize) {
        let probe = self.units[unit].spec["readinessProbe"].clone();
        let why = if probe["httpGet"].is_object() {
            "HTTP probe failed with statuscode: 503"
        } else if probe["tcpSocket"].is_object() {
            "dial tcp: connect: connection refused"
        } else {
            "command exited with code 1"
        };
        let message = format!("Readiness probe failed: {why}");
        self.record_for(control, pod, unit, NewEvent::warning("Unhealthy", &message)).await;
        let period = probe_number(&probe, "periodSeconds", 10);
        self.plan_after(control, unit, Step::Unready, Duration::from_secs(period));
    }

    /// Handles the exit of a container.
    pub(super) fn exit(&mut self, control: &Control, place: usize, code: i64, reason: &str) {
        self.forget(Some(place));
        let now = control.now();
        let unit = &mut self.units[place];
        let state = Self::ended(unit, code, reason, &now);
        unit.state = State::Ended { code, state };
        unit.ready = false;
        if unit.list == "initContainers" && !unit.sidecar {
            // Init containers always succeed here, so the next one starts.
            unit.ready = true;
            unit.done = true;
            self.start_next(control, place + 1);
            return;
        }
        let again = match self.restart_policy.as_str() {
            "Never" => unit.sidecar,
            "OnFailure" => code != 0 || unit.sidecar,
            _ => true,
        };
        if !again {
            unit.done = true;
            self.end_sidecars(control);
            return;
        }
        let restarts = unit.restarts;
        if restarts == 0 {
            self.plan(control, place, Step::CrashBackOff(0), 500, 1500);
        } else {
            let seconds = (10_u64 << (restarts - 1).min(5)).min(LONGEST);
            self.plan(control, place, Step::CrashBackOff(seconds), 900, 1600);
        }
    }

    /// Stops sidecars after the last regular container has finished.
    fn end_sidecars(&mut self, control: &Control) {
        if self.units.iter().any(|unit| unit.list == "containers" && !unit.done) {
            return;
        }
        let now = control.now();
        for unit in self.units.iter_mut().filter(|unit| unit.sidecar) {
            let state = Self::ended(unit, 0, "Completed", &now);
            unit.state = State::Ended { code: 0, state };
            unit.ready = false;
            unit.done = true;
        }
        self.forget(None);
    }

    /// Schedules the restart of a terminated container, with back-off.
    pub(super) async fn crash_back_off(
        &mut self,
        control: &Control,
        pod: &Value,
        place: usize,
        seconds: u64,
    ) {
        let unit = &mut self.units[place];
        if let State::Ended { state, .. } = &unit.state {
            unit.last = Some(state.clone());
        }
        if seconds == 0 {
            self.plan(control, place, Step::Pull, 0, 10);
            return;
        }
        let subject =
            format!("{}_{}({})", metadata::name(pod), metadata::namespace(pod), metadata::uid(pod));
        let name = self.units[place].name.clone();
        let message = format!("Back-off restarting failed container {name} in pod {subject}");
        self.record_for(control, pod, place, NewEvent::warning("BackOff", &message)).await;
        let wait = GoDuration::from_secs(i64::try_from(seconds).unwrap_or_default());
        self.units[place].state = State::Waiting {
            reason: "CrashLoopBackOff",
            message: format!("back-off {wait} restarting failed container={name} pod={subject}"),
        };
        self.plan_after(control, place, Step::Pull, Duration::from_secs(seconds));
    }
}

fn probe_number(probe: &Value, field: &str, otherwise: u64) -> u64 {
    let number = value::int(probe, field).and_then(|number| u64::try_from(number).ok());
    number.filter(|number| *number > 0).unwrap_or(otherwise)
}

fn pull_error(image: &str) -> String {
    let image = super::status::full_image(image);
    format!(
        "rpc error: code = NotFound desc = failed to pull and unpack image \"{image}\": failed to resolve reference \"{image}\": {image}: not found"
    )
}
