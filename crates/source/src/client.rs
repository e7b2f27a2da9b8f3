//! Fetches an artifact from another process: one attempt, bounded in size, and only with the expected digest.
//! The caller retries later, when that does not block other work.

use bytes::Bytes;
use futures::StreamExt as _;
use http::Method;
use reqwest::{Request, Response, StatusCode, Url};

use crate::artifact::{Digest, DigestError, Hasher};
use crate::http::HttpError;
use crate::network::Client;

/// How to fetch an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchOptions {
    /// The maximum size in bytes.
    pub largest: u64,
    /// A host, with an optional port, that replaces the one in the URL.
    pub host: Option<String>,
}

impl Default for FetchOptions {
    /// kustomize-controller's defaults.
    fn default() -> Self {
        Self { largest: 1 << 30, host: None }
    }
}

/// Why an artifact was not fetched, with the messages of `fluxcd/pkg/http/fetch`.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// 404: the source has a newer artifact, or is about to store it again.
    #[error("file not found")]
    NotFound,
    /// Another status.
    #[error("failed to download archive from {url} (status: {status})")]
    Status {
        /// The address.
        url: String,
        /// The status.
        status: StatusCode,
    },
    /// No response, or a temporary failure.
    #[error("failed to download archive: GET {url} giving up after 1 attempt(s): {cause}")]
    Unanswered {
        /// The address.
        url: String,
        /// Why.
        cause: String,
    },
    /// The transfer was interrupted.
    #[error("failed to copy temp contents")]
    Broken(#[source] HttpError),
    /// The artifact is larger than the maximum.
    #[error("artifact is greater than the max download size of {0} bytes")]
    TooLarge(u64),
    /// The digest is missing or of an unknown form.
    #[error("failed to verify archive: {0}")]
    Digest(String),
    /// The content has another digest.
    #[error(
        "failed to verify archive: computed digest doesn't match provided '{0}' (check whether file \
         size exceeds max download size)"
    )]
    Mismatch(Digest),
    /// The URL is invalid.
    #[error("failed to create a new request: {0}")]
    Url(String),
}

/// Fetches an artifact and verifies its digest, which is required. One attempt; dropping the future cancels the
/// transfer.
pub async fn fetch(
    client: &Client,
    url: &str,
    digest: &str,
    options: &FetchOptions,
) -> Result<Bytes, FetchError> {
    let expected = parse_digest(digest)?;
    let url = address(url, options.host.as_deref())?;
    let response = get(client, &url).await?;
    match response.status() {
        StatusCode::OK => read(response, &expected, options.largest).await,
        StatusCode::NOT_FOUND => Err(FetchError::NotFound),
        status => Err(FetchError::Status { url: url.to_string(), status }),
    }
}

/// Parses a digest; without an algorithm it is sha256, as in old artifacts.
fn parse_digest(text: &str) -> Result<Digest, FetchError> {
    if text.is_empty() {
        return Err(FetchError::Digest("empty digest".to_owned()));
    }
    let whole = if text.contains(':') { text.to_owned() } else { format!("sha256:{text}") };
    whole.parse().map_err(|error: DigestError| {
        FetchError::Digest(format!("failed to parse digest '{whole}': {error}"))
    })
}

fn address(text: &str, host: Option<&str>) -> Result<Url, FetchError> {
    let url = Url::parse(text).map_err(|error| FetchError::Url(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(FetchError::Url(format!("unsupported protocol scheme {:?}", url.scheme())));
    }
    let Some(host) = host else { return Ok(url) };
    let text = format!("{}://{host}{}", url.scheme(), url.path());
    Url::parse(&text).map_err(|error| FetchError::Url(error.to_string()))
}

/// Sends the request; fails with [`FetchError::Unanswered`] where a retry may help.
async fn get(client: &Client, url: &Url) -> Result<Response, FetchError> {
    let cause = match client.execute(Request::new(Method::GET, url.clone())).await {
        Ok(response) if !is_passing(response.status()) => return Ok(response),
        Ok(response) => response.status().to_string(),
        Err(error) => HttpError::from(error).to_string(),
    };
    Err(FetchError::Unanswered { url: url.to_string(), cause })
}

/// Whether a status is temporary.
fn is_passing(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || (status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED)
}

async fn read(response: Response, expected: &Digest, largest: u64) -> Result<Bytes, FetchError> {
    let mut content = Vec::new();
    let mut hasher = Hasher::new(expected.algorithm());
    let mut body = response.bytes_stream();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|error| FetchError::Broken(error.into()))?;
        if content.len() as u64 + piece.len() as u64 > largest {
            return Err(FetchError::TooLarge(largest));
        }
        hasher.update(&piece);
        content.extend_from_slice(&piece);
    }
    if hasher.finish() == *expected {
        Ok(content.into())
    } else {
        Err(FetchError::Mismatch(expected.clone()))
    }
}
