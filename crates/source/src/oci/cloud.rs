//! Logins of clouds for their registries: the identity of this process becomes a name and a password.
//!
//! Each cloud first gives an access token to whoever runs here (`aws`, `azure`, `gcp`), the way its own
//! libraries look for it, and then its registry takes that. Nothing here reads the environment: it is
//! handed in, and with it the addresses of token servers, as the clouds' own variables name them.

mod aws;
mod azure;
mod gcp;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::credentials::Credentials;
use super::name::{Repository, SCHEME};
use super::wire::Wire;
use crate::http::{HttpOptions, Proxy};

/// An answer of a token server is not larger.
const ANSWER: u64 = 1 << 20;
/// A login is renewed so long before it runs out.
const MARGIN: SignedDuration = SignedDuration::from_mins(1);
/// As many logins are remembered; beyond, all are forgotten.
const KEPT: usize = 1024;

/// Why there is no login.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CloudError(String);

/// Reads a file.
pub type ReadFile = dyn Fn(&str) -> std::io::Result<String> + Send + Sync;

/// What the process was started with, as far as clouds look at it.
#[derive(Clone)]
pub struct CloudEnvironment {
    /// Variables by name.
    pub variables: BTreeMap<String, String>,
    /// Reads a file that a variable names: tokens are renewed there.
    pub read: Arc<ReadFile>,
}

impl Default for CloudEnvironment {
    /// Nothing at all.
    fn default() -> Self {
        let read = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        Self { variables: BTreeMap::new(), read: Arc::new(read) }
    }
}

impl CloudEnvironment {
    fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// An address that a variable may name.
    fn address(&self, name: &str, default: &str) -> String {
        self.get(name).unwrap_or(default).trim_end_matches('/').to_owned()
    }

    fn file(&self, path: &str) -> Result<String, CloudError> {
        let read = (self.read)(path);
        read.map_err(|error| CloudError(format!("cannot read the token file {path}: {error}")))
    }
}

/// A login, and until when it is good.
#[derive(Clone)]
struct Login {
    credentials: Credentials,
    until: Timestamp,
}

/// Logs in to registries of clouds. Logins are remembered until shortly before they run out.
#[derive(Clone)]
pub struct Clouds {
    wire: Arc<dyn Wire>,
    environment: CloudEnvironment,
    known: Arc<Mutex<BTreeMap<String, Login>>>,
}

impl fmt::Debug for Clouds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Clouds").finish_non_exhaustive()
    }
}

impl Clouds {
    /// Token servers that are reached like this, for who runs in this environment.
    pub fn new(wire: Arc<dyn Wire>, environment: CloudEnvironment) -> Self {
        Self { wire, environment, known: Arc::default() }
    }

    /// Logs in to the registry of an address, with the provider `aws`, `azure` or `gcp`.
    pub async fn log_in(
        &self,
        provider: &str,
        url: &str,
        proxy: Option<Proxy>,
        now: Timestamp,
    ) -> Result<Credentials, CloudError> {
        let name = url.strip_prefix(SCHEME).unwrap_or(url);
        let repository = Repository::parse(name).map_err(|error| {
            CloudError(format!("failed to parse artifact repository '{name}': {error}"))
        })?;
        let registry = repository.registry();
        let key = format!("{provider} {registry}");
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(login) = lock().get(&key).filter(|login| login.until > now + MARGIN) {
            return Ok(login.credentials.clone());
        }
        let asking =
            Asking { clouds: self, connection: HttpOptions { proxy, ..HttpOptions::default() } };
        let login = match provider {
            "aws" => aws::log_in(&asking, registry, now).await?,
            "azure" => azure::log_in(&asking, registry, now).await?,
            "gcp" => gcp::log_in(&asking, registry, now).await?,
            other => return Err(CloudError(format!("provider '{other}' is not supported"))),
        };
        let credentials = login.credentials.clone();
        let mut known = lock();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, login);
        Ok(credentials)
    }
}

/// Questions to token servers.
struct Asking<'c> {
    clouds: &'c Clouds,
    connection: HttpOptions,
}

impl Asking<'_> {
    fn environment(&self) -> &CloudEnvironment {
        &self.clouds.environment
    }

    /// Sends a request; an answer that is no yes is an error that shows its beginning.
    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<Bytes, CloudError> {
        let mut request = Request::builder().method(method.clone()).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Bytes::from(body))
            .map_err(|error| CloudError(format!("{method} {url}: {error}")))?;
        let answer = self.clouds.wire.send(&self.connection, request, ANSWER).await;
        let answer = answer.map_err(|error| CloudError(format!("{method} {url}: {error}")))?;
        if answer.status() == StatusCode::OK {
            return Ok(answer.into_body());
        }
        let text = String::from_utf8_lossy(answer.body()).into_owned();
        let shown: String = text.chars().take(512).collect();
        Err(CloudError(format!("{method} {url}: {} {shown}", answer.status())))
    }

    async fn json(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<Value, CloudError> {
        let answer = self.send(method.clone(), url, headers, body).await?;
        serde_json::from_slice(&answer)
            .map_err(|_| CloudError(format!("{method} {url}: the answer is not JSON")))
    }
}

/// A text that an answer has to have.
fn text<'v>(answer: &'v Value, pointer: &str) -> Result<&'v str, CloudError> {
    let found = answer.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    found.ok_or_else(|| CloudError(format!("the answer lacks {pointer}")))
}

/// How long something is good that is so many seconds old at the most, given as a number or as text.
fn lasting(answer: &Value, pointer: &str, now: Timestamp) -> Timestamp {
    let seconds = match answer.pointer(pointer) {
        Some(Value::Number(number)) => number.as_i64(),
        Some(Value::String(text)) => text.parse().ok(),
        _ => None,
    };
    now + SignedDuration::from_secs(seconds.unwrap_or_default().clamp(0, 86_400))
}
