//! Requests to an object store: retried on temporary failures, bounded in size.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};
use http_body_util::BodyExt as _;
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest,
    HttpRequestBody, HttpResponse, HttpService,
};
use reqwest::Url;
use tokio::time::{Instant, sleep, timeout_at};

use super::BucketError;
use crate::http::{Trouble, asked};
use crate::network::Client;

/// The maximum number of attempts.
const ATTEMPTS: u32 = 4;
/// The pause before the second attempt; it doubles.
const PAUSE: Duration = Duration::from_millis(200);
/// The maximum size of a listing or an error response.
pub(crate) const LARGEST_PAGE: u64 = 16 << 20;

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// A header as text.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The status as Go prints it.
    pub(crate) fn status_line(&self) -> String {
        let reason = self.status.canonical_reason().unwrap_or_default();
        format!("{} {reason}", self.status.as_u16()).trim_end().to_owned()
    }
}

/// The HTTP client, also for the library's own requests for credentials.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    client: HttpClient,
    /// The deadline of responses.
    limit: Arc<Mutex<Option<Instant>>>,
}

impl HttpConnector for Wire {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.client.clone())
    }
}

impl Wire {
    pub(crate) fn new(client: Client) -> Self {
        let inner = HttpClient::new(client.unjudged());
        Self { client: HttpClient::new(Judged { client, inner }), limit: Arc::default() }
    }

    /// Sends a request and reads the response. The request is built and signed anew for every attempt.
    pub(crate) async fn send(
        &self,
        largest: u64,
        make: impl Fn() -> Result<HttpRequest, BucketError>,
    ) -> Result<Answer, BucketError> {
        let mut pause = PAUSE;
        for attempt in 1.. {
            let outcome = self.try_once(largest, make()?).await;
            let passing = match &outcome {
                Ok(answer) => is_passing(answer.status),
                Err(failure) => failure.passes,
            };
            if !passing || attempt == ATTEMPTS {
                return outcome.map_err(|failure| failure.error);
            }
            self.in_time(sleep(pause)).await.ok_or_else(late)?;
            pause = pause.saturating_mul(2);
        }
        Err(BucketError::new("not tried"))
    }

    /// Sets the deadline of responses.
    pub(crate) fn limit(&self, at: Instant) {
        *self.limit.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
    }

    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let limit = *self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        match limit {
            Some(limit) => timeout_at(limit, work).await.ok(),
            None => Some(work.await),
        }
    }

    async fn try_once(&self, largest: u64, request: HttpRequest) -> Result<Answer, Failure> {
        let address = shown(request.uri());
        let asked = asked(request.method(), &address);
        let failed = |error: &(dyn std::error::Error + 'static)| {
            let trouble = match Url::parse(&address) {
                Ok(url) => Trouble::of(error, &url),
                Err(error) => Trouble::Unreachable(error.to_string()),
            };
            let words = match &trouble {
                // The message of Flux's object store client.
                Trouble::Broken(words) if words.contains("EOF") => {
                    format!("{asked}: Connection closed by foreign host {address}. Retry again.")
                }
                _ => format!("{asked}: {trouble}"),
            };
            let passes = !matches!(trouble, Trouble::Untrusted(_) | Trouble::Refused(_));
            Failure { error: BucketError(words), passes }
        };
        let Some(answer) = self.in_time(self.client.execute(request)).await else {
            let error = BucketError(format!("{asked}: {}", late()));
            return Err(Failure { error, passes: false });
        };
        let (parts, mut body) = answer.map_err(|error| failed(&error))?.into_parts();
        let mut content = BytesMut::new();
        loop {
            let Some(frame) = self.in_time(body.frame()).await else {
                return Err(Failure { error: late(), passes: false });
            };
            let Some(frame) = frame else { break };
            // Any interruption of a response.
            let cut = |_| Failure { error: BucketError(Trouble::Cut.to_string()), passes: true };
            let frame = frame.map_err(cut)?;
            let Ok(piece) = frame.into_data() else { continue };
            if content.len() as u64 + piece.len() as u64 > largest {
                let error = BucketError(format!("the answer has more than {largest} bytes"));
                return Err(Failure { error, passes: false });
            }
            content.extend_from_slice(&piece);
        }
        Ok(Answer { status: parts.status, headers: parts.headers, body: content.freeze() })
    }
}

/// Requests that the library sends itself; checked by the policy like all others.
#[derive(Debug)]
struct Judged {
    client: Client,
    inner: HttpClient,
}

impl HttpService for Judged {
    fn call<'s, 'f>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let url = Url::parse(&request.uri().to_string())
                .map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
            let refused = |refusal| HttpError::new(HttpErrorKind::Unknown, refusal);
            self.client.judged(&url, self.inner.execute(request)).await.map_err(refused)?
        })
    }
}

/// Why an attempt failed, and whether a retry may help.
struct Failure {
    error: BucketError,
    passes: bool,
}

fn late() -> BucketError {
    BucketError::new("context deadline exceeded")
}

/// A URL as Go prints it: without a slash if there is no path.
fn shown(uri: &http::Uri) -> String {
    let text = uri.to_string();
    let is_bare = uri.path() == "/" && uri.query().is_none();
    if is_bare { text.trim_end_matches('/').to_owned() } else { text }
}

/// A request without a body.
pub(crate) fn request(method: Method, url: &str) -> Result<HttpRequest, BucketError> {
    http::Request::builder()
        .method(method)
        .uri(url)
        .body(HttpRequestBody::empty())
        .map_err(|error| BucketError(format!("failed to create a request: {error}")))
}

fn is_passing(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || (status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED)
}

/// Whether text may be a header value; a stray newline in a Secret must not cause a panic.
pub(crate) fn is_printable(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// The environment variables of a cloud that the library knows.
pub(crate) fn settings<K: std::str::FromStr>(
    environment: &BTreeMap<String, String>,
    prefix: &str,
) -> Vec<(K, String)> {
    let named = environment.iter().filter(|(name, _)| name.starts_with(prefix));
    named
        .filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value.clone())))
        .collect()
}
