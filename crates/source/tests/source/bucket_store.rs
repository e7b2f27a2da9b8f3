//! An object store on the loopback that speaks S3, Google's JSON API and Azure's protocol, and misbehaves
//! on demand.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest::Url;
use ring::{digest, hmac};
use tokio::net::TcpListener;

/// The name of the one bucket.
pub(crate) const BUCKET: &str = "things";
/// How many objects a page of a listing has.
const PAGE: usize = 2;

/// What every request is answered with, if not properly.
#[derive(Clone, Default)]
pub(crate) enum Mood {
    #[default]
    Fine,
    /// This status and body.
    Refuses(u16, &'static str),
    /// Nothing, ever.
    Stalls,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) objects: BTreeMap<String, &'static str>,
    pub(crate) mood: Mood,
    /// Method, path and query of what was asked.
    pub(crate) asked: Vec<String>,
    /// Keys by id: where there are any, S3's requests have to be signed with one.
    pub(crate) keys: BTreeMap<String, String>,
    /// Answers to other paths.
    pub(crate) others: BTreeMap<String, String>,
    /// What requests to Google's and Azure's storage bore.
    pub(crate) bearers: Vec<String>,
    /// What was posted.
    pub(crate) forms: Vec<String>,
}

#[derive(Clone)]
pub(crate) struct BucketStore {
    pub(crate) address: SocketAddr,
    pub(crate) state: Arc<Mutex<State>>,
}

impl BucketStore {
    pub(crate) async fn start(objects: &[(&str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let address = listener.local_addr().expect("an address");
        let objects = objects.iter().map(|(key, text)| ((*key).to_owned(), *text)).collect();
        let store =
            Self { address, state: Arc::new(Mutex::new(State { objects, ..State::default() })) };
        let serving = store.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let store = serving.clone();
                let service = hyper::service::service_fn(move |request| {
                    let store = store.clone();
                    async move { Ok::<_, Infallible>(store.answer(request).await) }
                });
                tokio::spawn(async move {
                    let _ = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        store
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().expect("not poisoned"))
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.state.lock().expect("not poisoned").asked.clone()
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let url = Url::parse(&format!("http://store{}", request.uri())).expect("an address");
        let (parts, body) = request.into_parts();
        let body =
            body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let request = Request::from_parts(parts, ());
        let (mood, answer) = {
            let mut state = self.state.lock().expect("not poisoned");
            state.asked.push(format!("{} {}", request.method(), request.uri()));
            if request.method() == "POST" {
                state.forms.push(String::from_utf8_lossy(&body).into_owned());
            }
            if ["/storage/", "/account/"].iter().any(|start| url.path().starts_with(start)) {
                let bearer = request.headers().get("authorization");
                let bearer = bearer.and_then(|it| it.to_str().ok()).unwrap_or_default();
                state.bearers.push(bearer.to_owned());
            }
            (state.mood.clone(), state.answer(&request, &url))
        };
        let (status, body, headers) = match mood {
            Mood::Fine => answer,
            Mood::Refuses(status, body) => (status, body.to_owned(), Vec::new()),
            Mood::Stalls => std::future::pending().await,
        };
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(name, value);
        }
        let body = if request.method() == "HEAD" { String::new() } else { body };
        response.body(Full::new(Bytes::from(body))).expect("a response")
    }
}

type Answer = (u16, String, Vec<(&'static str, String)>);

fn etag(text: &str) -> String {
    let hash = digest::digest(&digest::SHA256, text.as_bytes());
    hex(&hash.as_ref()[..4])
}

impl State {
    fn answer(&self, request: &Request<()>, url: &Url) -> Answer {
        if let Some(body) = self.others.get(&format!("{} {}", request.method(), url.path())) {
            return (200, body.clone(), vec![("etag", "\"other\"".to_owned())]);
        }
        let query: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
        let path = decoded(url.path());
        if let Some(rest) = path.strip_prefix("/storage/v1/b/") {
            return self.google(rest, &query);
        }
        if let Some(rest) = path.strip_prefix("/account/") {
            return self.azure(request, rest, &query);
        }
        if !self.keys.is_empty() && !self.is_signed(request, url) {
            let body = "<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>";
            return (403, body.to_owned(), Vec::new());
        }
        let Some(key) = path.strip_prefix(&format!("/{BUCKET}/")) else {
            let body = "<Error><Code>NoSuchBucket</Code><Message>no such bucket</Message></Error>";
            return (404, body.to_owned(), Vec::new());
        };
        match self.objects.get(key) {
            Some(text) => (200, (*text).to_owned(), vec![("etag", format!("\"{}\"", etag(text)))]),
            None if !key.is_empty() => {
                let body = "<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>";
                (404, body.to_owned(), Vec::new())
            }
            None => (200, self.s3_list(&query), Vec::new()),
        }
    }

    /// One page, and how the next begins.
    fn page(
        &self,
        query: &BTreeMap<String, String>,
        token: &str,
    ) -> (Vec<(&String, &str)>, Option<String>) {
        let prefix = query.get("prefix").cloned().unwrap_or_default();
        let after = query.get(token).cloned().unwrap_or_default();
        let mut all: Vec<(&String, &str)> = self
            .objects
            .iter()
            .filter(|(key, _)| key.starts_with(&prefix) && **key >= after)
            .map(|(key, text)| (key, *text))
            .collect();
        let next = all.get(PAGE).map(|(key, _)| (*key).clone());
        all.truncate(PAGE);
        (all, next)
    }

    fn s3_list(&self, query: &BTreeMap<String, String>) -> String {
        let (page, next) = self.page(query, "continuation-token");
        let contents: Vec<String> = page
            .iter()
            .map(|(key, text)| {
                let key = key.replace(' ', "+").replace('ä', "%C3%A4");
                format!("<Contents><Key>{key}</Key><ETag>&quot;{}&quot;</ETag><Size>1</Size></Contents>", etag(text))
            })
            .collect();
        let more = next.as_ref().map_or(String::new(), |next| {
            format!("<NextContinuationToken>{next}</NextContinuationToken>")
        });
        format!(
            "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>{BUCKET}</Name><EncodingType>url</EncodingType><IsTruncated>{}</IsTruncated>{more}{}</ListBucketResult>",
            next.is_some(),
            contents.concat()
        )
    }

    fn google(&self, path: &str, query: &BTreeMap<String, String>) -> Answer {
        let Some(rest) = path.strip_prefix(BUCKET) else {
            let body =
                r#"{"error":{"code":404,"message":"no bucket","errors":[{"reason":"notFound"}]}}"#;
            return (404, body.to_owned(), Vec::new());
        };
        if let Some(key) = rest.strip_prefix("/o/") {
            return match self.objects.get(key) {
                Some(text) => (200, (*text).to_owned(), Vec::new()),
                None => (404, String::new(), Vec::new()),
            };
        }
        if rest.is_empty() {
            return (200, format!(r#"{{"name":"{BUCKET}"}}"#), Vec::new());
        }
        let (page, next) = self.page(query, "pageToken");
        let items: Vec<_> = page
            .iter()
            .map(|(key, text)| serde_json::json!({"name": key, "etag": format!("{}=", etag(text)), "generation": "7"}))
            .collect();
        (200, serde_json::json!({"items": items, "nextPageToken": next}).to_string(), Vec::new())
    }

    fn azure(&self, request: &Request<()>, path: &str, query: &BTreeMap<String, String>) -> Answer {
        let coded = |status, code: &str| {
            (status, String::new(), vec![("x-ms-error-code", code.to_owned())])
        };
        let by_key = request.headers().get("authorization").is_some_and(|value| {
            let value = value.to_str().unwrap_or_default();
            ["SharedKey account:", "Bearer "].iter().any(|start| value.starts_with(start))
        });
        if !by_key && query.get("sig").map(String::as_str) != Some("s") {
            return coded(403, "AuthorizationFailure");
        }
        let Some(rest) = path.strip_prefix(BUCKET) else { return coded(404, "ContainerNotFound") };
        if let Some(key) = rest.strip_prefix('/') {
            return match self.objects.get(key) {
                Some(text) => {
                    (200, (*text).to_owned(), vec![("etag", format!("\"{}\"", etag(text)))])
                }
                None => coded(404, "BlobNotFound"),
            };
        }
        let (page, next) = self.page(query, "marker");
        let blobs: Vec<String> = page
            .iter()
            .map(|(key, text)| {
                let tag = etag(text);
                format!(
                    "<Blob><Name>{key}</Name><Properties><Etag>{tag}</Etag></Properties></Blob>"
                )
            })
            .collect();
        let next = next.unwrap_or_default();
        let body = format!(
            "\u{feff}<?xml version=\"1.0\"?><EnumerationResults><Blobs>{}</Blobs><NextMarker>{next}</NextMarker></EnumerationResults>",
            blobs.concat()
        );
        (200, body, Vec::new())
    }

    /// Whether a request bears the signature that the key's owner would have made: AWS Signature 4.
    fn is_signed(&self, request: &Request<()>, url: &Url) -> bool {
        let header = |name: &str| {
            request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
        };
        let said = header("authorization");
        let part = |start: &str| {
            said.split([' ', ',']).find_map(|it| it.strip_prefix(start)).unwrap_or_default()
        };
        let scope: Vec<&str> = part("Credential=").split('/').collect();
        let [id, date, region, service, end] = scope.as_slice() else { return false };
        let Some(secret) = self.keys.get(*id) else { return false };
        let names = part("SignedHeaders=");
        let headers: String = names
            .split(';')
            .map(|name| format!("{name}:{}\n", header(name)))
            .collect::<Vec<_>>()
            .concat();
        let mut pairs: Vec<String> =
            url.query().unwrap_or_default().split('&').map(str::to_owned).collect();
        pairs.sort();
        let canonical = format!(
            "{}\n{}\n{}\n{headers}\n{names}\n{}",
            request.method(),
            url.path(),
            pairs.join("&"),
            header("x-amz-content-sha256")
        );
        let to_sign = format!(
            "AWS4-HMAC-SHA256\n{}\n{date}/{region}/{service}/{end}\n{}",
            header("x-amz-date"),
            hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref())
        );
        let mut key = format!("AWS4{secret}").into_bytes();
        for step in [*date, *region, *service, *end, &to_sign] {
            let signer = hmac::Key::new(hmac::HMAC_SHA256, &key);
            key = hmac::sign(&signer, step.as_bytes()).as_ref().to_vec();
        }
        hex(&key) == part("Signature=")
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn decoded(path: &str) -> String {
    let url = Url::parse(&format!("http://x/?{}", path.replace('&', "%26").replace('=', "%3D")));
    let url = url.expect("an address");
    url.query_pairs().next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}
