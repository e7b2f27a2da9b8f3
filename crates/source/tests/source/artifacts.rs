//! Artifacts from a store through the server to the client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use http::header::{IF_MODIFIED_SINCE, RANGE};
use http::{HeaderMap, HeaderName, Method};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use sluice_base::clock::Frozen;
use sluice_source::artifact::{ArtifactPath, Digest, DigestAlgorithm};
use sluice_source::client::{FetchError, FetchOptions, fetch};
use sluice_source::http::HttpOptions;
use sluice_source::network::{Network, Purpose};
use sluice_source::server::ArtifactServer;
use sluice_source::store::{ArtifactStore as _, MemoryStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const CONTENT: &str = "0123456789";

async fn server() -> ArtifactServer {
    let moment = Timestamp::from_second(784_111_777).expect("a moment");
    let store = Arc::new(MemoryStore::new(Arc::new(Frozen(moment))));
    let place =
        ArtifactPath::new("OCIRepository", "apps", "web", "sha256:abc.tar.gz").expect("plain");
    store.put(&place, Bytes::from(CONTENT)).await.expect("stored");
    ArtifactServer::new(store)
}

#[tokio::test]
async fn files_are_served_and_directories_are_not() {
    const FILE: &str = "/ocirepository/apps/web/sha256:abc.tar.gz";
    let server = server().await;
    let none: &[(HeaderName, &str)] = &[];
    let modified = "Sun, 06 Nov 1994 08:49:37 GMT";
    let cases = [
        (Method::GET, FILE, none, 200, CONTENT),
        (Method::GET, "/ocirepository/apps/web/sha256%3Aabc.tar.gz", none, 200, CONTENT),
        (Method::HEAD, FILE, none, 200, ""),
        (Method::GET, "/", none, 200, ""),
        (Method::GET, "/ocirepository/apps/web/", none, 404, "404 page not found\n"),
        (Method::GET, "/ocirepository", none, 404, "404 page not found\n"),
        (Method::GET, "/a/b/c/..%2f..%2fetc", none, 404, "404 page not found\n"),
        (Method::POST, FILE, none, 405, "method not allowed"),
        (Method::GET, FILE, &[(RANGE, "bytes=2-4")], 206, "234"),
        (Method::GET, FILE, &[(RANGE, "bytes=20-")], 416, "range not satisfiable\n"),
        (Method::GET, FILE, &[(IF_MODIFIED_SINCE, modified)], 304, ""),
        (Method::GET, FILE, &[(IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT")], 200, CONTENT),
    ];
    for (method, path, headers, status, body) in cases {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.clone(), value.parse().expect("a value")))
            .collect();
        let response = server.answer(&method, path, &headers).await;
        assert_eq!(response.status().as_u16(), status, "{method} {path} {headers:?}");
        if status == 200 && path == FILE {
            assert_eq!(response.headers()["last-modified"], modified);
        }
        if method == Method::HEAD {
            assert_eq!(response.headers()["content-length"], "10");
        }
        let found = response.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!(found, body, "{method} {path} {headers:?}");
    }
}

fn options() -> FetchOptions {
    FetchOptions::default()
}

#[tokio::test]
async fn what_is_fetched_has_the_promised_digest() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let (address, serving) = server().await.listen(any).await.expect("a loopback port");
    let task = tokio::spawn(serving);
    let client = Network::new().client(Purpose::Spec, &HttpOptions::default()).expect("a client");
    let url = format!("http://{address}/ocirepository/apps/web/sha256:abc.tar.gz");
    let digest = Digest::of(DigestAlgorithm::Sha256, CONTENT.as_bytes()).to_string();
    let found = fetch(&client, &url, &digest, &options()).await.expect("fetched");
    assert_eq!(found, CONTENT);
    let elsewhere = url.replace(&address.to_string(), "nowhere.invalid");
    let moved = FetchOptions { host: Some(address.to_string()), ..options() };
    assert_eq!(fetch(&client, &elsewhere, &digest, &moved).await.expect("fetched"), CONTENT);

    let other = Digest::of(DigestAlgorithm::Sha512, b"other").to_string();
    let small = FetchOptions { largest: 9, ..options() };
    let absent = format!("http://{address}/ocirepository/apps/web/gone.tar.gz");
    let cases = [
        (fetch(&client, &url, &other, &options()).await, "computed digest doesn't match"),
        (fetch(&client, &url, "", &options()).await, "failed to verify archive: empty digest"),
        (fetch(&client, &url, "md5:abc", &options()).await, "failed to parse digest 'md5:abc'"),
        (fetch(&client, &url, &digest, &small).await, "max download size of 9 bytes"),
        (fetch(&client, &absent, &digest, &options()).await, "file not found"),
        (fetch(&client, "file:///etc/passwd", &digest, &options()).await, "unsupported protocol"),
    ];
    for (outcome, text) in cases {
        let error = outcome.expect_err("refused").to_string();
        assert!(error.contains(text), "{error:?} does not say {text:?}");
    }
    task.abort();
}

/// A server that answers 503 for ever.
async fn failing() -> (SocketAddr, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await;
            count.fetch_add(1, Ordering::SeqCst);
            let answer = "HTTP/1.1 503 x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (address, asked)
}

#[tokio::test]
async fn a_server_that_fails_or_is_gone_is_asked_once() {
    let client = Network::new().client(Purpose::Spec, &HttpOptions::default()).expect("a client");
    let digest = Digest::of(DigestAlgorithm::Sha256, CONTENT.as_bytes()).to_string();
    let (address, asked) = failing().await;
    let url = format!("http://{address}/x");
    let error = fetch(&client, &url, &digest, &options()).await.expect_err("refused");
    assert!(matches!(error, FetchError::Unanswered { .. }), "{error}");
    assert!(error.to_string().contains("503"), "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("bound");
    let url = format!("http://{gone}/x");
    let error = fetch(&client, &url, &digest, &options()).await.expect_err("refused");
    assert!(error.to_string().contains("onnection refused"), "{error}");
}
