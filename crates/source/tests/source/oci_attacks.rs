//! Attacks by registries: what they claim about themselves, and where they would send credentials.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, LINK, LOCATION, WWW_AUTHENTICATE};
use http::{Request, Response};
use serde_json::json;
use sluice_source::http::HttpOptions;
use sluice_source::network::Network;
use sluice_source::oci::cosign::verify_with_key;
use sluice_source::oci::{
    Access, Credentials, MemoryRegistry, NetworkWire, PullLimits, RegistryAccess, RemoteRepository,
    Repository, TokenRealms, Wire, WireError, media,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::oci_signatures::{Place, key, public};

const APP: &str = "org/app";

/// What a request is answered with.
type Answer = dyn Fn(&str) -> Response<Bytes> + Send + Sync;

/// A registry that answers as it likes, and remembers what it was asked with.
#[derive(Clone)]
struct Hostile {
    answer: Arc<Answer>,
    /// Addresses, and whether credentials came along.
    asked: Arc<Mutex<Vec<(String, bool)>>>,
}

impl Hostile {
    fn new(answer: impl Fn(&str) -> Response<Bytes> + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(answer), asked: Arc::default() }
    }

    fn asked_elsewhere(&self) -> Vec<(String, bool)> {
        let asked = self.asked.lock().expect("a list").clone();
        asked.into_iter().filter(|(url, _)| !url.starts_with("https://r.test/")).collect()
    }
}

impl Wire for Hostile {
    fn send<'a>(
        &'a self,
        _: &'a HttpOptions,
        request: Request<Bytes>,
        _: u64,
    ) -> BoxFuture<'a, Result<Response<Bytes>, WireError>> {
        let url = request.uri().to_string();
        let has_credentials = request.headers().contains_key(AUTHORIZATION);
        self.asked.lock().expect("a list").push((url.clone(), has_credentials));
        Box::pin(async move { Ok((self.answer)(&url)) })
    }
}

fn answer(status: u16, headers: &[(http::HeaderName, &str)], body: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_owned()));
    *response.status_mut() = status.try_into().expect("a status");
    for (name, value) in headers {
        response.headers_mut().insert(name, value.parse().expect("a value"));
    }
    response
}

fn remote_at(wire: Arc<dyn Wire>, name: &str, credentials: Credentials) -> RemoteRepository {
    let access = RegistryAccess {
        wire,
        connection: HttpOptions::default(),
        credentials,
        realms: TokenRealms::default(),
    };
    let repository = Repository::parse(name).expect("a name");
    RemoteRepository::new(access, repository, Access::Push, PullLimits::default())
}

fn known() -> Credentials {
    Credentials { username: "ada".into(), password: "secret".into(), ..Credentials::default() }
}

#[tokio::test]
async fn credentials_do_not_go_to_a_foreign_realm() {
    let hostile = Hostile::new(|url| {
        if url.contains("evil.test") {
            return answer(200, &[], r#"{"token":"taken"}"#);
        }
        let challenge = "Bearer realm=\"https://evil.test/token\",service=\"r.test\"";
        answer(401, &[(WWW_AUTHENTICATE, challenge)], "")
    });
    let remote = remote_at(Arc::new(hostile.clone()), "r.test/org/app", known());
    let error = remote.tags().await.expect_err("refused").to_string();
    assert_eq!(
        error,
        "invalid realm in www-authenticate: realm host \"evil.test\" is not the registry's own and not known to issue tokens for \"r.test\"; allow it with --registry-token-realms=r.test=evil.test"
    );
    assert_eq!(hostile.asked_elsewhere(), []);
}

#[tokio::test]
async fn the_next_page_of_tags_is_not_read_elsewhere() {
    let hostile = Hostile::new(|url| {
        if url == "https://r.test/v2/" {
            return answer(401, &[(WWW_AUTHENTICATE, "Basic realm=\"r\"")], "");
        }
        let next = "<https://metadata.test/latest/token>; rel=\"next\"";
        answer(200, &[(LINK, next)], r#"{"tags":["v1"]}"#)
    });
    let remote = remote_at(Arc::new(hostile.clone()), "r.test/org/app", known());
    let error = remote.tags().await.expect_err("refused").to_string();
    assert!(error.contains("the next page of tags is elsewhere"), "{error}");
    assert_eq!(hostile.asked_elsewhere(), []);
}

#[tokio::test]
async fn credentials_are_not_asked_for_in_the_clear() {
    let hostile = Hostile::new(|url| match url {
        "https://r.test/v2/" => answer(401, &[(WWW_AUTHENTICATE, "Basic realm=\"r\"")], ""),
        _ if url.ends_with("/uploads/") => {
            answer(202, &[(LOCATION, "http://r.test/v2/org/app/blobs/uploads/1")], "")
        }
        _ if url.starts_with("http://r.test/") => answer(201, &[], ""),
        _ => answer(404, &[], ""),
    });
    let remote = remote_at(Arc::new(hostile.clone()), "r.test/org/app", known());
    let _ = remote.push_blob(&Bytes::from("content")).await;
    for (url, has_credentials) in hostile.asked_elsewhere() {
        assert!(!has_credentials, "credentials were sent to {url}");
    }
}

/// Answers each connection once with a text; remembers what came.
async fn canned(
    text: impl Fn(&str) -> String + Send + 'static,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let came: Arc<Mutex<Vec<String>>> = Arc::default();
    let (kept, own) = (came.clone(), address.clone());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = vec![0; 16 << 10];
            let read = stream.read(&mut buffer).await.unwrap_or_default();
            let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
            let answer = text(&request).replace("{own}", &own);
            kept.lock().expect("a list").push(request);
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (address, came)
}

fn bare(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
}

#[tokio::test]
async fn a_token_request_is_not_led_elsewhere() {
    let (thief, taken) = canned(|_| bare("200 OK", "", r#"{"token":"x"}"#)).await;
    let (registry, asked) = canned(move |request| {
        if request.starts_with("GET /v2/ ") {
            let header = "WWW-Authenticate: Bearer realm=\"http://{own}/token\",service=\"r\"\r\n";
            return bare("401 Unauthorized", header, "");
        }
        let header = format!("Location: http://{thief}/token\r\n");
        bare("307 Temporary Redirect", &header, "")
    })
    .await;
    let identity = Credentials { identity_token: "secret".into(), ..Credentials::default() };
    for credentials in [known(), identity] {
        let wire = Arc::new(NetworkWire::new(Network::new()));
        let remote = remote_at(wire, &format!("{registry}/org/app"), credentials);
        let error = remote.tags().await.expect_err("refused").to_string();
        assert!(error.contains("307"), "{error}");
    }
    let asked = asked.lock().expect("a list").join("\n");
    assert!(asked.contains("/token"), "the realm itself was asked: {asked}");
    assert_eq!(*taken.lock().expect("a list"), Vec::<String>::new());
}

#[tokio::test]
async fn a_document_cannot_be_manifest_and_index_at_once() {
    let registry = MemoryRegistry::new();
    let layer = registry.put_blob(APP, media::FLUX_CONTENT, "what was signed");
    let other = registry.put_blob(APP, media::FLUX_CONTENT, "what is pulled");
    let manifest = json!({"schemaVersion": 2, "config": layer, "layers": [other]}).to_string();
    let child = registry.put_raw(APP, None, media::MANIFEST, manifest);
    let both = json!({
        "schemaVersion": 2, "config": layer, "layers": [layer],
        "manifests": [{"mediaType": media::MANIFEST, "digest": child.digest, "size": child.size}],
    });
    let both = registry.put_raw(APP, None, media::INDEX, both.to_string());
    let disguised = json!({
        "schemaVersion": 2, "mediaType": media::MANIFEST, "config": layer,
        "manifests": [{"mediaType": media::MANIFEST, "digest": child.digest, "size": child.size}],
    });
    let disguised = registry.put_raw(APP, None, media::INDEX, disguised.to_string());
    let remote = remote_at(Arc::new(registry), "r.test/org/app", Credentials::default());
    for (digest, reason) in [
        (both.digest, "must not have both layers and manifests"),
        (disguised.digest, "was served as"),
    ] {
        let outcome = remote.image(&remote.repository().digest(&digest)).await;
        let error = outcome.expect_err("ambiguous").to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[tokio::test]
async fn a_signature_cannot_be_a_gigabyte() {
    let place = Place::new();
    let tag = format!("{}.sig", place.subject.digest.replace(':', "-"));
    let hex = "0".repeat(64);
    let manifest = json!({"schemaVersion": 2, "config": {}, "layers": [{
        "mediaType": media::COSIGN_PAYLOAD, "size": 512 << 20, "digest": format!("sha256:{hex}"),
        "annotations": {"dev.cosignproject.cosign/signature": "YQ=="},
    }]});
    place.registry.put_raw(APP, Some(&tag), media::MANIFEST, manifest.to_string());
    let outcome = verify_with_key(&place.remote(), &place.digest(), &public(&key())).await;
    let error = outcome.expect_err("refused").to_string();
    assert!(error.contains("is larger than the limit of 4194304 bytes"), "{error}");
    let fetched = place.registry.requests().into_iter().any(|line| line.contains(&hex));
    assert!(!fetched, "the signature was asked for");
}
