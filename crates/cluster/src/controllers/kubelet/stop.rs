//! Stopping a pod: containers get SIGTERM and the grace period.

use std::time::Duration;

use serde_json::Value;

use super::pod_state::{POD, PodState, State, Step};
use crate::controllers::control::Control;
use crate::controllers::recorder::NewEvent;
use crate::value;

impl PodState {
    /// Begins to stop the containers, once.
    pub(super) async fn begin_stop(&mut self, control: &Control, pod: &Value) {
        if self.stopping {
            return;
        }
        self.stopping = true;
        self.forget(None);
        let mut running = false;
        for unit in 0..self.units.len() {
            if !matches!(self.units[unit].state, State::Running { .. }) {
                continue;
            }
            running = true;
            let message = format!("Stopping container {}", self.units[unit].name);
            self.record_for(control, pod, unit, NewEvent::normal("Killing", &message)).await;
        }
        let grace = value::number(pod, "metadata.deletionGracePeriodSeconds");
        let grace = u64::try_from(grace).unwrap_or_default().saturating_mul(1000);
        if !running {
            self.plan(control, POD, Step::Stopped, 0, 100);
        } else if self.behaviour.slow_stop {
            self.plan_after(control, POD, Step::Stopped, Duration::from_millis(grace));
        } else {
            self.plan(control, POD, Step::Stopped, grace.min(300), grace.min(1500));
        }
    }

    /// All containers have stopped; the next step removes the pod.
    pub(super) fn stopped(&mut self, control: &Control) {
        let now = control.now();
        let (code, reason) =
            if self.behaviour.slow_stop { (137, "Error") } else { (0, "Completed") };
        for unit in &mut self.units {
            unit.ready = unit.ready && unit.list == "initContainers" && !unit.sidecar;
            if matches!(unit.state, State::Running { .. }) {
                let state = Self::ended(unit, code, reason, &now);
                unit.state = State::Ended { code, state };
            }
            unit.done = true;
        }
        self.plan(control, POD, Step::Gone, 5, 50);
    }
}
