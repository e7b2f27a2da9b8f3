//! What can be done with a repository: resolve, list, pull, push.

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

/// A manifest is not larger.
const MANIFEST_LIMIT: u64 = 4 << 20;
/// A page of tags is not larger.
const PAGE_LIMIT: u64 = 16 << 20;
/// How many tags are asked for at once.
const PAGE: usize = 1000;
/// How many pages are read: a registry that goes on for ever is not listened to for ever.
const PAGES: usize = 1000;
/// How far indexes are followed into each other.
const NESTING: usize = 4;
/// A signature, with its certificates, is not larger.
const SIGNATURE_LIMIT: u64 = 4 << 20;

const DIGEST: &str = "docker-content-digest";

/// How large contents may be that are taken.
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

/// A manifest as it came.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The digest of what came.
    pub digest: Digest,
    /// What the registry says it is.
    pub media_type: String,
    /// What came.
    pub content: Bytes,
}

/// An artifact that was found.
#[derive(Debug, Clone)]
pub struct Image {
    /// Its digest; that of the child where an index led to it.
    pub digest: Digest,
    /// What it is made of.
    pub manifest: Manifest,
}

/// A repository at its registry.
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
    /// A repository; the registry hears of it at the first question.
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

    /// The digest that a reference stands for at this moment. One by digest is taken at its word.
    pub async fn resolve(&self, reference: &Reference) -> Result<Digest, OciError> {
        match reference.identifier() {
            Identifier::Digest(digest) => Ok(sha256(digest)?),
            Identifier::Tag(_) => match self.head(reference).await {
                Ok(digest) => Ok(digest),
                // Not every registry has it, and only a whole answer tells what is wrong.
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

    /// A manifest or an index.
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

    /// An artifact; an index leads to the one for Linux on amd64.
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
                // The registry goes on itself, or not at all.
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

    /// The bytes of a content, if they are what the descriptor says.
    pub async fn blob(&self, descriptor: &Descriptor) -> Result<Bytes, OciError> {
        self.blob_within(descriptor, self.limits.layer).await
    }

    /// The bytes of a signature, if they are what the descriptor says.
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
        // One more than is wanted, so that a longer answer is seen to be one.
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

    /// The artifacts that are about another: by the registry's own list, or by the tag that stands
    /// for it where it has none.
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

    /// Puts a content there, unless it is there already.
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

    /// Puts a manifest there, under a tag or its own digest.
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

    /// Gives an artifact another tag.
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

/// Checks that a document is only one thing: what the registry says of it decides whether it is read
/// as a manifest or as an index, and the digest is that of both.
fn check_kind(content: &[u8], media_type: &str) -> Result<(), OciError> {
    /// What tells a manifest from an index.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        media_type: Option<String>,
        layers: Option<serde::de::IgnoredAny>,
        manifests: Option<serde::de::IgnoredAny>,
    }
    // What cannot be read is told of when it is read.
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

/// The address of the next page, if the answer names one.
fn next_page(url: &Url, answer: &Response<Bytes>) -> Result<Option<Url>, OciError> {
    let Some(link) = text_of(answer.headers(), LINK.as_str()) else { return Ok(None) };
    let inner = link.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let Some((next, _)) = inner else {
        return Err(OciError::unexpected(format!("failed to parse link header: {link}")));
    };
    let joined = url.join(next).map_err(|error| OciError::unexpected(error.to_string()))?;
    Ok(Some(joined))
}
