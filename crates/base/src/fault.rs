//! Faults of connections: one vocabulary for every server of a sandbox.
//!
//! ```text
//! request ─▶ Delay Stall ─▶ Refuse Conflict Gone Reset ─▶ the server does it ─▶ SlowAnswer
//!         ─▶ AnswerLost Cut Truncate Garble WatchClosed ─▶ answer
//! ```
//!
//! A [`Rule`] says which requests meet a [`Fault`], how often and when. A [`Transport`] says which faults it can do
//! and what it knows about a request; [`Faults::install`] refuses a rule that its transport cannot follow, so that no
//! rule is ignored. The transport asks [`Faults::plan`] for each request and does what the [`Plan`] says.
//!
//! Every rule draws from random numbers of its own, by the seed and the rule's number: the same requests meet the same
//! faults, and one more rule does not move the others. Nothing here waits; transports do.

mod rule;
mod transport;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use rule::{Attribute, Request, Rule, Scope};
pub use transport::{FaultError, Transport};

use crate::random::Random;

/// Keeps the random numbers of faults apart from other uses of a seed.
const STREAM: u64 = 0x0066_6175_6c74_7300;

/// A delay without end.
pub const FOREVER: Duration = Duration::MAX;

/// What happens to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It takes a while to arrive.
    Delay {
        /// At least.
        least: Duration,
        /// At most.
        most: Duration,
    },
    /// It waits until the rule's time is over; for ever where the rule has no end.
    Stall,
    /// It is carried out at once, and the answer takes a while.
    SlowAnswer {
        /// At least.
        least: Duration,
        /// At most.
        most: Duration,
    },
    /// An HTTP status of failure; nothing is done.
    Refuse {
        /// The HTTP status.
        status: u16,
        /// What the answer says; the transport's own text where empty.
        message: String,
        /// Seconds for `Retry-After`.
        retry_after: Option<u32>,
    },
    /// 409 as of a lost race; nothing is done. Strikes writes to objects that are there by name.
    Conflict,
    /// The connection is reset before the server has read the request.
    Reset,
    /// The request is carried out, and the connection is gone before the answer came.
    AnswerLost,
    /// The connection is gone in the middle of the answer.
    Cut,
    /// The second half of the answer's content is missing, and nothing says so.
    Truncate,
    /// The content of the answer is damaged.
    Garble,
    /// A watch ends after a while, as when the server restarts. Strikes watches.
    WatchClosed {
        /// At least.
        least: Duration,
        /// At most.
        most: Duration,
    },
    /// A watch says at once that its version is too old (410). Strikes watches.
    Gone,
}

impl Fault {
    /// A refusal with a status and the transport's own text.
    pub fn refuse(status: u16) -> Self {
        Self::refuse_saying(status, "")
    }

    /// A refusal with a status and a text.
    pub fn refuse_saying(status: u16, message: &str) -> Self {
        Self::Refuse { status, message: message.to_owned(), retry_after: None }
    }

    /// 429 with `Retry-After`.
    pub fn throttle(seconds: u32) -> Self {
        Self::Refuse { status: 429, message: String::new(), retry_after: Some(seconds) }
    }

    /// One of each, in the order in which a request meets them, for tables.
    pub fn one_of_each() -> [Self; 12] {
        let (least, most) = (Duration::from_secs(1), Duration::from_secs(2));
        [
            Self::Delay { least, most },
            Self::Stall,
            Self::refuse(503),
            Self::Conflict,
            Self::Gone,
            Self::Reset,
            Self::SlowAnswer { least, most },
            Self::AnswerLost,
            Self::Cut,
            Self::Truncate,
            Self::Garble,
            Self::WatchClosed { least, most },
        ]
    }

    /// Whether a request that meets it fails, so that no other failure can follow.
    const fn is_failure(&self) -> bool {
        !matches!(
            self,
            Self::Delay { .. } | Self::Stall | Self::SlowAnswer { .. } | Self::WatchClosed { .. }
        )
    }

    /// Whether it can strike such a request at all.
    fn fits(&self, request: &Request<'_>) -> bool {
        let verb = || request.get(Attribute::Verb).unwrap_or_default();
        match self {
            Self::WatchClosed { .. } | Self::Gone => verb() == "watch",
            Self::Conflict => {
                matches!(verb(), "update" | "patch" | "delete")
                    && request.get(Attribute::Name).is_some_and(|name| !name.is_empty())
            }
            _ => true,
        }
    }
}

/// A rule that was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(u64);

/// What is to happen to one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// How long it takes to arrive; perhaps [`FOREVER`].
    pub delay: Duration,
    /// How long the answer takes.
    pub slow: Duration,
    /// How it fails.
    pub failure: Option<Fault>,
    /// When a watch ends.
    pub watch_ends: Option<Duration>,
}

struct Installed {
    id: RuleId,
    rule: Rule,
    random: Random,
    struck: u64,
}

#[derive(Default)]
struct Rules {
    seed: u64,
    next: u64,
    installed: Vec<Installed>,
}

/// The faults of one server; clones are handles to the same ones, and rules come and go while it runs.
#[derive(Clone)]
pub struct Faults {
    transport: &'static Transport,
    /// How long the server has been there.
    age: Arc<dyn Fn() -> Duration + Send + Sync>,
    rules: Arc<Mutex<Rules>>,
}

impl fmt::Debug for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.lock().installed.len();
        write!(formatter, "Faults({}, {rules} rules)", self.transport.name)
    }
}

impl Faults {
    /// No faults of a server yet. `age` says how long the server has been there, which is what rules count time by.
    pub fn new(
        transport: &'static Transport,
        age: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self { transport, age: Arc::new(age), rules: Arc::default() }
    }

    /// What the server can do.
    pub fn transport(&self) -> &'static Transport {
        self.transport
    }

    /// Takes the random numbers of rules that are installed from now on from a seed.
    pub fn seed(&self, seed: u64) {
        self.lock().seed = seed;
    }

    /// Adds a rule. Rules are looked at in the order in which they came; delays add up, and the first failure decides.
    pub fn install(&self, rule: Rule) -> Result<RuleId, FaultError> {
        self.transport.check(&rule)?;
        let mut rules = self.lock();
        let id = RuleId(rules.next);
        rules.next += 1;
        let random = Random::seeded(rules.seed ^ STREAM ^ (id.0 << 32));
        rules.installed.push(Installed { id, rule, random, struck: 0 });
        Ok(id)
    }

    /// Adds a rule for a while, from now on.
    pub fn install_for(&self, rule: Rule, time: Duration) -> Result<RuleId, FaultError> {
        let now = (self.age)();
        self.install(rule.between(now, now.saturating_add(time)))
    }

    /// Takes a rule away; says how often it struck, or nothing if it was gone.
    pub fn remove(&self, id: RuleId) -> Option<u64> {
        let mut rules = self.lock();
        let at = rules.installed.iter().position(|installed| installed.id == id)?;
        Some(rules.installed.remove(at).struck)
    }

    /// Takes all rules away.
    pub fn clear(&self) {
        self.lock().installed.clear();
    }

    /// How often a rule struck so far.
    pub fn struck(&self, id: RuleId) -> Option<u64> {
        self.lock().installed.iter().find(|installed| installed.id == id).map(|it| it.struck)
    }

    /// What is to happen to a request.
    pub fn plan(&self, request: &Request<'_>) -> Plan {
        let mut plan = Plan::default();
        let mut rules = self.lock();
        if rules.installed.is_empty() {
            return plan;
        }
        let now = (self.age)();
        for installed in &mut rules.installed {
            let Installed { rule, random, struck, .. } = installed;
            let is_about = rule.may_strike(now, *struck)
                && rule.fault.fits(request)
                && rule.scope.holds(request);
            let is_decided = plan.failure.is_some() && rule.fault.is_failure();
            if !is_about || is_decided || random.fraction() >= rule.probability {
                continue;
            }
            *struck += 1;
            plan.add(rule, now, random);
        }
        plan
    }

    fn lock(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plan {
    fn add(&mut self, rule: &Rule, now: Duration, random: &Random) {
        match &rule.fault {
            Fault::Delay { least, most } => {
                self.delay = self.delay.saturating_add(random.duration(*least, *most));
            }
            Fault::Stall => {
                let left = rule.until.map_or(FOREVER, |until| until.saturating_sub(now));
                self.delay = self.delay.saturating_add(left);
            }
            Fault::SlowAnswer { least, most } => self.slow += random.duration(*least, *most),
            Fault::WatchClosed { least, most } => {
                let ends = random.duration(*least, *most);
                self.watch_ends = Some(self.watch_ends.map_or(ends, |sooner| sooner.min(ends)));
            }
            failure => self.failure = Some(failure.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
