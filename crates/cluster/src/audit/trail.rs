//! Collects the audit data of one request. Ends in one event, or in two if the response stays open.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use http::request::Parts;
use http::{HeaderMap, Response};
use serde_json::{Value, json};
use sluice_base::clock::Clock as _;
use sluice_base::time::format_micros;

use super::event::{DECISION, REASON};
use super::{Event, Level, ObjectReference, Sink, Stage, policy};
use crate::auth::{Decision, User};
use crate::body::Body;
use crate::decode;
use crate::request::RequestInfo;
use crate::state::State;
use crate::status::Status;

/// The longest `User-Agent` that is written, and upstream's suffix for one that was cut.
const AGENT_LIMIT: usize = 1024;
const AGENT_CUT: &str = "...TRUNCATED";

/// The trail of one request; empty unless the cluster has an audit log.
pub(crate) struct Trail(Option<Box<Pending>>);

struct Pending {
    state: Arc<State>,
    sink: Arc<dyn Sink>,
    event: Event,
    /// The body and its media type, once the request is allowed.
    body: Option<(String, Bytes)>,
}

impl Trail {
    /// The trail of a request that has just arrived.
    pub(crate) fn begin(
        state: &Arc<State>,
        audit_id: &str,
        parts: &Parts,
        info: &RequestInfo,
        peer: Option<IpAddr>,
    ) -> Self {
        let Some(sink) = &state.audit.0 else { return Self(None) };
        let now = format_micros(state.clock.now());
        let uri = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        let event = Event {
            kind: "Event",
            api_version: "audit.k8s.io/v1",
            level: policy::level(info),
            audit_id: audit_id.to_owned(),
            stage: Stage::ResponseComplete,
            request_uri: uri.to_owned(),
            verb: info.verb,
            user: User::default(),
            impersonated_user: None,
            source_ips: peer.into_iter().collect(),
            user_agent: user_agent(&parts.headers),
            object_ref: info.is_resource.then(|| reference(info)),
            response_status: Value::Null,
            request_object: None,
            request_received_timestamp: now,
            stage_timestamp: String::new(),
            annotations: std::collections::BTreeMap::new(),
        };
        Self(Some(Box::new(Pending {
            state: state.clone(),
            sink: sink.clone(),
            event,
            body: None,
        })))
    }

    /// Whether there is an audit log; data only for the log is not computed otherwise.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Sets the authenticated user.
    pub(crate) fn authenticated(&mut self, user: &User) {
        if let Some(pending) = &mut self.0 {
            pending.event.user = user.clone();
        }
    }

    /// Sets the impersonated user.
    pub(crate) fn impersonated(&mut self, user: &User) {
        if let Some(pending) = &mut self.0 {
            pending.event.impersonated_user = Some(user.clone());
        }
    }

    /// Sets the authorizer's decision.
    pub(crate) fn decided(&mut self, decision: &Decision) {
        if let Some(pending) = &mut self.0 {
            let text = if decision.allowed { "allow" } else { "forbid" };
            pending.event.annotations.insert(DECISION, text.to_owned());
            pending.event.annotations.insert(REASON, decision.reason.clone());
        }
    }

    /// Sets the body, once the request is allowed.
    pub(crate) fn body(&mut self, headers: &HeaderMap, body: &Bytes) {
        let Some(pending) = &mut self.0 else { return };
        let writes = matches!(
            pending.event.verb,
            "create" | "update" | "patch" | "delete" | "deletecollection"
        );
        if writes && pending.event.object_ref.is_some() && !body.is_empty() {
            let text = headers.get(http::header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
            let media_type = text.unwrap_or_default().split(';').next().unwrap_or_default().trim();
            pending.body = Some((media_type.to_owned(), body.clone()));
        }
    }

    /// Writes the event of a failed request.
    pub(crate) fn failed(self, status: &Status) {
        let Some(mut pending) = self.0 else { return };
        let mut shown = status.to_value();
        if status.code == 401 {
            // Upstream's log names the attempted method; the response has only the code.
            let message = "Authentication failed, attempted: bearer";
            shown = json!({"metadata": {}, "message": message, "code": 401});
        } else if status.plain {
            shown = json!({"metadata": {}, "code": status.code});
        }
        pending.respond(shown);
        pending.write(Stage::ResponseComplete);
    }

    /// Writes the event of an answered request. A response that stays open gets its second event at its end.
    pub(crate) fn answered(self, answer: Response<Body>) -> Response<Body> {
        let Some(mut pending) = self.0 else { return answer };
        let code = answer.status().as_u16();
        let mut shown = json!({"metadata": {}, "code": code});
        match answer.body() {
            Body::Whole(bytes) => {
                // The response to a delete is a Status; upstream logs all of it but the metadata.
                let status = bytes
                    .as_deref()
                    .filter(|_| pending.event.verb.starts_with("delete"))
                    .and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok())
                    .filter(|value| value["kind"] == "Status");
                if let Some(mut status) = status {
                    status["code"] = code.into();
                    shown = status;
                }
                pending.respond(shown);
                pending.write(Stage::ResponseComplete);
                answer
            }
            Body::Stream(_) => {
                pending.respond(shown);
                pending.write(Stage::ResponseStarted);
                let open = Open(pending);
                answer.map(|body| match body {
                    Body::Stream(events) => Body::Stream(
                        events
                            .inspect(move |_| {
                                let _ = &open;
                            })
                            .boxed(),
                    ),
                    whole @ Body::Whole(_) => whole,
                })
            }
        }
    }
}

impl Pending {
    /// Sets the status, and the parts of the body that belong into the event.
    fn respond(&mut self, mut status: Value) {
        if let Some(fields) = status.as_object_mut() {
            fields.retain(|name, _| name != "kind" && name != "apiVersion");
            fields.insert("metadata".to_owned(), json!({}));
            let code = fields.get("code").and_then(Value::as_u64).unwrap_or_default();
            if self.event.level == Level::Metadata && matches!(code, 400 | 422 | 500..) {
                // Error messages about a body quote it.
                fields.remove("message");
                fields.remove("details");
            }
        }
        self.event.response_status = status;
        let Some((media_type, body)) = self.body.take() else { return };
        let Some(object) = parse(&media_type, &body) else { return };
        if let Some(reference) = &mut self.event.object_ref
            && reference.name.is_empty()
            && self.event.verb == "create"
        {
            crate::metadata::name(&object).clone_into(&mut reference.name);
        }
        if self.event.level == Level::Request {
            self.event.request_object = Some(object);
        }
    }

    fn write(&mut self, stage: Stage) {
        self.event.stage = stage;
        self.event.stage_timestamp = format_micros(self.state.clock.now());
        self.sink.write(self.event.clone());
    }
}

/// A response that stays open; it is complete when its reader drops it.
struct Open(Box<Pending>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.write(Stage::ResponseComplete);
    }
}

/// The body as JSON, whatever its media type; `None` if it cannot be parsed.
fn parse(media_type: &str, body: &Bytes) -> Option<Value> {
    match media_type {
        "application/apply-patch+yaml" => decode::parse("application/yaml", body),
        json if json.ends_with("+json") => decode::parse("application/json", body),
        other => decode::parse(other, body),
    }
    .ok()
    .map(sluice_schema::gotypes::Document::into_value)
}

fn reference(info: &RequestInfo) -> ObjectReference {
    ObjectReference {
        resource: info.resource.clone(),
        namespace: info.namespace.clone(),
        name: info.name.clone(),
        api_group: info.group.clone(),
        api_version: info.version.clone(),
        subresource: info.subresource.clone(),
    }
}

fn user_agent(headers: &HeaderMap) -> String {
    let agent = headers.get(http::header::USER_AGENT).map(http::HeaderValue::as_bytes);
    let agent = String::from_utf8_lossy(agent.unwrap_or_default()).into_owned();
    match agent.char_indices().nth(AGENT_LIMIT) {
        Some((end, _)) => format!("{}{AGENT_CUT}", &agent[..end]),
        None => agent,
    }
}
