//! A registry without a network, for tests, simulations and demonstrations: it answers the requests
//! of the distribution protocol as the real one does, and fails on demand.

mod answer;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::future::{BoxFuture, pending};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use super::manifest::{Descriptor, Index, Manifest};
use super::media::{INDEX, MANIFEST};
use super::name::digest_of;
use super::wire::{Wire, WireError};
use crate::artifact::Digest;
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

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This answer.
    Status(u16, String),
    /// No answer, ever.
    Stall,
    /// The connection breaks.
    Reset,
    /// The connection breaks within the answer.
    Cut,
    /// The second half of the content is missing.
    Truncated,
    /// One byte of the content is another.
    Corrupt,
}

#[derive(Default)]
struct Registry {
    repositories: BTreeMap<String, Contents>,
    doorkeeper: Doorkeeper,
    /// What goes wrong at paths with a text in them, and how many times.
    faults: VecDeque<(String, usize, Fault)>,
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
#[derive(Clone, Default)]
pub struct MemoryRegistry {
    registry: Arc<Mutex<Registry>>,
}

/// What became of a request.
enum Outcome {
    Answer(Box<Response<Bytes>>),
    Stall,
    Reset,
    Cut,
}

impl MemoryRegistry {
    /// An empty one, open to everybody, that lists referrers.
    pub fn new() -> Self {
        let memory = Self::default();
        memory.lock().lists_referrers = true;
        memory
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

    /// Lets the next so many requests to paths with this text in them go wrong.
    pub fn fail(&self, path: &str, times: usize, fault: Fault) {
        self.lock().faults.push_back((path.to_owned(), times, fault));
    }

    /// Nothing goes wrong any more.
    pub fn heal(&self) {
        self.lock().faults.clear();
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

    async fn serve(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LARGEST).collect().await else {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::BAD_REQUEST;
            return response;
        };
        match self.handle(&Request::from_parts(parts, body.to_bytes())) {
            Outcome::Answer(response) => response.map(Full::new),
            Outcome::Stall | Outcome::Reset | Outcome::Cut => pending().await,
        }
    }

    fn handle(&self, request: &Request<Bytes>) -> Outcome {
        let mut registry = self.lock();
        let path = request.uri().path().to_owned();
        registry.log.push(format!("{} {path}", request.method()));
        let at = registry.faults.iter().position(|(part, ..)| path.contains(part.as_str()));
        let fault = at.and_then(|at| {
            let (_, times, fault) = registry.faults.get_mut(at)?;
            let fault = fault.clone();
            *times = times.saturating_sub(1);
            if *times == 0 {
                registry.faults.remove(at);
            }
            Some(fault)
        });
        match &fault {
            Some(Fault::Stall) => return Outcome::Stall,
            Some(Fault::Reset) => return Outcome::Reset,
            Some(Fault::Cut) => return Outcome::Cut,
            Some(Fault::Status(status, body)) => {
                let mut response = Response::new(Bytes::from(body.clone()));
                *response.status_mut() =
                    StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                return Outcome::Answer(Box::new(response));
            }
            _ => {}
        }
        let mut response = answer::answer(&mut registry, request);
        let body = response.body();
        match fault {
            Some(Fault::Truncated) => {
                let half = body.slice(..body.len() / 2);
                *response.body_mut() = half;
            }
            Some(Fault::Corrupt) => {
                let mut other = body.to_vec();
                if let Some(byte) = other.last_mut() {
                    *byte ^= 1;
                }
                *response.body_mut() = other.into();
            }
            _ => {}
        }
        Outcome::Answer(Box::new(response))
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
            match self.handle(&request) {
                Outcome::Stall => pending().await,
                Outcome::Cut => Err(WireError::Cut),
                Outcome::Reset => Err(WireError::Broken("connection reset by peer".to_owned())),
                Outcome::Answer(response) if response.body().len() as u64 > largest => {
                    Err(WireError::TooLarge(largest))
                }
                Outcome::Answer(response) => Ok(*response),
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
