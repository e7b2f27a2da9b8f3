//! Sends a script's requests and keeps what comes back.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use crate::script::{Condition, Reading, Script, Step};
use crate::target::{Server, Target, TargetError};

/// How long a stream may stay silent before what came is taken as all.
const SILENCE: Duration = Duration::from_millis(2500);
/// How long a stream that should stay silent is listened to.
const QUIET: Duration = Duration::from_millis(400);
/// How often, and how many times, an `until` is tried.
const POLL: (Duration, usize) = (Duration::from_millis(100), 300);
/// Headers that clients act on; the others say when and by whom, not what.
const HEADERS: [&str; 6] =
    ["content-type", "warning", "retry-after", "location", "www-authenticate", "allow"];

/// One request and the answer to it, as it came.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The step's title.
    pub title: String,
    /// Method and path, with variables as written.
    pub request: String,
    /// The answer's status code.
    pub status: u16,
    /// The compared headers; a repeated one has several values.
    pub headers: BTreeMap<String, Vec<String>>,
    /// The answer's body.
    pub payload: Payload,
    /// Whether a JSON body was indented.
    pub indented: bool,
    /// The texts of `fieldsV1` whose keys do not come in plain sorted order.
    pub unsorted_fields: Vec<String>,
    /// Paths that the step asks to leave out.
    pub masks: Vec<String>,
    /// Lists whose order means nothing.
    pub unordered: Vec<String>,
    /// Played only to bring about a state.
    pub quiet: bool,
    /// Whether the step waited for something that did not come about.
    pub unmet: bool,
}

/// An answer's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Nothing.
    Empty,
    /// A JSON document.
    Json(Value),
    /// Another text.
    Text(String),
    /// The events of a stream in their order.
    Events(Vec<Value>),
}

/// Why a script could not be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The server cannot be reached.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The request cannot be put together.
    #[error("`{0}`: the request is malformed")]
    Request(String, #[source] http::Error),
    /// No answer came.
    #[error("`{0}`: no answer")]
    Answer(String, #[source] kube::Error),
    /// The script's namespace did not become usable.
    #[error("namespace {0} did not become usable: {1}")]
    Namespace(String, String),
    /// A step reads a stream that no step has opened.
    #[error("`{0}`: no stream is called {1}")]
    Stream(String, String),
}

/// Plays a script from its first to its last step.
pub async fn play(script: &Script, target: &Target) -> Result<Vec<Exchange>, PlayError> {
    let server = target.server(script).await?;
    let mut session = Session {
        client: server.client(None)?,
        server,
        variables: BTreeMap::from([("ns".to_owned(), script.own_namespace())]),
        streams: BTreeMap::new(),
    };
    if script.namespace {
        session.prepare_namespace(&script.own_namespace()).await?;
    }
    let mut exchanges = Vec::with_capacity(script.steps.len());
    let mut stopped = None;
    for step in &script.steps {
        match session.step(step).await {
            Ok(exchange) => exchanges.push(exchange),
            Err(error) => {
                stopped = Some(error);
                break;
            }
        }
    }
    session.streams.clear();
    if script.namespace {
        let path = format!("/api/v1/namespaces/{}", script.own_namespace());
        // No kubelet is there to end pods that were bound to a node.
        let pods = format!("{path}/pods?gracePeriodSeconds=0");
        session.plain("DELETE", &pods, String::new()).await?;
        session.plain("DELETE", &path, String::new()).await?;
    }
    match stopped {
        Some(error) => Err(error),
        None => Ok(exchanges),
    }
}

struct Session {
    server: Server,
    client: Client,
    variables: BTreeMap<String, String>,
    streams: BTreeMap<String, (Exchange, Lines)>,
}

impl Session {
    /// Makes the namespace and waits for what its controllers put into it.
    async fn prepare_namespace(&self, name: &str) -> Result<(), PlayError> {
        let path = format!("/api/v1/namespaces/{name}");
        let body =
            format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
        let mut last = String::new();
        let mut made = false;
        for _ in 0..POLL.1 * 2 {
            if !made {
                let (status, text) = self.plain("POST", "/api/v1/namespaces", body.clone()).await?;
                made = status == 201;
                last = text;
            }
            if made {
                let account = self
                    .plain("GET", &format!("{path}/serviceaccounts/default"), String::new())
                    .await?;
                let authority = self
                    .plain("GET", &format!("{path}/configmaps/kube-root-ca.crt"), String::new())
                    .await?;
                if account.0 == 200 && authority.0 == 200 {
                    return Ok(());
                }
                last = account.1;
            }
            tokio::time::sleep(POLL.0).await;
        }
        Err(PlayError::Namespace(name.to_owned(), last))
    }

    async fn plain(
        &self,
        method: &str,
        path: &str,
        body: String,
    ) -> Result<(u16, String), PlayError> {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .body(Body::from(body.into_bytes()))
            .map_err(|error| PlayError::Request(path.to_owned(), error))?;
        let answer = self.client.send(request).await;
        let answer = answer.map_err(|error| PlayError::Answer(path.to_owned(), error))?;
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect().await;
        let bytes = bytes.map_err(|error| PlayError::Answer(path.to_owned(), error))?.to_bytes();
        Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
    }

    async fn step(&mut self, step: &Step) -> Result<Exchange, PlayError> {
        let mut exchange = if step.method == "EVENTS" {
            self.read_stream(step).await?
        } else {
            let mut left = POLL.1;
            loop {
                let mut exchange = self.send(step).await?;
                left -= 1;
                exchange.unmet = left == 0;
                if left == 0 || step.until.iter().all(|condition| holds(condition, &exchange)) {
                    break exchange;
                }
                tokio::time::sleep(POLL.0).await;
            }
        };
        exchange.quiet = step.quiet;
        if let Payload::Json(document) = &exchange.payload {
            for (name, pointer) in &step.captures {
                let value = match document.pointer(pointer) {
                    Some(Value::String(text)) => text.clone(),
                    Some(value) => value.to_string(),
                    None => String::new(),
                };
                self.variables.insert(name.clone(), value);
            }
        }
        Ok(exchange)
    }

    async fn send(&mut self, step: &Step) -> Result<Exchange, PlayError> {
        let body = match &step.bytes {
            Some(bytes) => bytes.clone(),
            None => self.fill(&step.body).into_bytes(),
        };
        let mut request =
            http::Request::builder().method(step.method.as_str()).uri(self.fill(&step.path));
        let mut client = self.client.clone();
        let mut typed = false;
        for (name, value) in &step.headers {
            let value = self.fill(value);
            request = match name.as_str() {
                "As" => request.header("impersonate-user", value),
                "As-Group" => request.header("impersonate-group", value),
                "Token" => {
                    client = self.server.client(Some(&value))?;
                    request
                }
                name => {
                    typed |= name.eq_ignore_ascii_case("content-type");
                    request.header(name, value)
                }
            };
        }
        if !typed && !body.is_empty() {
            let json = body.starts_with(b"{") || body.starts_with(b"[");
            request = request
                .header("content-type", if json { "application/json" } else { "application/yaml" });
        }
        // The manager of a write without `fieldManager` is the first part of this.
        request = request.header("user-agent", "conformance/1.0");
        let request = request
            .body(Body::from(body))
            .map_err(|error| PlayError::Request(step.title.clone(), error))?;
        let failed = |error| PlayError::Answer(step.title.clone(), error);
        let answer = client.send(request).await.map_err(failed)?;
        let mut exchange = Exchange {
            title: step.title.clone(),
            request: format!("{} {}", step.method, step.path),
            status: answer.status().as_u16(),
            headers: BTreeMap::new(),
            payload: Payload::Empty,
            indented: false,
            unsorted_fields: Vec::new(),
            masks: step.masks.clone(),
            unordered: step.unordered.clone(),
            quiet: false,
            unmet: false,
        };
        for name in HEADERS {
            let values = answer.headers().get_all(name).iter();
            let values: Vec<_> =
                values.map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned()).collect();
            if !values.is_empty() {
                exchange.headers.insert(name.to_owned(), values);
            }
        }
        if answer.status().is_success() {
            match &step.reading {
                Reading::Whole => {}
                Reading::Events { count, then_quiet } => {
                    let mut lines = Lines::new(answer.into_body());
                    let events = lines.read(*count, *then_quiet).await;
                    exchange.payload = Payload::Events(events);
                    return Ok(exchange);
                }
                Reading::Open(name) => {
                    let lines = Lines::new(answer.into_body());
                    self.streams.insert(name.clone(), (exchange.clone(), lines));
                    return Ok(exchange);
                }
            }
        }
        let bytes = answer.into_body().collect().await.map_err(failed)?.to_bytes();
        exchange.take_body(&bytes);
        Ok(exchange)
    }

    async fn read_stream(&mut self, step: &Step) -> Result<Exchange, PlayError> {
        let (name, count) = step.path.split_once(' ').unwrap_or((&step.path, "1"));
        let (opening, lines) = self
            .streams
            .get_mut(name)
            .ok_or_else(|| PlayError::Stream(step.title.clone(), name.to_owned()))?;
        let (count, quiet) = count.split_once(' ').unwrap_or((count, ""));
        let events = lines.read(count.parse().unwrap_or(1), quiet == "then quiet").await;
        Ok(Exchange {
            title: step.title.clone(),
            request: format!("EVENTS {}", step.path),
            payload: Payload::Events(events),
            masks: step.masks.clone(),
            ..opening.clone()
        })
    }

    fn fill(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, value) in &self.variables {
            filled = filled.replace(&format!("{{{{{name}}}}}"), value);
        }
        filled
    }
}

impl Exchange {
    fn take_body(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        if text.is_empty() {
            return;
        }
        match serde_json::from_str(&text) {
            Ok(document) => {
                self.indented = text.contains("\n  ");
                self.unsorted_fields = unsorted_fields(&text);
                self.payload = Payload::Json(document);
            }
            Err(_) => self.payload = Payload::Text(text.into_owned()),
        }
    }
}

/// The texts of `fieldsV1` that differ from the same object with its keys sorted as strings.
fn unsorted_fields(text: &str) -> Vec<String> {
    const KEY: &str = "\"fieldsV1\":";
    let mut found = Vec::new();
    for (at, _) in text.match_indices(KEY) {
        let rest = &text[at + KEY.len()..];
        let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(value)) = documents.next() else { continue };
        let raw = rest[..documents.byte_offset()].trim();
        let compact: String = raw.lines().map(str::trim).collect();
        let sorted = value.to_string();
        if compact.replace(": {", ":{") != sorted {
            found.push(compact);
        }
    }
    found
}

fn holds(condition: &Condition, exchange: &Exchange) -> bool {
    let document = match &exchange.payload {
        Payload::Json(document) => Some(document),
        _ => None,
    };
    let at = |pointer: &str| document.and_then(|document| document.pointer(pointer));
    match condition {
        Condition::Equals(pointer, value) => exchange.status < 400 && at(pointer) == Some(value),
        Condition::Exists(pointer) => exchange.status < 400 && at(pointer).is_some(),
        Condition::Absent(pointer) => exchange.status < 400 && at(pointer).is_none(),
        Condition::Status(code) => exchange.status == *code,
    }
}

struct Lines {
    stream: http_body_util::BodyDataStream<Body>,
    buffer: Vec<u8>,
}

impl Lines {
    fn new(body: Body) -> Self {
        Self { stream: body.into_data_stream(), buffer: Vec::new() }
    }

    async fn read(&mut self, count: usize, then_quiet: bool) -> Vec<Value> {
        let mut events = Vec::new();
        while events.len() < count {
            match self.next(SILENCE).await {
                Some(event) => events.push(event),
                None => return events,
            }
        }
        if then_quiet {
            while let Some(event) = self.next(QUIET).await {
                events.push(event);
            }
        }
        events
    }

    async fn next(&mut self, patience: Duration) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                let text = String::from_utf8_lossy(&line).into_owned();
                return Some(serde_json::from_str(&text).unwrap_or(Value::String(text)));
            }
            match tokio::time::timeout(patience, self.stream.next()).await {
                Ok(Some(Ok(chunk))) => self.buffer.extend_from_slice(&chunk),
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_set_is_kept_as_text_when_its_keys_are_not_sorted() {
        let sorted = r#"{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{".":{},"f:b":{}}}}]}}"#;
        assert!(unsorted_fields(sorted).is_empty());
        let indented = "{\"fieldsV1\": {\n  \"f:a\": {\n    \"f:b\": {}\n  }\n}}";
        assert!(unsorted_fields(indented).is_empty());
        let unsorted = r#"{"fieldsV1":{"f:b":{},"f:a":{}}}"#;
        assert_eq!(unsorted_fields(unsorted), [r#"{"f:b":{},"f:a":{}}"#]);
    }
}
