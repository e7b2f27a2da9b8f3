//! The behaviour of a simulated pod: it starts and becomes ready, unless its annotation says otherwise.
//!
//! The annotation `sluice.dev/simulate` holds keywords, separated by commas:
//!
//! | keyword            | what happens                                                          |
//! |--------------------|-----------------------------------------------------------------------|
//! | `image-pull-error` | no image can be pulled: `ErrImagePull`, then `ImagePullBackOff`       |
//! | `crash-loop`       | containers exit with code 1 soon after each start                     |
//! | `oom-killed`       | the same with code 137 and reason `OOMKilled`                         |
//! | `never-ready`      | containers run, readiness probes fail                                 |
//! | `ready-after=30s`  | containers become ready that long after start                         |
//! | `run-for=10s`      | containers exit after that time; `run-for=forever`: never             |
//! | `exit=1`           | the exit code; without `run-for` containers exit soon                 |
//! | `slow-stop`        | containers ignore SIGTERM and use up their grace period               |
//!
//! Unknown keywords are ignored. Init containers always succeed.

use std::time::Duration;

use serde_json::Value;
use sluice_base::duration::GoDuration;

use crate::metadata;

/// The annotation.
pub(super) const ANNOTATION: &str = "sluice.dev/simulate";

/// How the containers of a pod behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Behaviour {
    pub(super) image_pull_error: bool,
    pub(super) crash_loop: bool,
    pub(super) out_of_memory: bool,
    pub(super) never_ready: bool,
    pub(super) slow_stop: bool,
    pub(super) ready_after: Option<Duration>,
    pub(super) run_for: Option<Duration>,
    pub(super) runs_forever: bool,
    pub(super) exit: Option<i64>,
}

impl Behaviour {
    /// The behaviour that a pod's annotation asks for.
    pub(super) fn of(pod: &Value) -> Self {
        Self::parse(metadata::entry(pod, "annotations", ANNOTATION).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut out = Self::default();
        for keyword in text.split(',').map(str::trim) {
            let (name, argument) = keyword.split_once('=').unwrap_or((keyword, ""));
            match name {
                "image-pull-error" => out.image_pull_error = true,
                "crash-loop" => out.crash_loop = true,
                "oom-killed" => out.out_of_memory = true,
                "never-ready" => out.never_ready = true,
                "slow-stop" => out.slow_stop = true,
                "ready-after" => out.ready_after = duration(argument),
                "run-for" if argument == "forever" => out.runs_forever = true,
                "run-for" => out.run_for = duration(argument),
                "exit" => out.exit = argument.parse().ok(),
                _ => {}
            }
        }
        out
    }

    /// The exit code and the reason of a container.
    pub(super) fn ending(&self) -> (i64, &'static str) {
        match self.exit {
            _ if self.out_of_memory => (137, "OOMKilled"),
            Some(0) => (0, "Completed"),
            Some(code) => (code, "Error"),
            None if self.crash_loop => (1, "Error"),
            None => (0, "Completed"),
        }
    }

    /// Whether containers exit by themselves.
    pub(super) fn ends(&self) -> bool {
        !self.runs_forever
            && (self.crash_loop
                || self.out_of_memory
                || self.exit.is_some()
                || self.run_for.is_some())
    }
}

fn duration(text: &str) -> Option<Duration> {
    GoDuration::parse(text).ok().map(GoDuration::to_std)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_read_and_unknown_ones_ignored() {
        let read = Behaviour::parse("run-for=10s, exit=3,later");
        assert_eq!(read.run_for, Some(Duration::from_secs(10)));
        assert_eq!(read.ending(), (3, "Error"));
        assert!(read.ends());
        assert_eq!(Behaviour::parse(""), Behaviour::default());
        assert_eq!(Behaviour::parse("oom-killed").ending(), (137, "OOMKilled"));
        assert!(!Behaviour::parse("exit=1,run-for=forever").ends());
    }
}
