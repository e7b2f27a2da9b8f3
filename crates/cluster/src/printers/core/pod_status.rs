//! The status column of pods: one word for all containers.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printers::age::parse;
use crate::printers::cell::condition;
use crate::value::{flag, list, number, present, text};

/// The state of a pod's containers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) ready: usize,
    pub(super) total: usize,
    pub(super) reason: String,
    pub(super) restarts: i64,
    pub(super) last_restart: Option<Timestamp>,
}

impl Summary {
    pub(super) fn of(pod: &Value) -> Self {
        let (phase, reason) = (text(pod, "status.phase"), text(pod, "status.reason"));
        let mut summary = Self {
            total: list(pod, "spec.containers").len()
                + list(pod, "spec.initContainers")
                    .iter()
                    .filter(|one| restarts_always(one))
                    .count(),
            reason: if reason.is_empty() { phase } else { reason }.to_owned(),
            ..Self::default()
        };
        let gated = list(pod, "status.conditions").iter().any(|condition| {
            text(condition, "type") == "PodScheduled"
                && text(condition, "reason") == "SchedulingGated"
        });
        if gated {
            "SchedulingGated".clone_into(&mut summary.reason);
        }
        let sidecars = summary.initialize(pod);
        if let Ok(sidecars) = sidecars {
            summary.run(pod, sidecars);
        }
        if metadata::is_terminating(pod) {
            if reason == "NodeLost" {
                "Unknown".clone_into(&mut summary.reason);
            } else if !matches!(phase, "Succeeded" | "Failed") {
                "Terminating".clone_into(&mut summary.reason);
            }
        }
        summary
    }

    /// Reads the init containers up to the first that is not finished. Restarts of sidecars are returned
    /// separately, since only they count once the pod runs; an error means that it does not run yet.
    fn initialize(&mut self, pod: &Value) -> Result<Restarts, ()> {
        let specs = list(pod, "spec.initContainers");
        let mut all = Restarts::default();
        let mut sidecars = Restarts::default();
        let mut blocked = None;
        for (index, status) in list(pod, "status.initContainerStatuses").iter().enumerate() {
            let sidecar = specs
                .iter()
                .any(|spec| text(spec, "name") == text(status, "name") && restarts_always(spec));
            all.add(status);
            if sidecar {
                sidecars.add(status);
            }
            let terminated = present(status, "state.terminated");
            let waiting = text(status, "state.waiting.reason");
            if terminated && number(status, "state.terminated.exitCode") == 0 {
                continue;
            }
            if sidecar && flag(status, "started") {
                self.ready += usize::from(flag(status, "ready"));
                continue;
            }
            blocked = Some(if terminated {
                format!("Init:{}", ending(status))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{}", specs.len())
            });
            break;
        }
        let initialized = condition(pod, "status.conditions", "Initialized")
            .is_some_and(|found| text(found, "status") == "True");
        let runs = blocked.is_none() || initialized;
        if let Some(reason) = blocked {
            self.reason = reason;
        }
        (self.restarts, self.last_restart) = (all.count, all.last);
        if runs { Ok(sidecars) } else { Err(()) }
    }

    /// Reads the containers, the last first, so that the first one decides.
    fn run(&mut self, pod: &Value, mut restarts: Restarts) {
        let mut running = false;
        let mut failure = None;
        for status in list(pod, "status.containerStatuses").iter().rev() {
            restarts.add(status);
            let waiting = text(status, "state.waiting.reason");
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if present(status, "state.terminated") {
                self.reason = ending(status);
                if number(status, "state.terminated.exitCode") != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if flag(status, "ready") && present(status, "state.running") {
                running = true;
                self.ready += 1;
            }
        }
        (self.restarts, self.last_restart) = (restarts.count, restarts.last);
        if self.reason == "Completed" {
            let ready = list(pod, "status.conditions").iter().any(|condition| {
                text(condition, "type") == "Ready" && text(condition, "status") == "True"
            });
            if running && ready {
                "Running".clone_into(&mut self.reason);
            } else if let Some(failure) = failure {
                self.reason = failure;
            } else if running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }
}

/// The number of restarts, and the time of the last.
#[derive(Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, status: &Value) {
        self.count += number(status, "restartCount");
        self.last = self.last.max(parse(text(status, "lastState.terminated.finishedAt")));
    }
}

/// Whether an init container is a sidecar.
fn restarts_always(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}

/// How a container ended: its reason, or the signal, or the exit code.
fn ending(status: &Value) -> String {
    let (reason, signal) =
        (text(status, "state.terminated.reason"), number(status, "state.terminated.signal"));
    if !reason.is_empty() {
        reason.to_owned()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", number(status, "state.terminated.exitCode"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reason(pod: &Value) -> (String, String, i64) {
        let summary = Summary::of(pod);
        (format!("{}/{}", summary.ready, summary.total), summary.reason, summary.restarts)
    }

    fn pod(init: &Value, containers: &Value, phase: &str) -> Value {
        let named = |statuses: &Value, extra: &Value| {
            let statuses = statuses.as_array().unwrap().iter().enumerate();
            statuses
                .map(|(index, _)| {
                    let mut spec = json!({"name": index.to_string()});
                    if extra.get(index) == Some(&json!(true)) {
                        spec["restartPolicy"] = json!("Always");
                    }
                    spec
                })
                .collect::<Vec<_>>()
        };
        let numbered = |statuses: &Value| {
            let mut statuses = statuses.clone();
            for (index, status) in statuses.as_array_mut().unwrap().iter_mut().enumerate() {
                status["name"] = json!(index.to_string());
            }
            statuses
        };
        let sidecars: Value = init
            .as_array()
            .unwrap()
            .iter()
            .map(|status| status.get("started").is_some())
            .map(Value::from)
            .collect::<Vec<_>>()
            .into();
        json!({
            "spec": {
                "initContainers": named(init, &sidecars),
                "containers": named(containers, &Value::Null),
            },
            "status": {
                "phase": phase,
                "initContainerStatuses": numbered(init),
                "containerStatuses": numbered(containers),
            },
        })
    }

    #[test]
    fn init_containers_hold_the_pod_up_until_they_end_well() {
        let waiting = json!([{"state": {"waiting": {"reason": "PodInitializing"}}}]);
        let done = json!({"restartCount": 2, "state": {"terminated": {"exitCode": 0}}});
        let cases = [
            (json!([done, {"state": {"running": {}}}]), "0/1", "Init:1/2", 2),
            (json!([{"state": {"terminated": {"exitCode": 3}}}]), "0/1", "Init:ExitCode:3", 0),
            (
                json!([{"state": {"terminated": {"exitCode": 3, "signal": 9}}}]),
                "0/1",
                "Init:Signal:9",
                0,
            ),
            (
                json!([{"state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]),
                "0/1",
                "Init:Error",
                0,
            ),
            (
                json!([{"restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]),
                "0/1",
                "Init:CrashLoopBackOff",
                4,
            ),
            (json!([done]), "0/1", "PodInitializing", 0),
            (
                json!([{"started": true, "ready": true, "restartCount": 1, "state": {"running": {}}}]),
                "1/2",
                "PodInitializing",
                1,
            ),
            (json!([{"started": false, "state": {"running": {}}}]), "0/2", "Init:0/1", 0),
        ];
        for (init, ready, word, restarts) in cases {
            let expected = (ready.to_owned(), word.to_owned(), restarts);
            assert_eq!(reason(&pod(&init, &waiting, "Pending")), expected, "{init}");
        }
    }

    #[test]
    fn the_first_container_decides_the_status() {
        let up = json!({"ready": true, "state": {"running": {}}});
        let completed = json!({"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
        let failed = json!({"state": {"terminated": {"exitCode": 2}}});
        let cases = [
            (json!([up, up]), "2/2", "Running"),
            (json!([up, completed]), "1/2", "NotReady"),
            (json!([completed, failed]), "0/2", "ExitCode:2"),
            (json!([failed, completed]), "0/2", "ExitCode:2"),
            (json!([completed]), "0/1", "Completed"),
            (
                json!([{"state": {"waiting": {"reason": "ErrImagePull"}}}, completed]),
                "0/2",
                "ErrImagePull",
            ),
        ];
        for (containers, ready, word) in cases {
            let expected = (ready.to_owned(), word.to_owned(), 0);
            assert_eq!(reason(&pod(&json!([]), &containers, "Running")), expected, "{containers}");
        }
    }

    #[test]
    fn a_ready_pod_with_a_completed_container_runs() {
        let mut pod = pod(
            &json!([]),
            &json!([
                {"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
                {"ready": true, "state": {"running": {}}},
            ]),
            "Running",
        );
        pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        assert_eq!(reason(&pod).1, "Running");
    }

    #[test]
    fn pods_that_go_away_say_so_unless_they_have_ended() {
        let cases = [
            ("Running", "", "Terminating"),
            ("Succeeded", "", "Succeeded"),
            ("Failed", "Evicted", "Evicted"),
            ("Running", "NodeLost", "Unknown"),
        ];
        for (phase, given, expected) in cases {
            let mut pod = pod(&json!([]), &json!([]), phase);
            pod["metadata"] = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
            pod["status"]["reason"] = json!(given);
            assert_eq!(reason(&pod).1, expected, "{phase} {given}");
        }
    }

    #[test]
    fn the_latest_restart_is_shown() {
        let ended = |moment: &str| json!({"restartCount": 1, "lastState": {"terminated": {"finishedAt": moment}}});
        let containers = json!([ended("2026-01-01T00:00:05Z"), ended("2026-01-01T00:00:03Z")]);
        let summary = Summary::of(&pod(&json!([]), &containers, "Running"));
        assert_eq!(summary.restarts, 2);
        assert_eq!(summary.last_restart, parse("2026-01-01T00:00:05Z"));
    }
}
