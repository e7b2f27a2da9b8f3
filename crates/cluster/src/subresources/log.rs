//! `pods/log`: the output of a simulated container.
//!
//! The lines follow from the pod's status, so the same pod always has the same log: one line when the
//! container starts, one per period while it runs, one when it ends. The annotation
//! `sluice.dev/simulate-logs` replaces them; its last line is repeated.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sluice_base::clock::Clock as _;
use sluice_base::time;

use crate::body::{self, Body};
use crate::call::Call;
use crate::status::Status;
use crate::{metadata, value};

/// The annotation with custom lines.
const ANNOTATION: &str = "sluice.dev/simulate-logs";
/// The time between two lines.
const PERIOD: Duration = Duration::from_secs(10);
/// The most lines of the past that are returned; older ones have been rotated away.
const ROTATION: usize = 1000;
/// The poll interval of a followed log.
const FOLLOW: Duration = Duration::from_secs(1);

/// The time and the text of a line.
type Line = (Timestamp, String);

pub(super) fn serve(call: &Call) -> Result<Response<Body>, Status> {
    let options = Options::of(call)?;
    let pod = pod(call)?;
    let container = container(call, &pod)?;
    let status = container_status(&pod, &container);
    let previous = call.query.text("previous") == Some("true");
    let Some(status) = status.filter(|_| !value::text(&pod, "spec.nodeName").is_empty()) else {
        // A pod without a node has no kubelet to ask.
        return Ok(plain(Bytes::new()));
    };
    let name = &call.info.name;
    if previous && value::at(&status, "lastState.terminated").is_null() {
        return Err(Status::bad_request(format!(
            "previous terminated container \"{container}\" in pod \"{name}\" not found"
        )));
    }
    let waits = value::at(&status, "state.waiting");
    if !previous && !waits.is_null() && value::at(&status, "lastState.terminated").is_null() {
        let reason = value::text(waits, "reason");
        let message = match reason {
            "ErrImagePull" | "ImagePullBackOff" => {
                "waiting to start: trying and failing to pull image".to_owned()
            }
            _ => format!("waiting to start: {reason}"),
        };
        return Err(Status::bad_request(format!(
            "container \"{container}\" in pod \"{name}\" is {message}"
        )));
    }
    let now = call.state.clock.now();
    let log = Log::of(&pod, &container, &status, previous, now);
    let sent = log.end();
    let text = options.print(log.lines, now);
    let follows = call.query.text("follow") == Some("true") && !previous;
    if !follows || options.limit.is_some() {
        return Ok(plain(text));
    }
    Ok(follow(call, container, options.timestamps, text, sent))
}

fn plain(text: impl Into<Bytes>) -> Response<Body> {
    body::text(StatusCode::OK, "text/plain", text)
}

fn pod(call: &Call) -> Result<Arc<Value>, Status> {
    let stored = call.state.store.get(&call.resource.storage, &call.key());
    stored
        .map(|stored| stored.value.clone())
        .ok_or_else(|| call.resource.not_found(&call.info.name))
}

/// The requested container; the only one if none is named.
fn container(call: &Call, pod: &Value) -> Result<String, Status> {
    let names = |list: &str| -> Vec<String> {
        value::list(pod, list).iter().map(|item| value::text(item, "name").to_owned()).collect()
    };
    let (main, init) = (names("spec.containers"), names("spec.initContainers"));
    let ephemeral = names("spec.ephemeralContainers");
    let name = &call.info.name;
    match call.query.text("container").filter(|wanted| !wanted.is_empty()) {
        None if main.len() == 1 => Ok(main[0].clone()),
        None => {
            let all: Vec<&str> =
                init.iter().chain(&main).chain(&ephemeral).map(String::as_str).collect();
            Err(Status::bad_request(format!(
                "a container name must be specified for pod {name}, choose one of: [{}]",
                all.join(" ")
            )))
        }
        Some(wanted) => {
            let known = main.iter().chain(&init).chain(&ephemeral).any(|found| found == wanted);
            if known {
                return Ok(wanted.to_owned());
            }
            Err(Status::bad_request(format!("container {wanted} is not valid for pod {name}")))
        }
    }
}

fn container_status(pod: &Value, container: &str) -> Option<Value> {
    ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"]
        .into_iter()
        .flat_map(|list| value::list(&pod["status"], list))
        .find(|status| status["name"] == container)
        .cloned()
}

/// The output of one run of a container.
#[derive(Default)]
struct Log {
    /// The number of lines that have been rotated away.
    first: usize,
    lines: Vec<Line>,
}

impl Log {
    /// The number of lines so far.
    fn end(&self) -> usize {
        self.first + self.lines.len()
    }

    /// The log of a container up to now.
    fn of(pod: &Value, container: &str, status: &Value, previous: bool, now: Timestamp) -> Self {
        let state = if previous || value::at(status, "state.waiting").is_object() {
            &status["lastState"]
        } else {
            &status["state"]
        };
        let (run, end) = match state.get("running") {
            Some(running) => (running, None),
            None => (&state["terminated"], Some(&state["terminated"])),
        };
        let Ok(start) = time::parse(value::text(run, "startedAt")) else { return Self::default() };
        let until =
            end.and_then(|end| time::parse(value::text(end, "finishedAt")).ok()).unwrap_or(now);
        let own: Option<Vec<&str>> =
            metadata::entry(pod, "annotations", ANNOTATION).map(|text| text.lines().collect());
        let image = value::text(status, "image");
        let name = metadata::name(pod);
        let period = SignedDuration::try_from(PERIOD).unwrap_or(SignedDuration::MAX);
        let passed = until.duration_since(start).as_secs().max(0);
        let count = usize::try_from(passed / period.as_secs()).unwrap_or(0);
        let first = count.saturating_sub(ROTATION);
        let mut out = Vec::new();
        for place in first..=count {
            let step = i32::try_from(place).unwrap_or(i32::MAX);
            let Ok(moment) = start.checked_add(period.saturating_mul(step)) else { break };
            let text = match (&own, place) {
                (Some(own), place) => match own.get(place).or(own.last()) {
                    Some(line) => (*line).to_owned(),
                    None => break,
                },
                (None, 0) => format!("{container} started in pod {name} from image {image}"),
                (None, place) => format!("{container} is alive, {place} probes answered"),
            };
            out.push((moment, text));
        }
        if let (Some(end), None) = (end, &own) {
            let code = value::number(end, "exitCode");
            out.push((until, format!("{container} ended with code {code}")));
        }
        Self { first, lines: out }
    }
}

/// The query options of a log request.
struct Options {
    tail: Option<usize>,
    since: Option<Timestamp>,
    since_seconds: Option<i64>,
    timestamps: bool,
    limit: Option<usize>,
}

impl Options {
    fn of(call: &Call) -> Result<Self, Status> {
        let number = |name: &str| -> Result<Option<i64>, Status> {
            match call.query.text(name).filter(|text| !text.is_empty()) {
                None => Ok(None),
                Some(text) => text.parse().map(Some).map_err(|_| {
                    Status::bad_request(format!(
                        "strconv.ParseInt: parsing \"{text}\": invalid syntax"
                    ))
                }),
            }
        };
        let since = match call.query.text("sinceTime").filter(|text| !text.is_empty()) {
            None => None,
            Some(text) => {
                Some(time::parse(text).map_err(|error| Status::bad_request(error.to_string()))?)
            }
        };
        let size = |number: Option<i64>| number.map(|number| usize::try_from(number).unwrap_or(0));
        Ok(Self {
            tail: size(number("tailLines")?),
            since,
            since_seconds: number("sinceSeconds")?,
            timestamps: call.query.text("timestamps") == Some("true"),
            limit: size(number("limitBytes")?),
        })
    }

    fn print(&self, lines: Vec<Line>, now: Timestamp) -> Vec<u8> {
        let ago = self
            .since_seconds
            .and_then(|seconds| now.checked_sub(SignedDuration::from_secs(seconds)).ok());
        let since = self.since.or(ago);
        let lines: Vec<Line> = lines
            .into_iter()
            .filter(|(moment, _)| since.is_none_or(|since| *moment >= since))
            .collect();
        let skipped = self.tail.map_or(0, |tail| lines.len().saturating_sub(tail));
        let mut out = Vec::new();
        for line in lines.iter().skip(skipped) {
            out.extend(print(line, self.timestamps));
        }
        if let Some(limit) = self.limit {
            out.truncate(limit);
        }
        out
    }
}

fn print((moment, text): &Line, timestamps: bool) -> Vec<u8> {
    if timestamps {
        format!("{moment:.9} {text}\n").into_bytes()
    } else {
        format!("{text}\n").into_bytes()
    }
}

/// Streams lines until the container ends or the pod is removed.
fn follow(
    call: &Call,
    container: String,
    timestamps: bool,
    first: Vec<u8>,
    sent: usize,
) -> Response<Body> {
    let state = call.state.clone();
    let (storage, key) = (call.resource.storage.clone(), call.key());
    let started = futures::stream::once(async move { Bytes::from(first) });
    let rest = futures::stream::unfold((sent, false), move |(sent, over)| {
        let (state, storage) = (state.clone(), storage.clone());
        let (key, container) = (key.clone(), container.clone());
        async move {
            if over {
                return None;
            }
            tokio::time::sleep(FOLLOW).await;
            let pod = state.store.get(&storage, &key)?.value.clone();
            let status = container_status(&pod, &container)?;
            let log = Log::of(&pod, &container, &status, false, state.clock.now());
            let fresh = log.lines.iter().skip(sent.saturating_sub(log.first));
            let text: Vec<u8> = fresh.flat_map(|line| print(line, timestamps)).collect();
            let over = value::at(&status, "state.running").is_null();
            Some((Bytes::from(text), (log.end(), over)))
        }
    });
    let pieces = started.chain(rest).filter(|piece| std::future::ready(!piece.is_empty()));
    let mut response = body::stream("text/plain", pieces.boxed());
    *response.status_mut() = StatusCode::OK;
    response
}
