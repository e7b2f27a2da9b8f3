//! What goes wrong between a client and the server, on purpose: rules say which requests, how often, when,
//! and what happens to them.
//!
//! ```text
//! request ─▶ who asks? ─▶ delay ─▶ refuse or reset ─▶ the server does it ─▶ slow or lost answer, short watch
//! ```
//!
//! Every rule has chance of its own, from the cluster's seed and its number: the same requests meet the same
//! faults, and one more rule does not move the others. Requests of the cluster's own controllers meet none;
//! they are not made over the wire.

mod rule;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::Response;
use serde_json::json;
use sluice_base::gojson::quote;

use crate::body::Body;
use crate::random::Random;
use crate::request::RequestInfo;
use crate::status::Status;

pub use rule::{Fault, Rule, Scope};

/// Keeps the chance of faults apart from that of uids and names.
const STREAM: u64 = 0x0066_6175_6c74_7300;

/// A rule that was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(u64);

/// The answer never comes: the connection is gone. Whether the request was carried out is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionLost {
    /// Before the server had read the request.
    #[error("connection reset by peer")]
    Reset,
    /// After the server had carried it out.
    #[error("connection closed before the answer was complete")]
    AnswerLost,
}

struct Installed {
    id: RuleId,
    rule: Rule,
    random: Random,
    fired: u64,
}

#[derive(Default)]
struct Rules {
    seed: u64,
    next: u64,
    installed: Vec<Installed>,
}

/// The faults of a cluster; clones are handles to the same ones, and rules come and go while it runs.
#[derive(Clone, Default)]
pub struct Faults {
    rules: Arc<Mutex<Rules>>,
}

/// A request as rules look at it.
pub(crate) struct MatchedRequest<'r> {
    pub(crate) info: &'r RequestInfo,
    /// The kind that the path is about; nothing for discovery and its like.
    pub(crate) kind: Option<&'r str>,
    pub(crate) user: &'r str,
    pub(crate) agent: &'r str,
    /// Since the cluster began.
    pub(crate) now: Duration,
}

/// What is to happen to one request.
#[derive(Debug, Default)]
pub(crate) struct FaultPlan {
    /// How long it takes to arrive.
    pub(crate) delay: Duration,
    /// How it fails before anything is done.
    pub(crate) refusal: Option<Refusal>,
    /// How long the answer takes.
    pub(crate) slow: Duration,
    /// Whether the answer is lost.
    pub(crate) lost: bool,
    /// When a watch ends.
    pub(crate) cut: Option<Duration>,
}

/// How a request fails before anything is done.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// With an answer.
    Answer(Box<Status>),
    /// A watch that begins, and at once says that its version is too old.
    Gone,
    /// Without one.
    Reset,
}

impl Faults {
    pub(crate) fn seeded(seed: u64, rules: &[Rule]) -> Self {
        let faults = Self::default();
        faults.lock().seed = seed;
        for rule in rules {
            faults.install(rule.clone());
        }
        faults
    }

    /// Adds a rule. Rules are looked at in the order in which they came; delays add up, and the first
    /// failure decides.
    pub fn install(&self, rule: Rule) -> RuleId {
        let mut rules = self.lock();
        let id = RuleId(rules.next);
        rules.next += 1;
        let random = Random::seeded(rules.seed ^ STREAM ^ (id.0 << 32));
        rules.installed.push(Installed { id, rule, random, fired: 0 });
        id
    }

    /// Takes a rule away; says how often it struck, or nothing if it was gone.
    pub fn remove(&self, id: RuleId) -> Option<u64> {
        let mut rules = self.lock();
        let at = rules.installed.iter().position(|installed| installed.id == id)?;
        Some(rules.installed.remove(at).fired)
    }

    /// Takes all rules away.
    pub fn clear(&self) {
        self.lock().installed.clear();
    }

    /// How often a rule struck so far.
    pub fn struck(&self, id: RuleId) -> Option<u64> {
        self.lock().installed.iter().find(|installed| installed.id == id).map(|it| it.fired)
    }

    fn lock(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to happen to a request.
    pub(crate) fn plan(&self, request: &MatchedRequest<'_>) -> FaultPlan {
        let mut plan = FaultPlan::default();
        for installed in &mut self.lock().installed {
            if !installed.rule.is_about(request, installed.fired) {
                continue;
            }
            let decided = plan.refusal.is_some() || plan.lost;
            if decided && installed.rule.fault.is_failure() {
                continue;
            }
            if !is_hit(&installed.random, installed.rule.probability) {
                continue;
            }
            installed.fired += 1;
            plan.suffer(&installed.rule.fault, request, &installed.random);
        }
        plan
    }
}

impl FaultPlan {
    fn suffer(&mut self, fault: &Fault, request: &MatchedRequest<'_>, random: &Random) {
        let answer = |status: Status| Some(Refusal::Answer(Box::new(status)));
        match fault {
            Fault::Delay { least, most } => self.delay += between(*least, *most, random),
            Fault::SlowAnswer { least, most } => self.slow += between(*least, *most, random),
            Fault::TooManyRequests { retry_after } => {
                self.refusal = answer(throttled(*retry_after));
            }
            Fault::ServerError { code } => self.refusal = answer(broken(*code)),
            Fault::Conflict => {
                let info = request.info;
                self.refusal = answer(Status::modified(&info.group, &info.resource, &info.name));
            }
            Fault::Reset => self.refusal = Some(Refusal::Reset),
            Fault::Gone => self.refusal = Some(Refusal::Gone),
            Fault::AnswerLost => self.lost = true,
            Fault::WatchClosed { least, most } => {
                let cut = between(*least, *most, random);
                self.cut = Some(self.cut.map_or(cut, |sooner| sooner.min(cut)));
            }
        }
    }

    /// Ends a watch when its time has come.
    pub(crate) fn shorten(&self, answer: Response<Body>) -> Response<Body> {
        let Some(cut) = self.cut else { return answer };
        answer.map(|body| match body {
            Body::Stream(events) => {
                let end = Box::pin(tokio::time::sleep(cut));
                Body::Stream(events.take_until(end).boxed())
            }
            whole @ Body::Whole(_) => whole,
        })
    }
}

/// The one event of a watch whose version is too old.
pub(crate) fn gone() -> Bytes {
    let status = Status::expired("too old resource version: the history was compacted").to_value();
    format!("{{\"type\":{},\"object\":{status}}}\n", quote("ERROR")).into()
}

fn is_hit(random: &Random, probability: f64) -> bool {
    // 53 bits are what a float holds.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let drawn = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
    drawn < probability
}

fn between(least: Duration, most: Duration, random: &Random) -> Duration {
    let span = u64::try_from(most.saturating_sub(least).as_micros()).unwrap_or(u64::MAX);
    least + Duration::from_micros(random.below(span.saturating_add(1)))
}

/// 429 as priority and fairness answers it.
fn throttled(seconds: u32) -> Status {
    let words = "Too many requests, please try again later.";
    Status::new(429, "TooManyRequests", words).with_details(json!({"retryAfterSeconds": seconds}))
}

fn broken(code: u16) -> Status {
    match code {
        503 => Status::new(
            503,
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        504 => Status::new(
            504,
            "Timeout",
            "Timeout: request did not complete within the allotted timeout",
        ),
        code => Status { code, ..Status::internal("etcdserver: request timed out") },
    }
}
