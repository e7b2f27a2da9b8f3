//! Google Cloud Storage, by its JSON API, because Flux's revisions use that API's etags.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Method, StatusCode};
use object_store::client::HttpRequest;
use serde::Deserialize;
use serde_json::Value;
use sluice_cloud::CloudIdentity;
use sluice_cloud::gcp::GcpCredentials;
use tokio::sync::OnceCell;

use tokio::time::Instant;

use super::pages::{self, Page};
use super::wire::{Answer, LARGEST_PAGE, Wire, request};
use super::{BucketError, BucketReader, Listed, Object, encoded, is_addressable, query};

/// The scope of tokens for a Secret's service account.
const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_only";

/// How to request a token.
pub(super) enum Credentials {
    /// An identity of Google Cloud.
    Identity(CloudIdentity),
    /// The service account of a Secret, with the identity's network.
    Secret(GcpCredentials, CloudIdentity),
}

/// A bucket of Google's.
pub(super) struct Gcs {
    wire: Wire,
    /// The URL of the bucket resource.
    base: String,
    teller: Credentials,
    /// The `Authorization` header, requested on first use.
    bearer: OnceCell<HeaderValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ListPage {
    items: Vec<Item>,
    next_page_token: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Item {
    name: String,
    etag: String,
    generation: Option<String>,
}

impl Gcs {
    pub(super) fn new(wire: Wire, base: String, teller: Credentials) -> Self {
        Self { wire, base, teller, bearer: OnceCell::new() }
    }

    async fn bearer(&self) -> Result<&HeaderValue, BucketError> {
        let asked = self.bearer.get_or_try_init(async || {
            let token = match &self.teller {
                Credentials::Identity(identity) => identity.gcp().await,
                Credentials::Secret(credentials, identity) => {
                    credentials.token(&identity.asking(), &[SCOPE]).await
                }
            };
            let token = token.map_err(|error| BucketError(error.to_string()))?.value;
            HeaderValue::from_str(&format!("Bearer {}", token.expose()))
                .map_err(|_| BucketError::new("the token cannot be used"))
        });
        asked.await
    }

    async fn ask(&self, url: &str, largest: u64) -> Result<Answer, BucketError> {
        let bearer = self.bearer().await?;
        let make = || -> Result<HttpRequest, BucketError> {
            let mut request = request(Method::GET, url)?;
            request.headers_mut().insert(AUTHORIZATION, bearer.clone());
            Ok(request)
        };
        self.wire.send(largest, make).await
    }

    async fn page(&self, prefix: &str, token: Option<String>) -> Result<Page, BucketError> {
        let query = query(&[
            ("fields", "items(name,etag,generation),nextPageToken"),
            ("pageToken", token.as_deref().unwrap_or_default()),
            ("prefix", prefix),
        ]);
        let answer = self.ask(&format!("{}/o?{query}", self.base), LARGEST_PAGE).await?;
        if answer.status != StatusCode::OK {
            return Err(refused(&answer));
        }
        read_page(&answer.body)
    }
}

/// A page of a listing.
pub(super) fn read_page(body: &[u8]) -> Result<Page, BucketError> {
    let page: ListPage = serde_json::from_slice(body)
        .map_err(|error| BucketError(format!("failed to read the list: {error}")))?;
    let listed = page.items.into_iter().map(|item| Listed {
        key: item.name,
        etag: item.etag,
        generation: item.generation,
    });
    Ok(Page { listed: listed.collect(), next: page.next_page_token })
}

impl BucketReader for Gcs {
    fn limit(&self, at: Instant) {
        self.wire.limit(at);
    }

    fn exists(&self) -> BoxFuture<'_, Result<bool, BucketError>> {
        async move {
            let answer = self.ask(&format!("{}?fields=name", self.base), LARGEST_PAGE).await?;
            match answer.status {
                StatusCode::OK => Ok(true),
                StatusCode::NOT_FOUND => Ok(false),
                _ => Err(refused(&answer)),
            }
        }
        .boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Listed>, BucketError>> {
        pages::all(move |token| self.page(prefix, token)).boxed()
    }

    fn get<'a>(
        &'a self,
        object: &'a Listed,
        largest: u64,
    ) -> BoxFuture<'a, Result<Option<Object>, BucketError>> {
        async move {
            if !is_addressable(&object.key) {
                return Err(BucketError::new("the key cannot be part of an address"));
            }
            // The etag belongs to the version that was listed.
            let generation = object.generation.as_deref().unwrap_or_default();
            let query = query(&[("alt", "media"), ("ifGenerationMatch", generation)]);
            let url = format!("{}/o/{}?{query}", self.base, encoded(&object.key, b""));
            let answer = self.ask(&url, largest).await?;
            match answer.status {
                StatusCode::OK => {
                    Ok(Some(Object { etag: object.etag.clone(), content: answer.body }))
                }
                StatusCode::NOT_FOUND => Ok(None),
                _ => Err(refused(&answer)),
            }
        }
        .boxed()
    }
}

/// The error message of Google's client.
fn refused(answer: &Answer) -> BucketError {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let code = answer.status.as_u16();
    BucketError(match (text("/error/message"), text("/error/errors/0/reason")) {
        ("", _) => format!("googleapi: got HTTP response code {code} with body: {}", {
            let text = String::from_utf8_lossy(&answer.body);
            text.chars().take(1024).collect::<String>()
        }),
        (message, "") => format!("googleapi: Error {code}: {message}"),
        (message, reason) => format!("googleapi: Error {code}: {message}, {reason}"),
    })
}
