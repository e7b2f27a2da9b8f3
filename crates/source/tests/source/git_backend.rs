//! `git http-backend` behind a small bridge: the real server for our client.

use std::convert::Infallible;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What the bridge asks of a client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    /// The `Authorization` header that has to come.
    pub(crate) authorization: Option<String>,
    /// Whether the protocol's version is passed on; else the server speaks version 0.
    pub(crate) hides_version: bool,
}

pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) async fn serve(root: &Path, rules: Rules) -> Backend {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let address = listener.local_addr().expect("an address");
    let root = root.to_owned();
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (root, rules) = (root.clone(), rules.clone());
            tokio::spawn(async move {
                let service = hyper::service::service_fn(move |request| {
                    let (root, rules) = (root.clone(), rules.clone());
                    async move { Ok::<_, Infallible>(answer(root, rules, request).await) }
                });
                let _ = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Backend { address, task }
}

async fn answer(root: PathBuf, rules: Rules, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let header = |name: &str| text(&parts.headers, name);
    if let Some(expected) = rules.authorization
        && header("authorization") != expected
    {
        return respond(StatusCode::UNAUTHORIZED, "who are you?");
    }
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("PATH_INFO", parts.uri.path())
        .env("QUERY_STRING", parts.uri.query().unwrap_or_default())
        .env("REQUEST_METHOD", parts.method.as_str())
        .env("CONTENT_TYPE", header("content-type"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if !rules.hides_version {
        command.env("GIT_PROTOCOL", header("git-protocol"));
    }
    let body = body.collect().await.expect("a body").to_bytes();
    let output = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().expect("git runs");
        let mut input = child.stdin.take().expect("piped");
        input.write_all(&body).expect("git reads");
        drop(input);
        child.wait_with_output().expect("git ends").stdout
    })
    .await
    .expect("finished");
    let end = output.windows(4).position(|part| part == b"\r\n\r\n").expect("headers");
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let mut response = Response::new(Full::new(Bytes::copy_from_slice(&output[end + 4..])));
    for line in head.lines() {
        let (name, value) = line.split_once(": ").expect("a header");
        if name == "Status" {
            let code = value.split(' ').next().and_then(|code| code.parse().ok());
            *response.status_mut() = code.expect("a status");
        } else {
            let name: http::HeaderName = name.parse().expect("a name");
            response.headers_mut().insert(name, value.parse().expect("a value"));
        }
    }
    response
}

fn text(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

fn respond(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response
}
