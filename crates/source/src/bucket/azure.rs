//! Azure Blob Storage: a bucket is a container.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use object_store::azure::{AzureAuthorizer, AzureCredential};
use object_store::client::HttpRequest;
use serde::Deserialize;
use sluice_cloud::CloudIdentity;
use sluice_cloud::azure::{AzureCredentials, STORAGE};
use tokio::sync::OnceCell;

use tokio::time::Instant;

use super::pages::{self, Page};
use super::wire::{Answer, LARGEST_PAGE, Wire, request};
use super::{BucketError, BucketReader, Listed, Object, encoded, is_addressable, query};

/// The source of credentials.
pub(super) enum Access {
    /// A given key or token.
    Given(Arc<AzureCredential>),
    /// A token that is requested on first use.
    Asked(Box<Asked>, OnceCell<Arc<AzureCredential>>),
}

/// How to request a token.
pub(super) enum Asked {
    /// By a cloud identity.
    Identity(CloudIdentity),
    /// By the credentials of a Secret, with the identity's network.
    Secret(AzureCredentials, CloudIdentity),
}

impl Access {
    /// A token that is requested on first use.
    pub(super) fn asked(asked: Asked) -> Self {
        Self::Asked(Box::new(asked), OnceCell::new())
    }

    /// Whether the token is one of a cloud identity, not one that a Secret's credentials prove.
    pub(super) fn is_of_controllers(&self) -> bool {
        match self {
            Self::Given(_) => false,
            Self::Asked(asked, _) => match &**asked {
                Asked::Identity(_) => true,
                Asked::Secret(credentials, _) => credentials.machine_identity().is_some(),
            },
        }
    }

    async fn credential(&self) -> Result<Arc<AzureCredential>, BucketError> {
        let (asked, kept) = match self {
            Self::Given(credential) => return Ok(Arc::clone(credential)),
            Self::Asked(asked, kept) => (asked, kept),
        };
        let given = kept.get_or_try_init(async || {
            let token = match &**asked {
                Asked::Identity(identity) => identity.azure(STORAGE).await,
                Asked::Secret(credentials, identity) => {
                    identity.azure_by(credentials, STORAGE).await
                }
            };
            let token = token.map_err(|error| BucketError(error.to_string()))?;
            Ok(Arc::new(AzureCredential::BearerToken(token.value.into_exposed())))
        });
        given.await.map(Arc::clone)
    }
}

/// A container.
pub(super) struct Container {
    pub(super) wire: Wire,
    /// The URL of the container.
    pub(super) base: String,
    pub(super) account: String,
    pub(super) access: Access,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Enumeration {
    #[serde(default)]
    blobs: Blobs,
    next_marker: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Blobs {
    blob: Vec<Blob>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Blob {
    name: String,
    properties: Properties,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Properties {
    #[serde(rename = "Etag")]
    etag: String,
}

impl Container {
    async fn ask(&self, url: &str, largest: u64) -> Result<Answer, BucketError> {
        let credential = self.access.credential().await?;
        let make = || -> Result<HttpRequest, BucketError> {
            let mut request = request(Method::GET, url)?;
            AzureAuthorizer::new(&credential, &self.account)
                .try_authorize(&mut request)
                .map_err(|error| BucketError(error.to_string()))?;
            Ok(request)
        };
        self.wire.send(largest, make).await
    }

    async fn page(&self, prefix: &str, marker: Option<String>) -> Result<Page, BucketError> {
        let query = query(&[
            ("comp", "list"),
            ("marker", marker.as_deref().unwrap_or_default()),
            ("prefix", prefix),
            ("restype", "container"),
        ]);
        let answer = self.ask(&format!("{}?{query}", self.base), LARGEST_PAGE).await?;
        if answer.status != StatusCode::OK {
            return Err(refused(&answer));
        }
        read_page(&answer.body)
    }
}

/// A page of a listing.
pub(super) fn read_page(body: &[u8]) -> Result<Page, BucketError> {
    let text = String::from_utf8_lossy(body);
    let page: Enumeration = quick_xml::de::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| BucketError(format!("failed to read the list: {error}")))?;
    let listed = page.blobs.blob.into_iter().map(|blob| Listed {
        etag: quoted(&blob.properties.etag),
        key: blob.name,
        generation: None,
    });
    Ok(Page { listed: listed.collect(), next: page.next_marker })
}

impl BucketReader for Container {
    fn limit(&self, at: Instant) {
        self.wire.limit(at);
    }

    fn exists(&self) -> BoxFuture<'_, Result<bool, BucketError>> {
        async move {
            let url = format!("{}?comp=list&maxresults=1&restype=container", self.base);
            let answer = self.ask(&url, LARGEST_PAGE).await?;
            if answer.status == StatusCode::OK {
                return Ok(true);
            }
            match answer.header("x-ms-error-code") {
                "ContainerNotFound" => Ok(false),
                // The error of a token that is for another container.
                "AuthenticationFailed" => Err(BucketError(format!(
                    "the specified bucket name may be incorrect, nonexistent, or the caller might lack sufficient permissions to access it: {}",
                    refused(&answer)
                ))),
                _ => Err(refused(&answer)),
            }
        }
        .boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Listed>, BucketError>> {
        pages::all(move |marker| self.page(prefix, marker)).boxed()
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
            let url = format!("{}/{}", self.base, encoded(&object.key, b"/"));
            let answer = self.ask(&url, largest).await?;
            match (answer.status, answer.header("x-ms-error-code")) {
                (StatusCode::OK, _) => {
                    let etag = quoted(answer.header("etag"));
                    Ok(Some(Object { etag, content: answer.body }))
                }
                (StatusCode::NOT_FOUND, "BlobNotFound") => Ok(None),
                _ => Err(refused(&answer)),
            }
        }
        .boxed()
    }
}

/// An etag with quotes, as in responses about single blobs; listings omit them.
fn quoted(etag: &str) -> String {
    if etag.is_empty() || etag.starts_with('"') { etag.to_owned() } else { format!("\"{etag}\"") }
}

fn refused(answer: &Answer) -> BucketError {
    let code = match answer.header("x-ms-error-code") {
        "" => "ERROR CODE UNAVAILABLE".to_owned(),
        code => format!("ERROR CODE: {code}"),
    };
    BucketError(format!("RESPONSE {}: {}, {code}", answer.status.as_u16(), answer.status_line()))
}
