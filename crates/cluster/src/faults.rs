//! The faults of the API server: what it can do of [`sluice_base::fault`], and how it looks to a client.
//!
//! Faults strike once the user of a request is known. Requests of the cluster's own controllers meet none; they are
//! not made over a connection.

use bytes::Bytes;
use futures::StreamExt as _;
use http::Response;
use serde_json::json;
use sluice_base::fault::{Attribute, Fault, Plan, Request, Transport};
use sluice_base::go::quote;

use crate::body::Body;
use crate::request::RequestInfo;
use crate::service::Arrived;
use crate::state::State;
use crate::status::Status;

/// What the API server can do. It cannot damage answers: their bodies are whole objects or streams of them.
pub static TRANSPORT: Transport = Transport {
    name: "cluster",
    verbs: &["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"],
    attributes: &[
        Attribute::Verb,
        Attribute::Kind,
        Attribute::Subresource,
        Attribute::Namespace,
        Attribute::Name,
        Attribute::User,
        Attribute::UserAgent,
        Attribute::Address,
    ],
    can: |fault| !matches!(fault, Fault::Cut | Fault::Truncate | Fault::Garble),
};

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

/// What is to happen to a request of a user.
pub(crate) fn plan(state: &State, arrived: &Arrived<'_>, user: &str) -> Plan {
    let (info, headers) = (&arrived.info, &arrived.parts.headers);
    let agent = headers.get(http::header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let resource = state.registry.find(&info.group, &info.version, &info.resource);
    let kind = resource.map(|resource| format!("{}/{}", info.group, resource.kind));
    let mut attributes = vec![
        (Attribute::Verb, info.verb),
        (Attribute::Subresource, info.subresource.as_str()),
        (Attribute::Namespace, info.namespace.as_str()),
        (Attribute::Name, info.name.as_str()),
        (Attribute::User, user),
        (Attribute::UserAgent, agent.unwrap_or_default()),
        (Attribute::Address, &arrived.path),
    ];
    attributes.extend(kind.as_deref().map(|kind| (Attribute::Kind, kind)));
    state.faults.plan(&Request(&attributes))
}

/// How a request fails before anything is done, if it does.
pub(crate) fn refusal(plan: &Plan, info: &RequestInfo) -> Option<Refusal> {
    let answer = |status: Status| Some(Refusal::Answer(Box::new(status)));
    match plan.failure.as_ref()? {
        Fault::Refuse { status, message, retry_after } => {
            let mut refused = refused(*status, *retry_after);
            if !message.is_empty() {
                refused.message.clone_from(message);
            }
            answer(refused)
        }
        Fault::Conflict => answer(Status::modified(&info.group, &info.resource, &info.name)),
        Fault::Reset => Some(Refusal::Reset),
        Fault::Gone => Some(Refusal::Gone),
        // The answer is lost afterwards.
        Fault::AnswerLost => None,
        other => answer(Status::internal(&format!("the {} cannot do {other:?}", TRANSPORT.name))),
    }
}

/// Ends a watch when its time has come.
pub(crate) fn shorten(plan: &Plan, answer: Response<Body>) -> Response<Body> {
    let Some(ends) = plan.watch_ends else { return answer };
    answer.map(|body| match body {
        Body::Stream(events) => {
            let end = Box::pin(tokio::time::sleep(ends));
            Body::Stream(events.take_until(end).boxed())
        }
        whole @ Body::Whole(_) => whole,
    })
}

/// The one event of a watch whose version is too old.
pub(crate) fn gone() -> Bytes {
    let status = Status::expired("too old resource version: the history was compacted").to_value();
    format!("{{\"type\":{},\"object\":{status}}}\n", quote("ERROR")).into()
}

/// A refusal in the API server's words; 429 as priority and fairness answers it.
fn refused(code: u16, retry_after: Option<u32>) -> Status {
    let (reason, message) = match code {
        401 => ("Unauthorized", "Unauthorized"),
        403 => ("Forbidden", "forbidden"),
        404 => ("NotFound", "the server could not find the requested resource"),
        429 => ("TooManyRequests", "Too many requests, please try again later."),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504 => ("Timeout", "Timeout: request did not complete within the allotted timeout"),
        code => return Status { code, ..Status::internal("etcdserver: request timed out") },
    };
    let status = Status::new(code, reason, message);
    match (code, retry_after) {
        (429, None) => status.with_details(json!({"retryAfterSeconds": 1})),
        (_, Some(seconds)) => status.with_details(json!({"retryAfterSeconds": seconds})),
        _ => status,
    }
}
