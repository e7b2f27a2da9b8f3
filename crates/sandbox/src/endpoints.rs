//! HTTP endpoints, by the beginning of their URL: clouds, vaults, files of remote bases.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use sluice_base::fault::{self, Attribute, Faults, Transport};
use sluice_cloud::{Answer, Http};
use sluice_source::faults::{ConnectionBroken, can_do_to_http, carry, from_now};
use sluice_source::listen::{ConnectionLimits, serve};
use tokio::net::TcpListener;

/// The largest body of a request that is read.
const LARGEST: usize = 16 << 20;

/// What answers at an endpoint: a status and a body.
type Handler = Arc<dyn Fn(&Request<Vec<u8>>) -> (u16, String) + Send + Sync>;

/// What endpoints can do to requests.
static TRANSPORT: Transport = Transport {
    name: "endpoints",
    verbs: &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    attributes: &[Attribute::Verb, Attribute::Address],
    can: can_do_to_http,
};

/// HTTP endpoints. Clones share everything.
#[derive(Clone)]
pub struct Endpoints {
    handlers: Arc<Mutex<BTreeMap<String, Handler>>>,
    faults: Faults,
}

impl Default for Endpoints {
    fn default() -> Self {
        Self { handlers: Arc::default(), faults: from_now(&TRANSPORT) }
    }
}

impl Endpoints {
    /// Answers all requests to URLs that begin like this; to paths at any host, where it begins with a slash.
    pub fn put(
        &self,
        start: &str,
        handler: impl Fn(&Request<Vec<u8>>) -> (u16, String) + Send + Sync + 'static,
    ) {
        let mut handlers = self.handlers.lock().unwrap_or_else(PoisonError::into_inner);
        handlers.insert(start.to_owned(), Arc::new(handler));
    }

    fn find(&self, url: &str) -> Option<Handler> {
        let handlers = self.handlers.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = rest.find('/').map_or("/", |at| &rest[at..]);
        let is = |start: &str| url.starts_with(start) || path.starts_with(start);
        let found = handlers.iter().find(|(start, _)| is(start));
        found.map(|(_, handler)| Arc::clone(handler))
    }

    /// The faults of the endpoints.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Listens on an address, which should be a loopback one. Gives the one it became and the future that serves;
    /// dropping it ends all connections.
    pub(crate) async fn listen(
        self,
        address: SocketAddr,
    ) -> std::io::Result<(SocketAddr, impl Future<Output = ()> + Send)> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        let handler = move |request: Request<Incoming>| {
            let endpoints = self.clone();
            async move {
                let (mut head, body) = request.into_parts();
                head.uri = format!("http://{bound}{}", head.uri).parse().unwrap_or(head.uri);
                let body = Limited::new(body, LARGEST).collect().await;
                let body = body.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
                let answer = endpoints.answer(&Request::from_parts(head, body)).await;
                answer.map(|answer| answer.map(Full::new))
            }
        };
        Ok((bound, serve(listener, ConnectionLimits::default(), handler)))
    }

    /// Answers a request with the faults of its endpoint; 404 where there is none.
    async fn answer(
        &self,
        request: &Request<Vec<u8>>,
    ) -> Result<Response<Bytes>, ConnectionBroken> {
        let url = request.uri().to_string();
        let attributes =
            [(Attribute::Verb, request.method().as_str()), (Attribute::Address, url.as_str())];
        let plan = self.faults.plan(&fault::Request(&attributes));
        let answer = || {
            let (status, body) = match self.find(&url) {
                Some(handler) => handler(request),
                None => (404, "404 page not found\n".to_owned()),
            };
            let mut response = Response::new(Bytes::from(body));
            *response.status_mut() =
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            response
        };
        carry(plan, answer).await
    }
}

impl Http for Endpoints {
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
        Box::pin(async move {
            let url = request.uri().to_string();
            if self.find(&url).is_none() {
                return Err(format!("{url}: no such host"));
            }
            let answer = self.answer(&request).await;
            let answer = answer.map_err(|broken| format!("{url}: {broken}"))?;
            Ok(answer.map(|body| body.to_vec()))
        })
    }
}
