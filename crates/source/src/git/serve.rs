//! Repositories over HTTP: enough of `git-upload-pack` that `git clone` and go-git work.
//!
//! For the demo and for tests. It serves what a [`MemoryTransport`] holds, whose addresses are the
//! paths here: `http://HOST/apps.git` is the repository at `apps.git`.

mod upload_pack;

use std::net::SocketAddr;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use super::memory::{FETCH, LS_REFS, MemoryTransport};
use super::pktline::{write_flush, write_line};
use crate::faults::{ConnectionBroken, carry};

/// A question of a client is not larger.
const QUESTION: usize = 16 << 20;

/// A server of repositories.
#[derive(Debug, Clone)]
pub struct GitServer {
    repositories: MemoryTransport,
}

impl GitServer {
    /// Serves repositories, now and whenever they change.
    pub fn new(repositories: MemoryTransport) -> Self {
        Self { repositories }
    }

    /// Listens on an address, which should be a loopback one. Says which one it became, and gives
    /// the future that serves; dropping it ends all connections.
    pub async fn listen(
        self,
        address: SocketAddr,
    ) -> std::io::Result<(SocketAddr, impl Future<Output = ()> + Send)> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        let handler = move |request| {
            let server = self.clone();
            async move { server.answer(request).await }
        };
        let limits = crate::listen::ConnectionLimits::default();
        Ok((bound, crate::listen::serve(listener, limits, handler)))
    }

    /// Answers one request, with the faults of the repositories.
    async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, ConnectionBroken> {
        let (head, body) = request.into_parts();
        let verb = if head.method == Method::GET { LS_REFS } else { FETCH };
        let plan = self.repositories.plan(verb, head.uri.path());
        let body = Limited::new(body, QUESTION).collect().await;
        let answer = carry(plan, || match body {
            Ok(body) => self.respond(&head, &body.to_bytes()),
            Err(error) => plain(StatusCode::BAD_REQUEST, &error.to_string()),
        });
        Ok(answer.await?.map(Full::new))
    }

    fn respond(&self, head: &Parts, body: &[u8]) -> Response<Bytes> {
        let path = head.uri.path().trim_start_matches('/');
        let is_v2 = head
            .headers
            .get("git-protocol")
            .is_some_and(|value| value.as_bytes().windows(9).any(|part| part == b"version=2"));
        if let (&Method::GET, Some(path)) = (&head.method, path.strip_suffix("/info/refs")) {
            if head.uri.query() != Some("service=git-upload-pack") {
                return plain(StatusCode::FORBIDDEN, "only git-upload-pack is served");
            }
            return self.advertise(path, is_v2);
        }
        let (&Method::POST, Some(path)) = (&head.method, path.strip_suffix("/git-upload-pack"))
        else {
            return plain(StatusCode::NOT_FOUND, "not found");
        };
        let is_gzip = head.headers.get("content-encoding").is_some_and(|value| value == "gzip");
        let body = if is_gzip { gunzip(body) } else { Some(body.to_vec()) };
        let Some(body) = body else { return plain(StatusCode::BAD_REQUEST, "not gzip") };
        let Some(repository) = self.repositories.get(path) else {
            return plain(StatusCode::NOT_FOUND, "not found");
        };
        match upload_pack::answer(&repository, &body) {
            Ok(answer) => git(answer, "application/x-git-upload-pack-result"),
            Err(error) => {
                let mut answer = Vec::new();
                write_line(&mut answer, &format!("ERR {error}"));
                git(answer, "application/x-git-upload-pack-result")
            }
        }
    }

    fn advertise(&self, path: &str, is_v2: bool) -> Response<Bytes> {
        let Some(repository) = self.repositories.get(path) else {
            return plain(StatusCode::NOT_FOUND, "not found");
        };
        let mut answer = Vec::new();
        write_line(&mut answer, "# service=git-upload-pack");
        write_flush(&mut answer);
        upload_pack::advertise(&mut answer, &repository, is_v2);
        git(answer, "application/x-git-upload-pack-advertisement")
    }
}

fn gunzip(body: &[u8]) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut out = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(body).take(QUESTION as u64);
    reader.read_to_end(&mut out).ok()?;
    Some(out)
}

fn git(body: Vec<u8>, kind: &'static str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body));
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    headers.insert(http::header::CACHE_CONTROL, http::HeaderValue::from_static("no-cache"));
    response
}

fn plain(status: StatusCode, text: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(text.to_owned()));
    *response.status_mut() = status;
    response
}
