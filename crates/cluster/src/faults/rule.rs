//! One rule: which requests, how often, when, and what happens to them.

use std::collections::BTreeSet;
use std::time::Duration;

use super::MatchedRequest;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It takes a while to arrive.
    Delay {
        /// At least.
        least: Duration,
        /// At most.
        most: Duration,
    },
    /// It is carried out at once, and the answer takes a while.
    SlowAnswer {
        /// At least.
        least: Duration,
        /// At most.
        most: Duration,
    },
    /// 429 with `Retry-After`; nothing is done.
    TooManyRequests {
        /// Seconds.
        retry_after: u32,
    },
    /// 500, 503 or 504; nothing is done.
    ServerError {
        /// The HTTP status.
        code: u16,
    },
    /// 409 as of a lost race; nothing is done. Strikes writes to objects that are there by name.
    Conflict,
    /// The connection is reset before the server has read the request.
    Reset,
    /// The request is carried out, and the connection is gone before the answer came.
    AnswerLost,
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
    /// Whether a request that meets it has failed, so that no other failure can follow.
    pub(super) const fn is_failure(self) -> bool {
        !matches!(self, Self::Delay { .. } | Self::SlowAnswer { .. } | Self::WatchClosed { .. })
    }

    /// Whether it can strike such a request at all.
    fn fits(self, request: &MatchedRequest<'_>) -> bool {
        match self {
            Self::WatchClosed { .. } | Self::Gone => request.info.verb == "watch",
            Self::Conflict => {
                matches!(request.info.verb, "update" | "patch" | "delete")
                    && !request.info.name.is_empty()
            }
            _ => true,
        }
    }
}

/// Which requests a rule is about. What is left out is about all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verbs: BTreeSet<&'static str>,
    /// Group and kind; the core group is empty. A request that is about no kind is then not meant.
    pub kinds: BTreeSet<(String, String)>,
    /// The part of an object that is written, such as `status`; empty for the object itself.
    pub subresource: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: Option<String>,
    /// The user who asks, after impersonation.
    pub user: Option<String>,
    /// What the user agent begins with.
    pub user_agent: Option<String>,
}

impl Scope {
    /// All requests with one of these verbs.
    #[must_use]
    pub fn verbs(mut self, verbs: impl IntoIterator<Item = &'static str>) -> Self {
        self.verbs.extend(verbs);
        self
    }

    /// Requests about a kind.
    #[must_use]
    pub fn kind(mut self, group: &str, kind: &str) -> Self {
        self.kinds.insert((group.to_owned(), kind.to_owned()));
        self
    }

    /// Requests about a part of objects.
    #[must_use]
    pub fn subresource(mut self, subresource: &str) -> Self {
        self.subresource = Some(subresource.to_owned());
        self
    }

    /// Requests of programs whose user agent begins like this.
    #[must_use]
    pub fn user_agent(mut self, agent: &str) -> Self {
        self.user_agent = Some(agent.to_owned());
        self
    }

    fn holds(&self, request: &MatchedRequest<'_>) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        let info = request.info;
        let kind = request.kind.map(|kind| (info.group.clone(), kind.to_owned()));
        (self.verbs.is_empty() || self.verbs.contains(info.verb))
            && (self.kinds.is_empty() || kind.is_some_and(|kind| self.kinds.contains(&kind)))
            && is(&self.subresource, &info.subresource)
            && is(&self.namespace, &info.namespace)
            && is(&self.name, &info.name)
            && is(&self.user, request.user)
            && self.user_agent.as_ref().is_none_or(|agent| request.agent.starts_with(agent))
    }
}

/// A fault for some requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Which requests.
    pub scope: Scope,
    /// What happens to them.
    pub fault: Fault,
    /// How often, between 0 and 1.
    pub probability: f64,
    /// When it begins, since the cluster began.
    pub from: Duration,
    /// When it ends; never, where absent.
    pub until: Option<Duration>,
    /// How often it strikes at most.
    pub count: Option<u64>,
}

impl Rule {
    /// A fault that every request of a scope meets, from now on.
    pub fn new(scope: Scope, fault: Fault) -> Self {
        Self { scope, fault, probability: 1.0, from: Duration::ZERO, until: None, count: None }
    }

    /// Only so often, between 0 and 1.
    #[must_use]
    pub fn with_probability(mut self, probability: f64) -> Self {
        self.probability = probability;
        self
    }

    /// Only between two moments, since the cluster began.
    #[must_use]
    pub fn between(mut self, from: Duration, until: Duration) -> Self {
        (self.from, self.until) = (from, Some(until));
        self
    }

    /// Only so many times.
    #[must_use]
    pub fn times(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }

    /// Whether it may strike a request, having struck so often.
    pub(super) fn is_about(&self, request: &MatchedRequest<'_>, struck: u64) -> bool {
        self.from <= request.now
            && self.until.is_none_or(|until| request.now < until)
            && self.count.is_none_or(|count| struck < count)
            && self.fault.fits(request)
            && self.scope.holds(request)
    }
}
