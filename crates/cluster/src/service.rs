//! From an HTTP request to an answer: who asks, may they, what for.
//!
//! The order is upstream's: authentication, impersonation, authorization, then the handler.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Limited};

use crate::body::{self, Body};
use crate::call::Call;
use crate::negotiate::{self, Encoding};
use crate::request::{Query, RequestInfo, percent_decode};
use crate::state::State;
use crate::status::Status;
use crate::{auth, crd, endpoints, verbs};

/// The largest body that is read.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// How a request reached the server, which decides what an absent credential means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// From within the process: the administrator, unless the request says otherwise.
    InProcess,
    /// Over a socket: anonymous, unless the request carries a credential.
    Socket,
}

/// The API server as a [`tower::Service`]; cheap to clone.
#[derive(Clone)]
pub struct ClusterService {
    state: Arc<State>,
    door: Door,
}

impl ClusterService {
    pub(crate) fn new(state: Arc<State>, door: Door) -> Self {
        Self { state, door }
    }

    /// Answers one request; never fails, a failure is an answer.
    pub(crate) async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let audit_id = self.state.random.uuid();
        let (parts, body) = request.into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let wanted = negotiate::negotiate(&parts.headers, &query);
        // Whoever accepts nothing that is served is told so in a form for people.
        let encoding = wanted.as_ref().map_or(Encoding::Indented, |wanted| wanted.encoding);
        let result = match Limited::new(body, BODY_LIMIT).collect().await {
            Ok(collected) => self.route(&parts, query, collected.to_bytes()).await,
            Err(_) => Err(Status::new(
                413,
                "RequestEntityTooLarge",
                format!("Request entity too large: limit is {BODY_LIMIT}"),
            )),
        };
        let mut response = result.unwrap_or_else(|status| body::failure(encoding, &status));
        if parts.method == http::Method::HEAD {
            *response.body_mut() = Body::Whole(None);
        }
        if let Ok(value) = HeaderValue::from_str(&audit_id) {
            response.headers_mut().insert("audit-id", value);
        }
        response
    }

    async fn route(
        self,
        parts: &http::request::Parts,
        query: Query,
        body: Bytes,
    ) -> Result<Response<Body>, Status> {
        let state = self.state;
        let path = percent_decode(parts.uri.path(), false);
        let info = RequestInfo::parse(&parts.method, &path, &query);
        let user = auth::authenticate(&state, self.door, &parts.headers)?;
        let user = auth::impersonate(&state, user, &parts.headers)?;
        auth::authorize(&state, &user, &info)?;
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
        let needs_namespace = resource.namespaced
            && info.namespace.is_empty()
            && !matches!(info.verb, "list" | "watch");
        if needs_namespace && info.verb != "create" && info.verb != "deletecollection" {
            return Err(Status::no_such_resource());
        }
        // Reviews have but one path each: the collection, where they live.
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
}

impl<B> tower::Service<Request<B>> for ClusterService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}
