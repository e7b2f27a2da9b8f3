//! Artifacts as trees of files: unpacked once, shared by everybody who builds from them.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use sluice_api::shared::artifact::Artifact;
use sluice_kustomize::{Entry, FileTree, TreeError};
use sluice_source::archive::{ArchiveLimits, unpack};
use sluice_source::client::{self, FetchError, FetchOptions};
use sluice_source::store::{ArtifactStore, StoreError, fetch};
use sluice_source::tree::{Node, SourceTree};
use tokio::sync::OnceCell;

use crate::compute::Compute;

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
    /// It could not be fetched, or is not what its status says.
    #[error("{0}")]
    Failed(String),
}

/// Where the packed bytes of artifacts come from: a store in this process, or a server.
pub trait Packed: Send + Sync {
    /// The verified bytes.
    fn fetch<'a>(
        &'a self,
        artifact: &'a Artifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>>;
}

/// Artifacts out of a store in this process.
pub struct Local(pub Arc<dyn ArtifactStore>);

impl Packed for Local {
    fn fetch<'a>(
        &'a self,
        artifact: &'a Artifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
        Box::pin(async move {
            fetch(&*self.0, artifact).await.map_err(|error| match error {
                StoreError::Missing(path) => ArtifactError::Missing(path),
                other => ArtifactError::Failed(other.to_string()),
            })
        })
    }
}

/// Artifacts that this process serves itself are taken from its store; others from whoever serves them.
pub struct Served {
    /// The store of this process.
    pub local: Arc<dyn ArtifactStore>,
    /// What the addresses of its artifacts begin with.
    pub own: String,
    /// How the others are reached.
    pub client: sluice_source::network::Client,
}

impl Packed for Served {
    fn fetch<'a>(
        &'a self,
        artifact: &'a Artifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
        if artifact.url.starts_with(&self.own) {
            return Box::pin(async move { Local(Arc::clone(&self.local)).fetch(artifact).await });
        }
        Box::pin(async move {
            let options = FetchOptions::default();
            let fetched =
                client::fetch(&self.client, &artifact.url, &artifact.digest, &options).await;
            fetched.map_err(|error| match error {
                FetchError::NotFound => ArtifactError::Missing(artifact.url.clone()),
                other => ArtifactError::Failed(other.to_string()),
            })
        })
    }
}

type Slot = Arc<OnceCell<Arc<SourceTree>>>;

/// Unpacked artifacts, by digest.
pub struct Artifacts {
    packed: Arc<dyn Packed>,
    compute: Compute,
    slots: Mutex<VecDeque<(String, Slot)>>,
    /// See [`KEPT`].
    kept: u64,
}

impl Artifacts {
    /// Artifacts out of this source of bytes.
    pub fn new(packed: Arc<dyn Packed>, compute: Compute) -> Self {
        Self { packed, compute, slots: Mutex::default(), kept: KEPT }
    }

    /// The files of an artifact. Many who ask at once wait for one unpacking.
    pub async fn tree(&self, artifact: &Artifact) -> Result<Arc<SourceTree>, ArtifactError> {
        let slot = self.slot(&artifact.digest);
        let tree = slot
            .get_or_try_init(|| async {
                let packed = self.packed.fetch(artifact).await?;
                let unpacked =
                    self.compute.run(move || unpack(&packed, ArchiveLimits::default())).await;
                unpacked.map(Arc::new).map_err(|error| ArtifactError::Failed(words(&error)))
            })
            .await;
        let tree = match tree {
            Ok(tree) => Arc::clone(tree),
            Err(error) => {
                self.forget(&artifact.digest, &slot);
                return Err(error);
            }
        };
        self.trim();
        Ok(tree)
    }

    /// The place of an artifact, moved to the end: what was used last goes last.
    fn slot(&self, digest: &str) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let known = slots.iter().position(|(known, _)| known == digest);
        let entry = known.and_then(|at| slots.remove(at));
        let entry = entry.unwrap_or_else(|| (digest.to_owned(), Slot::default()));
        let slot = Arc::clone(&entry.1);
        slots.push_back(entry);
        slot
    }

    /// What could not be had takes no place, unless somebody else waits for it there.
    fn forget(&self, digest: &str, slot: &Slot) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        // One is ours, and one is in the list.
        let is_idle = |it: &Slot| it.get().is_none() && Arc::strong_count(it) <= 2;
        slots.retain(|(known, it)| known != digest || !Arc::ptr_eq(it, slot) || !is_idle(it));
    }

    /// Lets go of the oldest beyond what is kept; the one used last always stays.
    fn trim(&self) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let size = |slot: &Slot| slot.get().map_or(0, |tree| tree.footprint());
        let mut total: u64 = slots.iter().map(|(_, slot)| size(slot)).sum();
        while (total > self.kept || slots.len() > MOST) && slots.len() > 1 {
            if let Some((_, slot)) = slots.pop_front() {
                total = total.saturating_sub(size(&slot));
            }
        }
    }
}

/// An error with its causes.
fn words(error: &dyn std::error::Error) -> String {
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
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt as _;
    use futures::future::BoxFuture;
    use sluice_api::shared::artifact::Artifact;
    use sluice_source::archive::pack;

    use super::{ArtifactError, Artifacts, Packed, inside};
    use crate::compute::Compute;

    /// Nothing that can be unpacked.
    #[derive(Default)]
    struct Rotten(AtomicUsize);

    impl Packed for Rotten {
        fn fetch<'a>(
            &'a self,
            _: &'a Artifact,
        ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            futures::future::ready(Ok(bytes::Bytes::from_static(b"rotten"))).boxed()
        }
    }

    #[tokio::test]
    async fn what_cannot_be_unpacked_takes_no_place_and_is_tried_again() {
        let packed = Arc::new(Rotten::default());
        let artifacts = Artifacts::new(Arc::clone(&packed) as _, Compute::Inline);
        for number in 0..10 {
            let digest = format!("sha256:{}", number / 2);
            let artifact = Artifact { digest, ..Artifact::default() };
            let both = futures::join!(artifacts.tree(&artifact), artifacts.tree(&artifact));
            assert!(both.0.is_err() && both.1.is_err());
        }
        assert_eq!(artifacts.slots.lock().unwrap().len(), 0);
        assert_eq!(packed.0.load(Ordering::Relaxed), 20, "each is another try");
    }

    /// An archive of a thousand empty files.
    struct Empty;

    impl Packed for Empty {
        fn fetch<'a>(
            &'a self,
            _: &'a Artifact,
        ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
            let files = (0..1000).map(|number| (number.to_string(), bytes::Bytes::new()));
            let packed = pack(&files.collect(), |_, _| false);
            let failed = |error: std::io::Error| ArtifactError::Failed(error.to_string());
            futures::future::ready(packed.map_err(failed)).boxed()
        }
    }

    #[tokio::test]
    async fn empty_files_count_in_what_is_kept() {
        let artifacts = Artifacts::new(Arc::new(Empty), Compute::Inline);
        let artifacts = Artifacts { kept: 1 << 20, ..artifacts };
        for number in 0..20 {
            let digest = format!("sha256:{number}");
            let artifact = Artifact { digest, ..Artifact::default() };
            artifacts.tree(&artifact).await.expect("unpacks");
        }
        let kept = artifacts.slots.lock().unwrap().len();
        assert!((1..10).contains(&kept), "{kept} artifacts of a thousand files in a mebibyte");
    }

    #[test]
    fn paths_stay_inside_the_artifact() {
        for (path, expected) in
            [("", ""), ("./", ""), ("./a/b/", "a/b"), ("../../etc", "etc"), ("/a/../b", "b")]
        {
            assert_eq!(inside(path), expected);
        }
    }
}
