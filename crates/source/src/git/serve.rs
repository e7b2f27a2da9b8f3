//! Repositories over HTTP: enough of `git-upload-pack` (version 2) that `git clone` works.
//!
//! For the demo and for tests. It serves what a [`MemoryTransport`] holds, whose addresses are the
//! paths here: `http://HOST/apps.git` is the repository at `apps.git`.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use super::error::Cause;
use super::make::Repository;
use super::memory::MemoryTransport;
use super::object::ObjectId;
use super::pktline::{Decoder, Packet, write, write_delimiter, write_flush, write_line};
use super::protocol::AGENT;
use super::remote::{FetchRequest, ObjectFilter};

/// A question of a client is not larger.
const QUESTION: usize = 16 << 20;

/// Pieces of a packfile are not larger, the band's byte not counted.
const PIECE: usize = 65515;

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
        Ok((bound, crate::listen::serve(listener, handler)))
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path().trim_start_matches('/').to_owned();
        let is_v2 = request
            .headers()
            .get("git-protocol")
            .is_some_and(|value| value.as_bytes().windows(9).any(|part| part == b"version=2"));
        if let (&Method::GET, Some(path)) = (request.method(), path.strip_suffix("/info/refs")) {
            if request.uri().query() != Some("service=git-upload-pack") {
                return plain(StatusCode::FORBIDDEN, "only git-upload-pack is served");
            }
            return self.advertise(path, is_v2);
        }
        let (&Method::POST, Some(path)) = (request.method(), path.strip_suffix("/git-upload-pack"))
        else {
            return plain(StatusCode::NOT_FOUND, "not found");
        };
        let is_gzip =
            request.headers().get("content-encoding").is_some_and(|value| value == "gzip");
        let body = match Limited::new(request.into_body(), QUESTION).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => return plain(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        let body = if is_gzip { gunzip(&body) } else { Some(body.to_vec()) };
        let Some(body) = body else { return plain(StatusCode::BAD_REQUEST, "not gzip") };
        let Some(repository) = self.repositories.get(path) else {
            return plain(StatusCode::NOT_FOUND, "not found");
        };
        match command(&repository, &body) {
            Ok(answer) => git(answer, "application/x-git-upload-pack-result"),
            Err(error) => {
                let mut answer = Vec::new();
                write_line(&mut answer, &format!("ERR {error}"));
                git(answer, "application/x-git-upload-pack-result")
            }
        }
    }

    fn advertise(&self, path: &str, is_v2: bool) -> Response<Full<Bytes>> {
        if self.repositories.get(path).is_none() {
            return plain(StatusCode::NOT_FOUND, "not found");
        }
        let mut answer = Vec::new();
        write_line(&mut answer, "# service=git-upload-pack");
        write_flush(&mut answer);
        if is_v2 {
            write_line(&mut answer, "version 2");
            write_line(&mut answer, &format!("agent={AGENT}"));
            write_line(&mut answer, "ls-refs=unborn");
            write_line(&mut answer, "fetch=shallow filter");
            write_line(&mut answer, "object-format=sha1");
        } else {
            write_line(&mut answer, "ERR this server speaks version 2 of the protocol only");
        }
        write_flush(&mut answer);
        git(answer, "application/x-git-upload-pack-advertisement")
    }
}

/// The answer to one command.
fn command(repository: &Repository, body: &[u8]) -> Result<Vec<u8>, Cause> {
    let mut decoder = Decoder::default();
    decoder.feed(body);
    let mut lines = Vec::new();
    while let Some(packet) = decoder.next()? {
        match packet {
            Packet::Flush | Packet::End => break,
            Packet::Delimiter => {}
            Packet::Data(_) => lines.extend(packet.line()),
        }
    }
    match lines.first().map(String::as_str) {
        Some("command=ls-refs") => Ok(list(repository, &lines)),
        Some("command=fetch") => fetch(repository, &lines),
        other => Err(Cause::Malformed(format!("unknown command {other:?}"))),
    }
}

fn list(repository: &Repository, lines: &[String]) -> Vec<u8> {
    let prefixes: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("ref-prefix ")).collect();
    let has = |word: &str| lines.iter().any(|line| line == word);
    let mut answer = Vec::new();
    for found in repository.list_refs() {
        if !prefixes.is_empty() && !prefixes.iter().any(|prefix| found.name.starts_with(prefix)) {
            continue;
        }
        let mut line = format!("{} {}", found.id, found.name);
        if has("symrefs") && found.name == "HEAD" {
            line = format!("{line} symref-target:{}", repository.head());
        }
        if let Some(peeled) = found.peeled.filter(|_| has("peel")) {
            line = format!("{line} peeled:{peeled}");
        }
        write_line(&mut answer, &line);
    }
    let is_unborn = repository.get_ref(repository.head()).is_none();
    if is_unborn && has("unborn") && has("symrefs") {
        write_line(&mut answer, &format!("unborn HEAD symref-target:{}", repository.head()));
    }
    write_flush(&mut answer);
    answer
}

fn fetch(repository: &Repository, lines: &[String]) -> Result<Vec<u8>, Cause> {
    let mut request = FetchRequest::default();
    let mut haves: Vec<ObjectId> = Vec::new();
    for line in lines {
        let (word, value) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "want" => request.wants.push(value.parse()?),
            "have" => haves.push(value.parse()?),
            "deepen" => request.depth = value.parse().ok(),
            "filter" if value == "blob:none" => request.filter = Some(ObjectFilter::Blobs),
            "filter" if value == "tree:0" => request.filter = Some(ObjectFilter::Trees),
            _ => {}
        }
    }
    let mut answer = Vec::new();
    if !haves.is_empty() && !lines.iter().any(|line| line == "done") {
        write_line(&mut answer, "acknowledgments");
        // Nothing is negotiated: whoever fetches again gets all of it.
        write_line(&mut answer, "NAK");
        write_flush(&mut answer);
        return Ok(answer);
    }
    let selection = repository.select(&request)?;
    if request.depth.is_some() {
        write_line(&mut answer, "shallow-info");
        for id in &selection.shallow {
            write_line(&mut answer, &format!("shallow {id}"));
        }
        write_delimiter(&mut answer);
    }
    write_line(&mut answer, "packfile");
    let pack = super::pack::write(repository.selected(&selection).into_iter())
        .map_err(|error| Cause::Malformed(error.to_string()))?;
    for piece in pack.chunks(PIECE) {
        write(&mut answer, &[&[1], piece].concat());
    }
    write_flush(&mut answer);
    Ok(answer)
}

fn gunzip(body: &[u8]) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut out = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(body).take(QUESTION as u64);
    reader.read_to_end(&mut out).ok()?;
    Some(out)
}

fn git(body: Vec<u8>, kind: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    headers.insert(http::header::CACHE_CONTROL, http::HeaderValue::from_static("no-cache"));
    response
}

fn plain(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text.to_owned())));
    *response.status_mut() = status;
    response
}
