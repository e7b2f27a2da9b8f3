//! From an HTTP request to a response: authentication, authorization, routing.
//!
//! The order is upstream's: authentication, impersonation, authorization, then the handler. Faults are
//! injected after authentication, because rules can select users.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Limited};
use sluice_base::fault::{FOREVER, Fault};

use crate::audit::Trail;
use crate::auth::{Attributes, User};
use crate::body::{self, Body};
use crate::call::Call;
use crate::faults::{self, ConnectionLost, Refusal};
use crate::negotiate::{self, Encoding};
use crate::request::{Query, RequestInfo, percent_decode};
use crate::state::State;
use crate::status::Status;
use crate::{auth, crd, endpoints, verbs};

/// The end of a request without its regular response.
enum Failed {
    /// A failure response.
    Status(Box<Status>),
    /// A lost connection, with the response that the client does not receive, if there was one.
    Lost { why: ConnectionLost, answer: Option<Result<Box<Response<Body>>, Box<Status>>> },
}

impl From<Status> for Failed {
    fn from(status: Status) -> Self {
        Self::Status(Box::new(status))
    }
}

/// The largest body that is read.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// A request after reading.
pub(crate) struct Arrived<'a> {
    pub(crate) parts: &'a http::request::Parts,
    pub(crate) path: String,
    pub(crate) info: RequestInfo,
    query: Query,
    /// The body, or that it is too large. Reported only after authorization.
    body: Result<Bytes, Status>,
}

/// How a request reached the server, which decides what a missing credential means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From within the process: the administrator, unless the request names another user.
    InProcess,
    /// Over a socket: anonymous, unless the request carries a credential.
    Socket,
}

/// The API server as a [`tower::Service`]; cheap to clone.
#[derive(Clone)]
pub struct ClusterService {
    state: Arc<State>,
    origin: Origin,
    /// The address of the client; `None` within the process.
    peer: Option<IpAddr>,
}

impl ClusterService {
    pub(crate) fn new(state: Arc<State>, origin: Origin) -> Self {
        Self { state, origin, peer: None }
    }

    /// The same service for one connection.
    pub(crate) fn of_peer(&self, peer: IpAddr) -> Self {
        Self { peer: Some(peer), ..self.clone() }
    }

    /// Answers one request. Failures are responses too, unless a fault breaks the connection.
    async fn answer<B>(self, request: Request<B>) -> Result<Response<Body>, ConnectionLost>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let audit_id = self.state.random.uuid();
        let (parts, body) = request.into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let wanted = negotiate::negotiate(&parts.headers, &query);
        // If no supported type is acceptable, the error is indented JSON.
        let encoding = wanted.as_ref().map_or(Encoding::Indented, |wanted| wanted.encoding);
        let path = percent_decode(parts.uri.path(), false);
        let info = RequestInfo::parse(&parts.method, &path, &query);
        let mut trail = Trail::begin(&self.state, &audit_id, &parts, &info, self.peer);
        let body = Limited::new(body, BODY_LIMIT).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes).map_err(|_| {
            let message = format!("Request entity too large: limit is {BODY_LIMIT}");
            Status::new(413, "RequestEntityTooLarge", message)
        });
        let request = Arrived { parts: &parts, path, info, query, body };
        let result = self.route(request, &mut trail).await;
        let mut response = match result {
            Ok(response) => trail.answered(response),
            Err(Failed::Status(status)) => {
                trail.failed(&status);
                body::failure(encoding, &status)
            }
            Err(Failed::Lost { why, answer }) => {
                // The audit log has the response even if the client does not receive it.
                match answer {
                    None => {}
                    Some(Ok(answer)) => drop(trail.answered(*answer)),
                    Some(Err(status)) => trail.failed(&status),
                }
                return Err(why);
            }
        };
        if parts.method == http::Method::HEAD {
            *response.body_mut() = Body::Whole(None);
        }
        if let Ok(value) = HeaderValue::from_str(&audit_id) {
            response.headers_mut().insert("audit-id", value);
        }
        Ok(response)
    }

    async fn route(
        self,
        request: Arrived<'_>,
        trail: &mut Trail,
    ) -> Result<Response<Body>, Failed> {
        let state = self.state.clone();
        let headers = &request.parts.headers;
        let user = auth::authenticate(&state, self.origin, headers)?;
        trail.authenticated(&user);
        let (user, is_impersonated) = auth::impersonate(&state, user, headers)?;
        if is_impersonated {
            trail.impersonated(&user);
        }
        let plan = faults::plan(&state, &request, &user.name);
        pause(plan.delay).await;
        match faults::refusal(&plan, &request.info) {
            None => {}
            Some(Refusal::Answer(status)) => return Err(Failed::Status(status)),
            Some(Refusal::Reset) => {
                return Err(Failed::Lost { why: ConnectionLost::Reset, answer: None });
            }
            Some(Refusal::Gone) => {
                let line = futures::stream::iter([faults::gone()]).boxed();
                return Ok(body::stream("application/json", line));
            }
        }
        let answered = serve(state, request, user, trail).await;
        pause(plan.slow).await;
        if plan.failure == Some(Fault::AnswerLost) {
            let answer = Some(answered.map(Box::new).map_err(Box::new));
            return Err(Failed::Lost { why: ConnectionLost::AnswerLost, answer });
        }
        Ok(faults::shorten(&plan, answered?))
    }
}

/// Sleeps; without a delay it does not yield, so requests without faults keep their order.
async fn pause(time: Duration) {
    if time == FOREVER {
        std::future::pending::<()>().await;
    } else if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

/// Authorizes and handles a request.
async fn serve(
    state: Arc<State>,
    request: Arrived<'_>,
    user: User,
    trail: &mut Trail,
) -> Result<Response<Body>, Status> {
    let Arrived { parts, path, info, query, body } = request;
    if trail.is_on() {
        let decision = state.authorizer.decide(&state.store, &Attributes::of_request(&user, &info));
        trail.decided(&decision);
    }
    auth::authorize(&state, &user, &info)?;
    let body = body?;
    trail.body(&parts.headers, &body);
    if !info.is_resource {
        return endpoints::serve(&state, &parts.method, &path, &query, &parts.headers);
    }
    let found = state.registry.find(&info.group, &info.version, &info.resource);
    let resource = found.and_then(|found| crd::current(&state, found)).ok_or_else(|| {
        if state.registry.has_group(&info.group) {
            Status::no_such_resource()
        } else {
            Status::page_not_found()
        }
    })?;
    let in_namespace = info.resource != "namespaces" && !info.namespace.is_empty();
    if in_namespace && !resource.namespaced {
        return Err(Status::no_such_resource());
    }
    let needs_namespace =
        resource.namespaced && info.namespace.is_empty() && !matches!(info.verb, "list" | "watch");
    if needs_namespace && info.verb != "create" && info.verb != "deletecollection" {
        return Err(Status::no_such_resource());
    }
    // A review has one path only: the collection.
    let review = !resource.allows("get");
    if review && (needs_namespace || (!info.name.is_empty() && info.subresource.is_empty())) {
        return Err(Status::no_such_resource());
    }
    if needs_namespace {
        return Err(verbs::not_allowed());
    }
    let wanted = negotiate::negotiate(&parts.headers, &query)?;
    let call = Call {
        state,
        info,
        query,
        headers: parts.headers.clone(),
        body,
        user,
        resource,
        wanted,
        head: parts.method == http::Method::HEAD,
    };
    verbs::serve(Arc::new(call)).await
}

impl<B> tower::Service<Request<B>> for ClusterService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = ConnectionLost;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, ConnectionLost>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectionLost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { service.answer(request).await })
    }
}
