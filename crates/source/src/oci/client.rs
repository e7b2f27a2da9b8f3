//! Repository operations: resolve, list, pull, push.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, LINK, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use reqwest::Url;
use serde::Deserialize;

use super::error::OciError;
use super::manifest::{Descriptor, Index, Manifest};
use super::media::{ANY_MANIFEST, DOCKER_LIST, DOCKER_SCHEMA_1, INDEX};
use super::name::{Identifier, Reference, Repository, digest_of, sha256};
use super::session::{Access, RegistryAccess, Session};
use crate::artifact::Digest;

/// The maximum size of a manifest.
const MANIFEST_LIMIT: u64 = 4 << 20;
/// The maximum size of a page of tags.
const PAGE_LIMIT: u64 = 16 << 20;
/// The number of tags per page.
const PAGE: usize = 1000;
/// The maximum number of pages.
const PAGES: usize = 1000;
/// The maximum nesting of indexes.
const NESTING: usize = 4;
/// The maximum size of a signature with its certificates.
const SIGNATURE_LIMIT: u64 = 4 << 20;

const DIGEST: &str = "docker-content-digest";

/// The maximum sizes of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PullLimits {
    /// Bytes of a layer.
    pub layer: u64,
}

impl Default for PullLimits {
    fn default() -> Self {
        Self { layer: 1 << 30 }
    }
}

/// A fetched manifest.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// Its digest.
    pub digest: Digest,
    /// The media type that the registry states.
    pub media_type: String,
    /// Its content.
    pub content: Bytes,
}

/// A fetched artifact.
#[derive(Debug, Clone)]
pub struct Image {
    /// Its digest; that of the child if an index led to it.
    pub digest: Digest,
    /// Its manifest.
    pub manifest: Manifest,
}

/// A repository of a registry.
pub struct RemoteRepository {
    session: Session,
    limits: PullLimits,
}

#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    tags: Option<Vec<String>>,
}

impl RemoteRepository {
    /// A repository; the first request is sent on first use.
    pub fn new(
        access: RegistryAccess,
        repository: Repository,
        wanted: Access,
        limits: PullLimits,
    ) -> Self {
        Self { session: Session::new(access, repository, wanted), limits }
    }

    /// Its name.
    pub fn repository(&self) -> &Repository {
        self.session.repository()
    }

    /// The current digest of a reference. A reference by digest is not looked up.
    pub async fn resolve(&self, reference: &Reference) -> Result<Digest, OciError> {
        match reference.identifier() {
            Identifier::Digest(digest) => Ok(sha256(digest)?),
            Identifier::Tag(_) => match self.head(reference).await {
                Ok(digest) => Ok(digest),
                // Not every registry supports HEAD, and only the response to GET has the cause of an error.
                Err(_) => Ok(self.manifest(reference).await?.digest),
            },
        }
    }

    async fn head(&self, reference: &Reference) -> Result<Digest, OciError> {
        let url = self.session.url(&format!("manifests/{}", reference.path())).await?;
        let request = request(Method::HEAD, Some(ANY_MANIFEST));
        let answer = self.session.call(request, &url, MANIFEST_LIMIT, &[StatusCode::OK]).await?;
        let digest = text_of(answer.headers(), DIGEST);
        let missing = || {
            let message = "response did not include Docker-Content-Digest header";
            OciError::unexpected(format!("HEAD {url}: {message}"))
        };
        Ok(sha256(digest.ok_or_else(missing)?)?)
    }

    /// Fetches a manifest or an index.
    pub async fn manifest(&self, reference: &Reference) -> Result<Fetched, OciError> {
        let url = self.session.url(&format!("manifests/{}", reference.path())).await?;
        let request = request(Method::GET, Some(ANY_MANIFEST));
        let answer = self.session.call(request, &url, MANIFEST_LIMIT, &[StatusCode::OK]).await?;
        let media_type = text_of(answer.headers(), CONTENT_TYPE.as_str()).unwrap_or_default();
        let media_type = media_type.to_owned();
        let content = answer.into_body();
        let digest = digest_of(&content);
        if let Identifier::Digest(wanted) = reference.identifier()
            && *wanted != digest.to_string()
        {
            return Err(OciError::unexpected(format!(
                "manifest digest: \"{digest}\" does not match requested digest: {wanted:?} for \"{reference}\""
            )));
        }
        check_kind(&content, &media_type)?;
        Ok(Fetched { digest, media_type, content })
    }

    /// Fetches an artifact; of an index the one for linux/amd64.
    pub async fn image(&self, reference: &Reference) -> Result<Image, OciError> {
        let mut reference = reference.clone();
        for _ in 0..NESTING {
            let found = self.manifest(&reference).await?;
            let media_type = found.media_type.as_str();
            if DOCKER_SCHEMA_1.contains(&media_type) {
                return Err(OciError::unexpected(format!(
                    "unsupported MediaType: {media_type:?}, see https://github.com/google/go-containerregistry/issues/377"
                )));
            }
            if ![INDEX, DOCKER_LIST].contains(&media_type) {
                let manifest = parse(&found.content)?;
                return Ok(Image { digest: found.digest, manifest });
            }
            let index: Index = parse(&found.content)?;
            let Some(child) = index.child() else {
                return Err(OciError::unexpected(format!(
                    "no child with platform linux/amd64 in index {reference}"
                )));
            };
            reference = reference.repository().digest(&sha256(&child.digest)?.to_string());
        }
        Err(OciError::unexpected(format!("too many indexes inside each other at {reference}")))
    }

    /// All tags, in the registry's order.
    pub async fn tags(&self) -> Result<Vec<String>, OciError> {
        let mut url = self.session.url("tags/list").await?;
        url.set_query(Some(&format!("n={PAGE}")));
        let mut tags = Vec::new();
        for _ in 0..PAGES {
            let request = request(Method::GET, None);
            let answer = self.session.call(request, &url, PAGE_LIMIT, &[StatusCode::OK]).await?;
            let page: Tags = parse(answer.body())?;
            tags.extend(page.tags.unwrap_or_default());
            match next_page(&url, &answer)? {
                // The next page must be on the registry itself.
                Some(next) if !self.session.is_own(&next).await? => {
                    return Err(OciError::unexpected(format!(
                        "GET {url}: the next page of tags is elsewhere: {next}"
                    )));
                }
                Some(next) => url = next,
                None => return Ok(tags),
            }
        }
        Err(OciError::unexpected(format!("GET {url}: more than {PAGES} pages of tags")))
    }

    /// Fetches content and verifies size and digest.
    pub async fn blob(&self, descriptor: &Descriptor) -> Result<Bytes, OciError> {
        self.blob_within(descriptor, self.limits.layer).await
    }

    /// Fetches a signature and verifies size and digest.
    pub(super) async fn signature(&self, descriptor: &Descriptor) -> Result<Bytes, OciError> {
        self.blob_within(descriptor, SIGNATURE_LIMIT.min(self.limits.layer)).await
    }

    async fn blob_within(&self, descriptor: &Descriptor, limit: u64) -> Result<Bytes, OciError> {
        let wanted = sha256(&descriptor.digest)?;
        if descriptor.size > limit {
            return Err(OciError::unexpected(format!(
                "layer {wanted} of {} bytes is larger than the limit of {limit} bytes",
                descriptor.size
            )));
        }
        let url = self.session.url(&format!("blobs/{wanted}")).await?;
        let request = request(Method::GET, None);
        // One byte more than expected, so that longer content is noticed.
        let largest = descriptor.size.saturating_add(1).max(64 << 10);
        let answer = self.session.call(request, &url, largest, &[StatusCode::OK]).await?;
        let size = descriptor.size;
        let said =
            text_of(answer.headers(), CONTENT_LENGTH.as_str()).and_then(|it| it.parse().ok());
        if let Some(said) = said.filter(|said: &u64| *said != size) {
            return Err(OciError::unexpected(format!(
                "GET {url}: Content-Length header {said} does not match expected size {size}"
            )));
        }
        let content = answer.into_body();
        let got = content.len() as u64;
        if got != size {
            return Err(OciError::Altered(format!("error verifying size; got {got}, want {size}")));
        }
        let digest = digest_of(&content);
        if digest != wanted {
            return Err(OciError::Altered(format!(
                "error verifying sha256 checksum after reading {got} bytes; got \"{digest}\", want \"{wanted}\""
            )));
        }
        Ok(content)
    }

    /// The referrers of an artifact: by the registry's API, or by the fallback tag if it has none.
    pub async fn referrers(&self, digest: &Digest) -> Result<Vec<Descriptor>, OciError> {
        let url = self.session.url(&format!("referrers/{digest}")).await?;
        let request = request(Method::GET, Some(INDEX));
        let fine = [
            StatusCode::OK,
            StatusCode::NOT_FOUND,
            StatusCode::BAD_REQUEST,
            StatusCode::NOT_ACCEPTABLE,
        ];
        let answer = self.session.call(request, &url, MANIFEST_LIMIT, &fine).await?;
        let is_list = answer.status() == StatusCode::OK
            && text_of(answer.headers(), CONTENT_TYPE.as_str()) == Some(INDEX);
        let index: Index = if is_list {
            parse(answer.body())?
        } else {
            let tag = digest.to_string().replacen(':', "-", 1);
            match self.manifest(&self.repository().tag(&tag)).await {
                Ok(found) => parse(&found.content)?,
                Err(error) if error.status() == Some(404) => Index::default(),
                Err(error) => return Err(error),
            }
        };
        Ok(index.manifests)
    }

    /// Uploads content, unless it exists.
    pub async fn push_blob(&self, content: &Bytes) -> Result<Digest, OciError> {
        let digest = digest_of(content);
        let url = self.session.url(&format!("blobs/{digest}")).await?;
        let fine = [StatusCode::OK, StatusCode::NOT_FOUND];
        let there =
            self.session.call(request(Method::HEAD, None), &url, MANIFEST_LIMIT, &fine).await?;
        if there.status() == StatusCode::OK {
            return Ok(digest);
        }
        let url = self.session.url("blobs/uploads/").await?;
        let fine = [StatusCode::ACCEPTED, StatusCode::CREATED];
        let begun =
            self.session.call(request(Method::POST, None), &url, MANIFEST_LIMIT, &fine).await?;
        let location = text_of(begun.headers(), LOCATION.as_str());
        let mut upload =
            location.and_then(|location| url.join(location).ok()).ok_or_else(|| {
                OciError::unexpected(format!("POST {url}: missing \"Location\" header"))
            })?;
        upload.query_pairs_mut().append_pair("digest", &digest.to_string());
        let mut request = request(Method::PUT, None);
        let kind = HeaderValue::from_static("application/octet-stream");
        request.headers_mut().insert(CONTENT_TYPE, kind);
        request.headers_mut().insert(CONTENT_LENGTH, content.len().into());
        *request.body_mut() = content.clone();
        self.session.call(request, &upload, MANIFEST_LIMIT, &[StatusCode::CREATED]).await?;
        Ok(digest)
    }

    /// Uploads a manifest, under a tag or its own digest.
    pub async fn push_manifest(
        &self,
        identifier: &str,
        media_type: &str,
        content: &Bytes,
    ) -> Result<Digest, OciError> {
        let url = self.session.url(&format!("manifests/{identifier}")).await?;
        let mut request = request(Method::PUT, None);
        let kind = HeaderValue::from_str(media_type)
            .map_err(|_| OciError::unexpected(format!("{media_type:?} is no media type")))?;
        request.headers_mut().insert(CONTENT_TYPE, kind);
        *request.body_mut() = content.clone();
        let fine = [StatusCode::OK, StatusCode::CREATED, StatusCode::ACCEPTED];
        self.session.call(request, &url, MANIFEST_LIMIT, &fine).await?;
        Ok(digest_of(content))
    }

    /// Adds a tag to an artifact.
    pub async fn tag(&self, reference: &Reference, tag: &str) -> Result<(), OciError> {
        let found = self.manifest(reference).await?;
        self.push_manifest(tag, &found.media_type, &found.content).await?;
        Ok(())
    }
}

fn request(method: Method, accept: Option<&'static str>) -> Request<Bytes> {
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = method;
    if let Some(accept) = accept {
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
    }
    request
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Checks that a document is unambiguous: the stated media type decides whether it is read as a manifest or
/// as an index, but the digest does not cover the media type.
fn check_kind(content: &[u8], media_type: &str) -> Result<(), OciError> {
    /// The fields that distinguish a manifest from an index.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        media_type: Option<String>,
        layers: Option<serde::de::IgnoredAny>,
        manifests: Option<serde::de::IgnoredAny>,
    }
    // Invalid JSON is reported when the document is parsed.
    let Ok(kind) = serde_json::from_slice::<Kind>(content) else { return Ok(()) };
    if kind.layers.is_some() && kind.manifests.is_some() {
        return Err(OciError::unexpected("a manifest must not have both layers and manifests"));
    }
    let said = media_type.split(';').next().unwrap_or_default().trim();
    let is_other = |own: &String| !own.is_empty() && own != said && said.contains("/vnd.");
    match kind.media_type.filter(is_other) {
        None => Ok(()),
        Some(own) => Err(OciError::unexpected(format!(
            "manifest of media type {own:?} was served as {media_type:?}"
        ))),
    }
}

fn parse<T: serde::de::DeserializeOwned>(content: &[u8]) -> Result<T, OciError> {
    serde_json::from_slice(content).map_err(|error| {
        let first = String::from_utf8_lossy(content).trim_start().chars().next();
        OciError::unexpected(match first {
            None => "EOF".to_owned(),
            Some(_) if error.is_eof() => "unexpected EOF".to_owned(),
            Some(first) if error.is_syntax() && !"{[\"-0123456789tfn".contains(first) => {
                format!("invalid character '{first}' looking for beginning of value")
            }
            Some(_) => error.to_string(),
        })
    })
}

/// The URL of the next page, if the response has one.
fn next_page(url: &Url, answer: &Response<Bytes>) -> Result<Option<Url>, OciError> {
    let Some(link) = text_of(answer.headers(), LINK.as_str()) else { return Ok(None) };
    let inner = link.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let Some((next, _)) = inner else {
        return Err(OciError::unexpected(format!("failed to parse link header: {link}")));
    };
    let joined = url.join(next).map_err(|error| OciError::unexpected(error.to_string()))?;
    Ok(Some(joined))
}
