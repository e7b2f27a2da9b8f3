//! A registry without a network, for tests, simulations and demonstrations: it answers the requests
//! of the distribution protocol as the real one does, with faults.

mod answer;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use sluice_base::fault::{self, Attribute, Faults, Transport};
use tokio::net::TcpListener;

use super::manifest::{Descriptor, Index, Manifest};
use super::media::{INDEX, MANIFEST};
use super::name::digest_of;
use super::wire::{Wire, WireError};
use crate::artifact::Digest;
use crate::faults::{self, ConnectionBroken, carry};
use crate::http::HttpOptions;

/// What a request brings at the most.
const LARGEST: usize = 1 << 30;

/// How a registry wants to be spoken to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Doorkeeper {
    /// Everybody may do everything.
    #[default]
    Open,
    /// A name and a password.
    Basic(String, String),
    /// A token, which its own token server gives for a name and a password.
    Bearer(String, String),
    /// A token, which its own token server gives for an identity token.
    Identity(String),
}

/// What registries can do to requests.
static TRANSPORT: Transport = Transport {
    name: "registry",
    verbs: &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    attributes: &[Attribute::Verb, Attribute::Address],
    can: faults::can_do_to_http,
};

#[derive(Default)]
struct Registry {
    repositories: BTreeMap<String, Contents>,
    doorkeeper: Doorkeeper,
    lists_referrers: bool,
    page: usize,
    log: Vec<String>,
    uploads: u64,
    /// Which tokens are good: those of before are not.
    tokens: u64,
}

#[derive(Default)]
struct Contents {
    blobs: BTreeMap<String, Bytes>,
    /// By digest: the media type and the content.
    manifests: BTreeMap<String, (String, Bytes)>,
    tags: BTreeMap<String, String>,
}

/// Registries by host. Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct MemoryRegistry {
    registry: Arc<Mutex<Registry>>,
    faults: Faults,
}

impl Default for MemoryRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryRegistry {
    /// An empty one, open to everybody, that lists referrers.
    pub fn new() -> Self {
        let registry = Registry { lists_referrers: true, ..Registry::default() };
        Self { registry: Arc::new(Mutex::new(registry)), faults: faults::from_now(&TRANSPORT) }
    }

    /// Whom it lets in from now on.
    pub fn guard(&self, doorkeeper: Doorkeeper) {
        self.lock().doorkeeper = doorkeeper;
    }

    /// The tokens that were given are good no more.
    pub fn expire_tokens(&self) {
        self.lock().tokens += 1;
    }

    /// Whether it lists referrers itself, or has none but what the tags say.
    pub fn list_referrers(&self, lists: bool) {
        self.lock().lists_referrers = lists;
    }

    /// How many tags a page has; none is without end.
    pub fn page(&self, tags: usize) {
        self.lock().page = tags;
    }

    /// The faults of the registries.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The requests since the last call: method and path.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().log)
    }

    /// Keeps a content; gives what describes it.
    pub fn put_blob(
        &self,
        repository: &str,
        media_type: &str,
        content: impl Into<Bytes>,
    ) -> Descriptor {
        let content = content.into();
        let digest = digest_of(&content).to_string();
        let descriptor = Descriptor {
            media_type: media_type.to_owned(),
            size: content.len() as u64,
            digest: digest.clone(),
            ..Descriptor::default()
        };
        let mut registry = self.lock();
        registry.contents(repository).blobs.insert(digest, content);
        descriptor
    }

    /// Keeps an artifact, under a tag if one is given.
    pub fn put_manifest(
        &self,
        repository: &str,
        tag: Option<&str>,
        manifest: &Manifest,
    ) -> Descriptor {
        let manifest =
            Manifest { schema_version: 2, media_type: MANIFEST.to_owned(), ..manifest.clone() };
        let content = serde_json::to_vec(&manifest).unwrap_or_default();
        self.put_raw(repository, tag, MANIFEST, content)
    }

    /// Keeps an index, under a tag if one is given.
    pub fn put_index(&self, repository: &str, tag: Option<&str>, index: &Index) -> Descriptor {
        let index = Index { schema_version: 2, media_type: INDEX.to_owned(), ..index.clone() };
        let content = serde_json::to_vec(&index).unwrap_or_default();
        self.put_raw(repository, tag, INDEX, content)
    }

    /// Keeps what calls itself a manifest, whatever it is.
    pub fn put_raw(
        &self,
        repository: &str,
        tag: Option<&str>,
        media_type: &str,
        content: impl Into<Bytes>,
    ) -> Descriptor {
        let content = content.into();
        let digest = digest_of(&content).to_string();
        let size = content.len() as u64;
        let mut registry = self.lock();
        let contents = registry.contents(repository);
        contents.manifests.insert(digest.clone(), (media_type.to_owned(), content));
        if let Some(tag) = tag {
            contents.tags.insert(tag.to_owned(), digest.clone());
        }
        Descriptor { media_type: media_type.to_owned(), size, digest, ..Descriptor::default() }
    }

    /// Forgets a tag; gives whether there was one.
    pub fn remove_tag(&self, repository: &str, tag: &str) -> bool {
        self.lock().contents(repository).tags.remove(tag).is_some()
    }

    /// The digest that a tag stands for.
    pub fn tagged(&self, repository: &str, tag: &str) -> Option<Digest> {
        let registry = self.lock();
        registry.repositories.get(repository)?.tags.get(tag)?.parse().ok()
    }

    /// Listens on an address, which should be a loopback one. Says which one it became, and gives
    /// the future that serves; dropping it ends all connections.
    pub async fn listen(
        self,
        address: SocketAddr,
    ) -> std::io::Result<(SocketAddr, impl Future<Output = ()> + Send)> {
        let listener = TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        let handler = move |request: Request<Incoming>| {
            let registry = self.clone();
            async move { registry.serve(request).await }
        };
        let limits = crate::listen::ConnectionLimits::default();
        Ok((bound, crate::listen::serve(listener, limits, handler)))
    }

    async fn serve(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, ConnectionBroken> {
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LARGEST).collect().await else {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(response);
        };
        let request = Request::from_parts(parts, body.to_bytes());
        Ok(self.handle(&request).await?.map(Full::new))
    }

    async fn handle(&self, request: &Request<Bytes>) -> Result<Response<Bytes>, ConnectionBroken> {
        let (method, path) = (request.method().as_str(), request.uri().path());
        self.lock().log.push(format!("{method} {path}"));
        let address = format!("{}{path}", answer::host(request));
        let attributes = [(Attribute::Verb, method), (Attribute::Address, address.as_str())];
        let plan = self.faults.plan(&fault::Request(&attributes));
        carry(plan, || answer::answer(&mut self.lock(), request)).await
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wire for MemoryRegistry {
    fn send<'a>(
        &'a self,
        _: &'a HttpOptions,
        request: Request<Bytes>,
        largest: u64,
    ) -> BoxFuture<'a, Result<Response<Bytes>, WireError>> {
        Box::pin(async move {
            match self.handle(&request).await {
                Err(ConnectionBroken::Cut) => Err(WireError::Cut),
                Err(broken @ ConnectionBroken::Reset) => Err(WireError::Broken(broken.to_string())),
                Ok(response) if response.body().len() as u64 > largest => {
                    Err(WireError::TooLarge(largest))
                }
                Ok(response) => Ok(response),
            }
        })
    }
}

impl Registry {
    /// The token that its token server gives.
    fn token(&self) -> String {
        format!("token-{}", self.tokens)
    }

    fn contents(&mut self, repository: &str) -> &mut Contents {
        self.repositories.entry(repository.to_owned()).or_default()
    }
}
