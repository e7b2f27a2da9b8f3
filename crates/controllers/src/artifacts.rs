//! Artifacts as trees of files: unpacked once, shared by everybody who builds from them.
//!
//! An artifact is asked for together with the source that states it ([`SourceArtifact`]), and is kept under both:
//! knowing the digest of another tenant's artifact opens nothing. Many that ask at once share one answer, good or
//! bad; nobody tries again in here, because the queue does that without holding a worker.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use reqwest::Url;
use sluice_kustomize::{Entry, FileTree, TreeError};
use sluice_runtime::index::Reference;
use sluice_source::archive::{ArchiveLimits, unpack};
use sluice_source::client::{self, FetchError, FetchOptions};
use sluice_source::store::{ArtifactStore, StoreError, fetch};
use sluice_source::tree::{Node, SourceTree};

use crate::compute::Compute;
use crate::external;
use crate::sources::SourceArtifact;

/// How much memory unpacked artifacts may take between builds: contents, paths, and what each file costs.
const KEPT: u64 = 256 << 20;

/// How many unpacked artifacts are kept at most, however small.
const MOST: usize = 4096;

/// Why an artifact could not be had.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ArtifactError {
    /// It is not there (any more); the source will make it anew.
    #[error("artifact not found: {0}")]
    Missing(String),
    /// Its server did not answer, or not well; it may soon.
    #[error("{0}")]
    Unreachable(String),
    /// It could not be fetched, or is not what its status says.
    #[error("{0}")]
    Failed(String),
}

/// Where the packed bytes of artifacts come from: a store in this process, or a server.
pub trait Packed: Send + Sync {
    /// The verified bytes.
    fn fetch<'a>(
        &'a self,
        artifact: &'a SourceArtifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>>;
}

/// Artifacts out of a store in this process.
pub struct Local(pub Arc<dyn ArtifactStore>);

impl Packed for Local {
    fn fetch<'a>(
        &'a self,
        artifact: &'a SourceArtifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
        Box::pin(async move {
            let missing = || ArtifactError::Missing(artifact.path.clone());
            let place = artifact.place().map_err(|_| missing())?;
            fetch(&*self.0, &place, &artifact.digest).await.map_err(|error| match error {
                StoreError::Missing(_) => missing(),
                other => ArtifactError::Failed(words(&other)),
            })
        })
    }
}

/// Artifacts of the store of this process, whatever their addresses say, and others by their address.
///
/// An address names a host and a port that a restart may have changed, so what is in the store is never asked
/// for over a socket; and what is made here is not to be had elsewhere.
pub struct Served {
    /// The store of this process.
    pub local: Arc<dyn ArtifactStore>,
    /// How the others are reached.
    pub client: sluice_source::network::Client,
}

impl Packed for Served {
    fn fetch<'a>(
        &'a self,
        artifact: &'a SourceArtifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
        Box::pin(async move {
            let found = Local(Arc::clone(&self.local)).fetch(artifact).await;
            if found.is_ok() || artifact.made_here {
                return found;
            }
            check_address(artifact).map_err(ArtifactError::Failed)?;
            let options = FetchOptions::default();
            let fetched =
                client::fetch(&self.client, &artifact.url, &artifact.digest, &options).await;
            fetched.map_err(|error| match error {
                FetchError::NotFound => ArtifactError::Missing(artifact.url.clone()),
                FetchError::Unanswered { .. } | FetchError::Broken(_) => {
                    ArtifactError::Unreachable(words(&error))
                }
                other => ArtifactError::Failed(words(&other)),
            })
        })
    }
}

/// Whether the address of a source's artifact names a file of that source, as the layout of Flux's servers has
/// it: a tenant who may write a status must not read the artifacts of others with it. Addresses of
/// ExternalArtifacts are checked by [`external::check`], which knows the hosts.
fn check_address(artifact: &SourceArtifact) -> Result<(), String> {
    if artifact.of.kind == external::KIND {
        return Ok(());
    }
    let refused = || {
        let Reference { kind, key } = &artifact.of;
        format!("the address of the artifact of {kind}/{key} does not name a file of that object")
    };
    let place = artifact.place().map_err(|_| refused())?;
    let url = Url::parse(&artifact.url).map_err(|_| refused())?;
    if url.path().ends_with(&format!("/{}", place.path())) { Ok(()) } else { Err(refused()) }
}

type Tree = Result<Arc<SourceTree>, ArtifactError>;

/// An artifact that is being fetched and unpacked, or was.
type Fetching = Shared<BoxFuture<'static, Tree>>;

struct Slot {
    of: Reference,
    digest: String,
    tree: Fetching,
}

/// Unpacked artifacts, by source and digest.
pub struct Artifacts {
    packed: Arc<dyn Packed>,
    compute: Compute,
    slots: Mutex<VecDeque<Slot>>,
    /// See [`KEPT`].
    kept: u64,
}

impl Artifacts {
    /// Artifacts out of this source of bytes.
    pub fn new(packed: Arc<dyn Packed>, compute: Compute) -> Self {
        Self { packed, compute, slots: Mutex::default(), kept: KEPT }
    }

    /// The files of an artifact. Many that ask at once wait for one unpacking, and fail together; whoever asks
    /// after a failure begins anew. Dropping the future leaves the work to the others, or to the next.
    pub async fn tree(&self, artifact: &SourceArtifact) -> Tree {
        let fetching = self.slot(artifact);
        let tree = fetching.clone().await;
        if tree.is_err() {
            self.forget(&fetching);
        } else {
            self.trim();
        }
        tree
    }

    /// The place of an artifact, moved to the end: what was used last goes last.
    fn slot(&self, artifact: &SourceArtifact) -> Fetching {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |slot: &Slot| slot.of == artifact.of && slot.digest == artifact.digest;
        let known = slots.iter().position(is_same).and_then(|at| slots.remove(at));
        // A failure is for those who waited for it, not for those who come later.
        let known = known.filter(|slot| !matches!(slot.tree.peek(), Some(Err(_))));
        let slot = known.unwrap_or_else(|| Slot {
            of: artifact.of.clone(),
            digest: artifact.digest.clone(),
            tree: self.unpacked(artifact.clone()).shared(),
        });
        let tree = slot.tree.clone();
        slots.push_back(slot);
        tree
    }

    /// Fetches and unpacks.
    fn unpacked(&self, artifact: SourceArtifact) -> BoxFuture<'static, Tree> {
        let (packed, compute) = (Arc::clone(&self.packed), self.compute);
        let unpacked = async move {
            let packed = packed.fetch(&artifact).await?;
            let unpacked = compute.run(move || unpack(&packed, ArchiveLimits::default())).await;
            unpacked.map(Arc::new).map_err(|error| ArtifactError::Failed(words(&error)))
        };
        // A shared future that panicked would panic again for everybody who asks later.
        let panicked = |_| Err(ArtifactError::Failed("unpacking the artifact panicked".to_owned()));
        AssertUnwindSafe(unpacked).catch_unwind().map(move |it| it.unwrap_or_else(panicked)).boxed()
    }

    /// What could not be had takes no place.
    fn forget(&self, failed: &Fetching) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|slot| !slot.tree.ptr_eq(failed));
    }

    /// Lets go of the oldest beyond what is kept; the one used last always stays.
    fn trim(&self) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let size = |slot: &Slot| match slot.tree.peek() {
            Some(Ok(tree)) => tree.footprint(),
            _ => 0,
        };
        let mut total: u64 = slots.iter().map(size).sum();
        while (total > self.kept || slots.len() > MOST) && slots.len() > 1 {
            if let Some(slot) = slots.pop_front() {
                total = total.saturating_sub(size(&slot));
            }
        }
    }
}

/// An error with its causes.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The files of an artifact as the kustomize engine asks for them: below a directory, and without links,
/// which artifacts do not hold.
pub struct ArtifactTree {
    files: Arc<SourceTree>,
    /// Where the artifact lies; empty for the root.
    mount: &'static str,
    /// The names in each directory.
    names: BTreeMap<String, Vec<String>>,
}

impl ArtifactTree {
    /// The files at the root.
    pub fn new(files: Arc<SourceTree>) -> Self {
        Self::mounted(files, "")
    }

    /// The files below a directory, with what is in each directory found once.
    pub fn mounted(files: Arc<SourceTree>, mount: &'static str) -> Self {
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, _) in files.iter() {
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            names.entry(directory.to_owned()).or_default().push(name.to_owned());
        }
        for names in names.values_mut() {
            names.sort_unstable();
        }
        Self { files, mount, names }
    }

    /// A path as the artifact has it; nothing for one that is not in it.
    fn inner<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(self.mount)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
    }
}

impl FileTree for ArtifactTree {
    fn entry(&self, path: &str) -> Option<Entry> {
        let path = self.inner(path)?;
        if path.is_empty() {
            return Some(Entry::Directory);
        }
        match self.files.get(path)? {
            Node::File { .. } => Some(Entry::File),
            Node::Directory => Some(Entry::Directory),
            Node::Link { .. } => None,
        }
    }

    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        match self.inner(path).and_then(|path| self.files.read(path)) {
            Some(content) => Ok(Cow::Borrowed(content)),
            None if self.entry(path).is_some() => Err(TreeError::Directory(path.to_owned())),
            None => Err(TreeError::Missing(path.to_owned())),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        if self.entry(path) != Some(Entry::Directory) {
            return Err(TreeError::Missing(path.to_owned()));
        }
        let names = self.inner(path).and_then(|path| self.names.get(path));
        Ok(names.cloned().unwrap_or_default())
    }
}

/// A path of a spec, clean and relative to the root of an artifact; `..` ends there.
pub fn inside(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests;
