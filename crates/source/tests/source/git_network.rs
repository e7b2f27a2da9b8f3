//! What lies between us and a repository: TLS, proxies, redirects, and servers that mean no good.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use sluice_source::git::{
    Cloned, GitAuth, GitServer, MemoryTransport, NewCommit, Object, ObjectId, ObjectKind,
    Repository, pack,
};
use sluice_source::http::{Proxy, TlsOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::git_backend::{Rules, serve};
use crate::support::{branch, chain, clone, network, request, somebody, tree};
use sluice_testkit::git::git;

const ANY: &str = "127.0.0.1:0";

/// The header of an advertisement of references.
pub(crate) const SMART: &str = "content-type: application/x-git-upload-pack-advertisement\r\n";

/// Our own server with one repository, `app.git`.
async fn plain_server() -> SocketAddr {
    let mut repository = Repository::new("main");
    let files = tree(&[("file", "content")]);
    let new = NewCommit { branch: "main", message: "one", files: &files, by: somebody(1) };
    repository.commit(&new);
    let repositories = MemoryTransport::default();
    repositories.insert("app.git", repository);
    let listening = GitServer::new(repositories).listen(ANY.parse().expect("an address")).await;
    let (address, serving) = listening.expect("a loopback port");
    tokio::spawn(serving);
    address
}

pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self { issuer: CertifiedIssuer::self_signed(params, key).expect("an authority") }
    }

    pub(crate) fn pem(&self) -> Vec<u8> {
        self.issuer.pem().into_bytes()
    }

    /// A certificate for a name, and its key.
    fn issue(&self, name: &str) -> (Vec<u8>, Vec<u8>) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem().into_bytes(), key.serialize_pem().into_bytes())
    }
}

/// Ends TLS in front of a plain server.
#[expect(clippy::disallowed_methods, reason = "a server of the tests connects, not the product")]
pub(crate) async fn tls_in_front(
    of: SocketAddr,
    authority: &Authority,
    asks_client: bool,
) -> SocketAddr {
    let (certificate, key) = authority.issue("127.0.0.1");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("versions");
    let builder = if asks_client {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&authority.pem()).expect("PEM")).expect("a root");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
    } else {
        builder.with_no_client_auth()
    };
    let chain = vec![CertificateDer::from_pem_slice(&certificate).expect("PEM")];
    let key = PrivateKeyDer::from_pem_slice(&key).expect("PEM");
    let config = builder.with_single_cert(chain, key).expect("a certificate");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(ANY).await.expect("a loopback port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let Ok(mut inner) = TcpStream::connect(of).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut inner).await;
            });
        }
    });
    address
}

/// A proxy with a password; it keeps the first lines of what it is asked.
#[expect(clippy::disallowed_methods, reason = "a server of the tests connects, not the product")]
async fn proxy() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind(ANY).await.expect("a loopback port");
    let address = listener.local_addr().expect("an address");
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&asked);
    let expected = format!("proxy-authorization: Basic {}", BASE64_STANDARD.encode("p:word"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (log, expected) = (Arc::clone(&log), expected.clone());
            tokio::spawn(async move {
                let mut head = vec![0; 8192];
                let length = stream.read(&mut head).await.unwrap_or_default();
                head.truncate(length);
                let text = String::from_utf8_lossy(&head).into_owned();
                let line = text.lines().next().unwrap_or_default().to_owned();
                log.lock().expect("not poisoned").push(line.clone());
                if !text.to_lowercase().contains(&expected.to_lowercase()) {
                    let refusal = "HTTP/1.1 407 x\r\ncontent-length: 0\r\n\r\n";
                    let _ = stream.write_all(refusal.as_bytes()).await;
                    return;
                }
                let target = line.split(' ').nth(1).unwrap_or_default();
                let target =
                    target.trim_start_matches("http://").split('/').next().unwrap_or_default();
                let Ok(mut inner) = TcpStream::connect(target).await else { return };
                let sent = if line.starts_with("CONNECT") {
                    stream.write_all(b"HTTP/1.1 200 x\r\n\r\n").await
                } else {
                    inner.write_all(&head).await
                };
                if sent.is_ok() {
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut inner).await;
                }
            });
        }
    });
    (address, asked)
}

async fn outcome(url: &str, auth: &GitAuth) -> Result<(), String> {
    let request = request(url, branch("main"));
    match sluice_source::git::clone(&network(), &request, auth).await {
        Ok(Cloned::Checkout(_)) => Ok(()),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(chain(&error)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_and_client_certificates_are_as_given() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let plain = plain_server().await;
    let trusting = |authority: &Authority| TlsOptions {
        authorities: authority.pem(),
        ..TlsOptions::default()
    };
    let with = |tls: TlsOptions| GitAuth { tls, ..GitAuth::default() };

    let server = tls_in_front(plain, &authority, false).await;
    let url = format!("https://{server}/app.git");
    assert_eq!(outcome(&url, &with(trusting(&authority))).await, Ok(()));
    let error = outcome(&url, &GitAuth::default()).await.expect_err("unknown authority");
    assert!(error.contains("certificate"), "{error}");
    let error = outcome(&url, &with(trusting(&stranger))).await.expect_err("another authority");
    assert!(error.contains("certificate"), "{error}");
    let insecure = TlsOptions { insecure: true, ..TlsOptions::default() };
    assert_eq!(outcome(&url, &with(insecure)).await, Ok(()));

    let server = tls_in_front(plain, &authority, true).await;
    let url = format!("https://{server}/app.git");
    assert!(outcome(&url, &with(trusting(&authority))).await.is_err());
    let (certificate, key) = authority.issue("client");
    let tls = TlsOptions { certificate, key: key.into(), ..trusting(&authority) };
    assert_eq!(outcome(&url, &with(tls)).await, Ok(()));
    let broken = TlsOptions {
        authorities: b"-----BEGIN CERTIFICATE-----\n!".to_vec(),
        ..TlsOptions::default()
    };
    assert!(outcome(&url, &with(broken)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_gone_through_with_its_password() {
    let authority = Authority::new();
    let plain = plain_server().await;
    let secured = tls_in_front(plain, &authority, false).await;
    let (address, asked) = proxy().await;
    let through = |password: &str| GitAuth {
        tls: TlsOptions { authorities: authority.pem(), ..TlsOptions::default() },
        proxy: Some(Proxy {
            address: format!("http://{address}"),
            username: "p".into(),
            password: password.into(),
        }),
        ..GitAuth::default()
    };
    assert_eq!(outcome(&format!("http://{plain}/app.git"), &through("word")).await, Ok(()));
    assert_eq!(outcome(&format!("https://{secured}/app.git"), &through("word")).await, Ok(()));
    let lines = asked.lock().expect("not poisoned").clone();
    assert!(
        lines.iter().any(|line| line.starts_with(&format!("GET http://{plain}/app.git/info"))),
        "{lines:?}"
    );
    assert!(lines.iter().any(|line| line.starts_with(&format!("CONNECT {secured}"))), "{lines:?}");
    assert!(outcome(&format!("https://{secured}/app.git"), &through("wrong")).await.is_err());
}

/// Answers every request with the same bytes, and keeps quiet afterwards.
pub(crate) async fn canned(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind(ANY).await.expect("a loopback port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut head = vec![0; 8192];
                let _ = stream.read(&mut head).await;
                let _ = stream.write_all(&answer).await;
                let _ = stream.read(&mut head).await;
            });
        }
    });
    address
}

pub(crate) fn http(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} x\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_followed() {
    let plain = plain_server().await;
    let location =
        format!("location: http://{plain}/app.git/info/refs?service=git-upload-pack\r\n");
    let moved = canned(http(301, &location, b"")).await;
    assert_eq!(outcome(&format!("http://{moved}/old"), &GitAuth::default()).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_follow_a_redirect_on_their_host_only() {
    if !sluice_testkit::programs::need(&["git"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    git(directory.path(), &["init", "-q", "app"]);
    git(&directory.path().join("app"), &["commit", "-qm", "nothing", "--allow-empty"]);
    let expected = format!("Basic {}", BASE64_STANDARD.encode("me:secret"));
    let rules = Rules { authorization: Some(expected), ..Rules::default() };
    let backend = serve(directory.path(), rules).await;
    let auth = GitAuth { username: "me".into(), password: "secret".into(), ..GitAuth::default() };
    let port = backend.address.port();
    for (host, follows) in [("127.0.0.1", true), ("localhost", false)] {
        let location = format!(
            "location: http://{host}:{port}/app/.git/info/refs?service=git-upload-pack\r\n"
        );
        let moved = canned(http(301, &location, b"")).await;
        let found = outcome(&format!("http://{moved}/old"), &auth).await;
        assert_eq!(found.is_ok(), follows, "{host}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_answers_are_errors_in_time() {
    let cases: [(&str, Vec<u8>, &str); 11] = [
        ("no answer", Vec::new(), "info/refs?service=git-upload-pack\": context deadline exceeded"),
        ("half a head", b"HTTP/1.1 200".to_vec(), "context deadline exceeded"),
        ("not HTTP", b"SSH-2.0-x\r\n".to_vec(), "\": invalid HTTP version parsed"),
        ("a web page", http(200, "content-type: text/html\r\n", b"<html>"), "smart protocol"),
        ("nothing", http(200, SMART, b""), ": unexpected EOF"),
        ("no length", http(200, SMART, b"zzzzabc"), "invalid pkt-len found"),
        ("a cut line", http(200, SMART, b"00ff# service"), ": unexpected EOF"),
        ("an error", http(200, SMART, b"000cERR nope"), "remote error: nope"),
        ("no name", http(200, SMART, b"0009abcd\n0000"), "ref line"),
        ("403", http(403, "", b"go away\n"), "authorization failed: go away\n"),
        ("500", http(500, "", b""), "status code: 500"),
    ];
    for (name, answer, expected) in cases {
        let address = canned(answer).await;
        let mut request = request(&format!("http://{address}/app"), branch("main"));
        request.timeout = Duration::from_millis(1500);
        let error = clone(&network(), &request).await.expect_err(name);
        assert!(chain(&error).contains(expected), "{name}: {}", chain(&error));
    }
}

/// Advertises one branch, and answers every fetch with the same bytes.
async fn advertising(id: ObjectId, answer: Vec<u8>) -> SocketAddr {
    let refs = [
        frame(format!("{id} refs/heads/main\0side-band-64k shallow\n").as_bytes()),
        b"0000".to_vec(),
    ];
    answering(http(200, SMART, &refs.concat()), answer).await
}

/// Answers the question for references, and every other one, with the same bytes each.
pub(crate) async fn answering(first: Vec<u8>, answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind(ANY).await.expect("a loopback port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 8192];
            let length = stream.read(&mut head).await.unwrap_or_default();
            let is_first = head.get(..length).is_some_and(|head| head.starts_with(b"GET "));
            let _ = stream.write_all(if is_first { &first } else { &answer }).await;
        }
    });
    address
}

pub(crate) fn frame(data: &[u8]) -> Vec<u8> {
    [format!("{:04x}", data.len() + 4).as_bytes(), data].concat()
}

/// The answer to a shallow fetch with a packfile in it.
fn packed(pack: &[u8]) -> Vec<u8> {
    let piece = frame(&[&[1], pack].concat());
    http(200, "", &[b"0000".as_slice(), &frame(b"NAK\n"), &piece, b"0000"].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_packfiles_are_errors() {
    let commit = Object { kind: ObjectKind::Commit, data: "tree x\n\nno tree".into() };
    let absent = format!("tree {}\n\nan absent tree", "1".repeat(40));
    let absent = Object { kind: ObjectKind::Commit, data: absent.into() };
    let blob = Object { kind: ObjectKind::Blob, data: "not a commit".into() };
    let id = |object: &Object| ObjectId::of(object.kind, &object.data);
    let pack = |object: &Object| pack::write(std::iter::once(object)).expect("memory takes it");
    let good = pack(&commit);
    let mut flipped = good.clone();
    flipped[20] ^= 1;
    let cases = [
        ("cut", id(&commit), packed(&good[..good.len() - 25]), "malformed"),
        ("flipped", id(&commit), packed(&flipped), "zlib: invalid checksum"),
        (
            "no pack",
            id(&commit),
            http(200, "", &[b"0000".as_slice(), &frame(b"NAK\n"), b"0000"].concat()),
            "not a packfile",
        ),
        (
            "an error",
            id(&commit),
            http(200, "", &[frame(b"NAK\n"), frame(b"\x03too busy")].concat()),
            "remote error: too busy",
        ),
        ("a hang up", id(&commit), http(200, "", &frame(b"NAK\n")), ": unexpected EOF"),
        ("another object", id(&commit), packed(&pack(&blob)), "object not found"),
        ("a blob", id(&blob), packed(&pack(&blob)), "is a blob, not a commit"),
        ("no tree", id(&commit), packed(&good), "not an object name"),
        ("an absent tree", id(&absent), packed(&pack(&absent)), "object not found"),
        ("503", id(&commit), http(503, "", b""), "status code: 503"),
    ];
    for (name, id, answer, expected) in cases {
        let address = advertising(id, answer).await;
        let mut request = request(&format!("http://{address}/app"), branch("main"));
        request.timeout = Duration::from_secs(5);
        let error = clone(&network(), &request).await.expect_err(name);
        assert!(chain(&error).contains(expected), "{name}: {}", chain(&error));
    }
}
