//! Requests to an object store: sent again while the trouble may pass, read within bounds.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode};
use http_body_util::BodyExt as _;
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpRequest, HttpRequestBody, HttpResponse,
};

use super::BucketError;
use crate::http::chain;

/// How often a request is sent at most.
const ATTEMPTS: u32 = 4;
/// The pause before the second try; it doubles.
const PAUSE: Duration = Duration::from_millis(200);
/// How many bytes of a listing or an error are read.
pub(crate) const LARGEST_PAGE: u64 = 16 << 20;

/// An answer, read to its end.
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

/// Our HTTP client, for the library's own requests for credentials too.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    client: HttpClient,
}

impl HttpConnector for Wire {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.client.clone())
    }
}

impl Wire {
    pub(crate) fn new(client: reqwest::Client) -> Self {
        Self { client: HttpClient::new(client) }
    }

    /// Sends a request and reads the answer. A request is made, and signed, anew for every try.
    pub(crate) async fn send(
        &self,
        largest: u64,
        make: impl Fn() -> Result<HttpRequest, BucketError>,
    ) -> Result<Answer, BucketError> {
        let mut pause = PAUSE;
        for attempt in 1.. {
            let outcome = match self.client.execute(make()?).await {
                Ok(response) => read(response, largest).await,
                Err(error) => Err(BucketError(chain(&error))),
            };
            let passing = match &outcome {
                Ok(answer) => is_passing(answer.status),
                Err(_) => true,
            };
            if !passing || attempt == ATTEMPTS {
                return outcome;
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
        Err(BucketError::new("not tried"))
    }
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

async fn read(response: HttpResponse, largest: u64) -> Result<Answer, BucketError> {
    let (parts, mut body) = response.into_parts();
    let mut content = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| BucketError(chain(&error)))?;
        let Ok(piece) = frame.into_data() else { continue };
        if content.len() as u64 + piece.len() as u64 > largest {
            return Err(BucketError(format!("the answer has more than {largest} bytes")));
        }
        content.extend_from_slice(&piece);
    }
    Ok(Answer { status: parts.status, headers: parts.headers, body: content.freeze() })
}

/// Whether text can stand in a header; a stray line break in a Secret must not end the process.
pub(crate) fn is_printable(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// The settings of a cloud that an environment holds, as far as the library knows them.
pub(crate) fn settings<K: std::str::FromStr>(
    environment: &BTreeMap<String, String>,
    prefix: &str,
) -> Vec<(K, String)> {
    let named = environment.iter().filter(|(name, _)| name.starts_with(prefix));
    named
        .filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value.clone())))
        .collect()
}
