//! One rule: which requests, how often, when, and what happens to them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Fault;

/// Something that rules look at in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attribute {
    /// What is asked for: a verb of Kubernetes, a method of HTTP, a command of git's protocol.
    Verb,
    /// Group and kind of a Kubernetes object, as `apps/Deployment`; `/Pod` in the core group.
    Kind,
    /// The part of an object that is written, such as `status`; empty for the object itself.
    Subresource,
    /// The namespace of an object.
    Namespace,
    /// The name of an object.
    Name,
    /// The user of the request, after impersonation.
    User,
    /// The user agent; rules say what it begins with.
    UserAgent,
    /// The address without its scheme; rules say what is in it.
    Address,
}

impl Attribute {
    fn matches(self, wanted: &str, found: &str) -> bool {
        match self {
            Self::UserAgent => found.starts_with(wanted),
            Self::Address => found.contains(wanted),
            _ => found == wanted,
        }
    }
}

/// A request as rules look at it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r>(pub &'r [(Attribute, &'r str)]);

impl<'r> Request<'r> {
    /// An attribute, if the request has it.
    pub fn get(&self, wanted: Attribute) -> Option<&'r str> {
        self.0.iter().find(|(attribute, _)| *attribute == wanted).map(|(_, value)| *value)
    }
}

/// Which requests a rule is about: those with one of the values of each attribute. What is left out is about all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope(BTreeMap<Attribute, BTreeSet<String>>);

impl Scope {
    fn with(mut self, attribute: Attribute, value: impl Into<String>) -> Self {
        self.0.entry(attribute).or_default().insert(value.into());
        self
    }

    /// Requests with one of these verbs.
    #[must_use]
    pub fn verbs<'v>(self, verbs: impl IntoIterator<Item = &'v str>) -> Self {
        verbs.into_iter().fold(self, |scope, verb| scope.with(Attribute::Verb, verb))
    }

    /// Requests about a kind; the core group is empty. Requests about no kind are then not meant.
    #[must_use]
    pub fn kind(self, group: &str, kind: &str) -> Self {
        self.with(Attribute::Kind, format!("{group}/{kind}"))
    }

    /// Requests about a part of objects.
    #[must_use]
    pub fn subresource(self, subresource: &str) -> Self {
        self.with(Attribute::Subresource, subresource)
    }

    /// Requests about objects in a namespace.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        self.with(Attribute::Namespace, namespace)
    }

    /// Requests about objects with a name.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        self.with(Attribute::Name, name)
    }

    /// Requests of a user, after impersonation.
    #[must_use]
    pub fn user(self, user: &str) -> Self {
        self.with(Attribute::User, user)
    }

    /// Requests of programs with a user agent that begins like this.
    #[must_use]
    pub fn user_agent(self, agent: &str) -> Self {
        self.with(Attribute::UserAgent, agent)
    }

    /// Requests to addresses with this text in them.
    #[must_use]
    pub fn address(self, part: &str) -> Self {
        self.with(Attribute::Address, part)
    }

    pub(super) fn wanted(&self) -> impl Iterator<Item = (Attribute, &BTreeSet<String>)> {
        self.0.iter().map(|(attribute, values)| (*attribute, values))
    }

    pub(super) fn holds(&self, request: &Request<'_>) -> bool {
        self.0.iter().all(|(attribute, values)| {
            request
                .get(*attribute)
                .is_some_and(|found| values.iter().any(|wanted| attribute.matches(wanted, found)))
        })
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
    /// When it begins, since the server began.
    pub from: Duration,
    /// When it ends; never, where absent.
    pub until: Option<Duration>,
    /// How often it strikes at most.
    pub count: Option<u64>,
}

impl Rule {
    /// A fault that every request of a scope meets.
    pub fn new(scope: Scope, fault: Fault) -> Self {
        Self { scope, fault, probability: 1.0, from: Duration::ZERO, until: None, count: None }
    }

    /// Only so often, between 0 and 1.
    #[must_use]
    pub fn with_probability(mut self, probability: f64) -> Self {
        self.probability = probability;
        self
    }

    /// Only between two moments, since the server began.
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

    /// Whether it may strike now, having struck so often.
    pub(super) fn may_strike(&self, now: Duration, struck: u64) -> bool {
        self.from <= now
            && self.until.is_none_or(|until| now < until)
            && self.count.is_none_or(|count| struck < count)
    }
}
