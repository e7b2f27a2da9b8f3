//! On ports, servers answer programs outside of this process, and rules of faults strike there too.

use sluice_base::fault::{Fault, Rule, Scope};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::files;
use crate::Sandbox;

/// The first line of the answer to a GET, and the last; nothing where the connection ends without one.
#[expect(clippy::disallowed_methods, reason = "it stands for a program outside of this process")]
async fn get(url: &str) -> Option<(String, String)> {
    let rest = url.split_once("://").unwrap().1;
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A connection that is closed without an answer may also be reset.
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let mut lines = answer.lines().map(str::to_owned);
    let first = lines.next()?;
    Some((first, lines.next_back().unwrap_or_default()))
}

#[tokio::test]
async fn servers_on_ports_answer_and_meet_faults() {
    let mut sandbox = Sandbox::new(1);
    sandbox.commit("platform.git", "a", &files("a: 1"));
    sandbox.endpoints.put("/v1/", |request| (200, format!("at {}", request.uri().path())));
    let ports = sandbox.listen().await.unwrap();
    let server = ports.kubeconfig()["clusters"][0]["cluster"]["server"].as_str().unwrap();
    assert!(server.starts_with("https://127.0.0.1:"), "{server}");
    let serving = tokio::spawn(ports.run());

    let refs = format!("{}/info/refs?service=git-upload-pack", sandbox.git_url("platform.git"));
    let registry = sandbox.oci_url("v2/").replace("oci://", "http://");
    let endpoint = sandbox.endpoint_url("/v1/a");
    let [_, git, registries, _, endpoints] = sandbox.faults();
    for (url, faults, last) in
        [(refs, git, "0000"), (registry, registries, "{}"), (endpoint, endpoints, "at /v1/a")]
    {
        let name = faults.transport().name;
        let (status, body) = get(&url).await.unwrap();
        assert_eq!(status, "HTTP/1.1 200 OK", "{name}");
        assert!(body.ends_with(last), "{name}: {body}");
        faults.install(Rule::new(Scope::default(), Fault::refuse(503)).times(1)).unwrap();
        assert_eq!(get(&url).await.unwrap().0, "HTTP/1.1 503 Service Unavailable", "{name}");
        for fault in [Fault::Reset, Fault::Cut] {
            faults.install(Rule::new(Scope::default(), fault).times(1)).unwrap();
            assert_eq!(get(&url).await, None, "{name}");
        }
        assert_eq!(get(&url).await.unwrap().0, "HTTP/1.1 200 OK", "{name}");
    }
    serving.abort();
}
