//! Serves artifacts over HTTP at Flux's paths, so that Flux's controllers can fetch them too.
//!
//! Files only: there is no listing of directories. `GET /` answers 200, because Flux's manifests have
//! their readiness probe there. Ranges and conditions are supported. There is no authentication, as in
//! Flux, so outside a cluster the address should be a loopback one. Files are streamed, and clients are
//! bound by [`ConnectionLimits`].

use std::convert::Infallible;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt as _;
use http::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, IF_MODIFIED_SINCE, IF_RANGE,
    LAST_MODIFIED, RANGE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use tokio::net::TcpListener;

use crate::listen::{ConnectionLimits, serve};
use crate::store::{ArtifactStore, Served, StoreError};

/// The body of a response: a short text, or a streamed file.
pub type AnswerBody = UnsyncBoxBody<Bytes, std::io::Error>;

/// An artifact server.
#[derive(Clone)]
pub struct ArtifactServer {
    store: Arc<dyn ArtifactStore>,
    limits: ConnectionLimits,
}

impl ArtifactServer {
    /// Serves the content of a store.
    pub fn new(store: Arc<dyn ArtifactStore>) -> Self {
        Self { store, limits: ConnectionLimits::default() }
    }

    /// Sets the limits of connections.
    #[must_use]
    pub fn with_limits(self, limits: ConnectionLimits) -> Self {
        Self { limits, ..self }
    }

    /// Listens on an address. Returns the bound address, and the future that serves; dropping it closes
    /// all connections.
    pub async fn listen(
        self,
        address: SocketAddr,
    ) -> std::io::Result<(SocketAddr, impl Future<Output = ()> + Send)> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        let limits = self.limits;
        let handler = move |request: Request<hyper::body::Incoming>| {
            let server = self.clone();
            async move {
                let (method, path) = (request.method(), request.uri().path());
                Ok::<_, Infallible>(server.answer(method, path, request.headers()).await)
            }
        };
        Ok((bound, serve(listener, limits, handler)))
    }

    /// Answers one request.
    pub async fn answer(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Response<AnswerBody> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let path = crate::git::percent_decoded(path.trim_start_matches('/'));
        let mut response = if path.is_empty() {
            plain(StatusCode::OK, "")
        } else {
            match self.store.open(&path).await {
                Ok(found) => file(&path, found, headers),
                Err(StoreError::Missing(_) | StoreError::ArtifactPath(_)) => {
                    plain(StatusCode::NOT_FOUND, "404 page not found\n")
                }
                Err(error) => {
                    tracing::error!(%error, path, "an artifact could not be served");
                    plain(StatusCode::INTERNAL_SERVER_ERROR, "500 internal server error\n")
                }
            }
        };
        if *method == Method::HEAD {
            if let Some(length) = hyper::body::Body::size_hint(response.body()).exact() {
                response.headers_mut().entry(CONTENT_LENGTH).or_insert(length.into());
            }
            *response.body_mut() = text("");
        }
        response
    }
}

fn file(path: &str, found: Served, headers: &HeaderMap) -> Response<AnswerBody> {
    // HTTP dates have no fractions.
    let modified = Timestamp::from_second(found.modified.as_second()).unwrap_or(found.modified);
    let since = date(headers, &IF_MODIFIED_SINCE);
    if since.is_some_and(|since| modified <= since) {
        return with_file_headers(plain(StatusCode::NOT_MODIFIED, ""), path, modified);
    }
    let length = found.size;
    // A range of another version of the file is ignored: then the whole file is sent.
    let same = !headers.contains_key(IF_RANGE) || date(headers, &IF_RANGE) == Some(modified);
    let wanted = headers.get(RANGE).filter(|_| same).and_then(|value| value.to_str().ok());
    let response = match wanted.map_or(Asked::All, |text| range(text, length)) {
        Asked::All => part_of(found, 0..length),
        Asked::Part(part) => {
            let shown = format!("bytes {}-{}/{length}", part.start, part.end.saturating_sub(1));
            let mut response = part_of(found, part);
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            insert(&mut response, CONTENT_RANGE, &shown);
            response
        }
        Asked::Nothing => {
            let mut response = plain(StatusCode::RANGE_NOT_SATISFIABLE, "range not satisfiable\n");
            insert(&mut response, CONTENT_RANGE, &format!("bytes */{length}"));
            return response;
        }
    };
    with_file_headers(response, path, modified)
}

/// A streamed part of a file with a known length.
fn part_of(found: Served, part: Range<u64>) -> Response<AnswerBody> {
    let length = part.end.saturating_sub(part.start);
    let body = StreamBody::new(found.content.part(part).map_ok(Frame::data));
    let mut response = Response::new(body.boxed_unsync());
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response
}

/// A parsed `Range` header.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    All,
    Part(Range<u64>),
    Nothing,
}

/// Parses one range of bytes. Several ranges, or another unit, give the whole file, as HTTP allows.
fn range(text: &str, length: u64) -> Asked {
    let Some((first, last)) = text.strip_prefix("bytes=").and_then(|text| text.split_once('-'))
    else {
        return Asked::All;
    };
    let (first, last) = (first.trim(), last.trim());
    let part = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Ok(first), Err(_)) if last.is_empty() => first..length,
        (Err(_), Ok(last)) if first.is_empty() => length.saturating_sub(last)..length,
        _ => return Asked::All,
    };
    if part.start < part.end { Asked::Part(part) } else { Asked::Nothing }
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<Timestamp> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    let text = headers.get(name)?.to_str().ok()?;
    PARSER.parse_timestamp(text).ok()
}

fn with_file_headers(
    mut response: Response<AnswerBody>,
    path: &str,
    modified: Timestamp,
) -> Response<AnswerBody> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let kind = match extension {
        "gz" | "tgz" => "application/x-gzip",
        "yaml" | "json" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let printer = DateTimePrinter::new();
    if let Ok(text) = printer.timestamp_to_rfc9110_string(&modified) {
        insert(&mut response, LAST_MODIFIED, &text);
    }
    response
}

fn insert(response: &mut Response<AnswerBody>, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        response.headers_mut().insert(name, value);
    }
}

fn plain(status: StatusCode, words: &'static str) -> Response<AnswerBody> {
    let mut response = Response::new(text(words));
    *response.status_mut() = status;
    response
}

fn text(words: &'static str) -> AnswerBody {
    Full::new(Bytes::from_static(words.as_bytes())).map_err(|never| match never {}).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_http_has_them() {
        let cases = [
            ("bytes=0-3", Asked::Part(0..4)),
            ("bytes=4-", Asked::Part(4..10)),
            ("bytes=-3", Asked::Part(7..10)),
            ("bytes=-30", Asked::Part(0..10)),
            ("bytes=8-100", Asked::Part(8..10)),
            ("bytes=10-", Asked::Nothing),
            ("bytes=-0", Asked::Nothing),
            ("bytes=3-1", Asked::All),
            ("bytes=0-1,4-5", Asked::All),
            ("lines=0-1", Asked::All),
        ];
        for (text, expected) in cases {
            assert_eq!(range(text, 10), expected, "{text}");
        }
    }
}
