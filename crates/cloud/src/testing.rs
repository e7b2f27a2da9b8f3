//! Test doubles: a settable clock, servers by URL, service accounts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use sluice_base::clock::Clock;
use sluice_base::redacted::Redacted;

use crate::{
    AccountError, AccountName, Accounts, Answer, Answering, Clouds, CloudsParts, Environment, Http,
};

/// The start time of all tests.
pub(crate) const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// The result of a future that never waits.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

/// The result of a future that waits only for its own parts.
pub(crate) fn drive<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut future = std::pin::pin!(future);
    for _ in 0..100 {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
    panic!("it waits for something else");
}

/// A clock that tests set.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<Mutex<Timestamp>>);

impl Default for TestClock {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(START)))
    }
}

impl TestClock {
    pub(crate) fn pass(&self, seconds: i64) {
        *self.0.lock().expect("no panic before") += SignedDuration::from_secs(seconds);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().expect("no panic before")
    }
}

/// Servers by the prefix of a request; records requests with their headers.
#[derive(Clone, Default)]
pub(crate) struct Servers {
    answers: Arc<Mutex<BTreeMap<String, (u16, String)>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Servers {
    pub(crate) fn put(&self, start: &str, body: impl Into<String>) {
        self.refuse(start, 200, body);
    }

    pub(crate) fn refuse(&self, start: &str, status: u16, body: impl Into<String>) {
        let mut answers = self.answers.lock().expect("no panic before");
        answers.insert(start.to_owned(), (status, body.into()));
    }

    /// The requests since the last call.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().expect("no panic before"))
    }
}

impl Http for Servers {
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
        let line = format!("{} {}", request.method(), request.uri());
        let mut headers: Vec<String> = request
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_str().unwrap_or_default()))
            .collect();
        headers.sort();
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let asked = format!("{line} {body} {}", headers.join(" "));
        self.asked.lock().expect("no panic before").push(asked);
        let answers = self.answers.lock().expect("no panic before");
        let found = answers.iter().rev().find(|(start, _)| line.starts_with(start.as_str()));
        let answer = found.map(|(_, answer)| answer.clone());
        let (status, body) = answer.unwrap_or((404, String::new()));
        let response = Response::builder().status(status).body(body.into_bytes());
        Box::pin(std::future::ready(Ok(response.expect("the status is one"))))
    }
}

/// Accounts of a namespace `apps` by name, with their annotations. Their tokens name account and audience.
#[derive(Default, Clone)]
pub(crate) struct Known(pub(crate) BTreeMap<String, BTreeMap<String, String>>);

impl Known {
    pub(crate) fn one(name: &str, annotations: &[(&str, &str)]) -> Self {
        let pairs = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Self(BTreeMap::from([(name.to_owned(), pairs.collect())]))
    }
}

impl Accounts for Known {
    fn annotations<'a>(
        &'a self,
        account: &'a AccountName,
    ) -> Answering<'a, BTreeMap<String, String>, AccountError> {
        let found = self.0.get(&account.name).cloned().ok_or_else(|| AccountError {
            is_missing: true,
            message: format!("serviceaccounts \"{}\" not found", account.name),
        });
        Box::pin(std::future::ready(found))
    }

    fn token<'a>(
        &'a self,
        account: &'a AccountName,
        audiences: &'a [String],
    ) -> Answering<'a, Redacted<String>, String> {
        let exp = START.as_second() + 3600;
        let token = crate::jwt::unsigned(&serde_json::json!({
            "sub": format!("system:serviceaccount:{}:{}", account.namespace, account.name),
            "aud": audiences, "exp": exp,
        }));
        Box::pin(std::future::ready(Ok(token.into())))
    }

    /// An API server that accepts tokens for `api` only.
    fn is_taken<'a>(&'a self, token: &'a str) -> Answering<'a, bool, String> {
        let is_taken = crate::jwt::audiences(token).contains(&"api".to_owned());
        Box::pin(std::future::ready(Ok(is_taken)))
    }
}

/// An environment with variables and one file, `/token`.
pub(crate) fn environment(variables: &[(&str, &str)]) -> Environment {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let read = |path: &str| match path {
        "/token" => Ok("a-token\n".to_owned()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    Environment { variables: variables.collect(), read: Arc::new(read) }
}

/// Clouds with these servers and accounts.
pub(crate) fn clouds(servers: &Servers, accounts: Known, variables: &[(&str, &str)]) -> Clouds {
    clouds_at(servers, accounts, variables, &TestClock::default())
}

/// The same with a clock.
pub(crate) fn clouds_at(
    servers: &Servers,
    accounts: Known,
    variables: &[(&str, &str)],
    clock: &TestClock,
) -> Clouds {
    Clouds::new(CloudsParts {
        environment: environment(variables),
        http: Arc::new(servers.clone()),
        accounts: Arc::new(accounts),
        clock: Arc::new(clock.clone()),
        limits: crate::CacheLimits::default(),
        allows_accounts: true,
        trusted_hosts: Vec::new(),
    })
}
