//! Where artifacts are kept: written once, replaced atomically, verified whenever they are read.
//!
//! [`DiskStore`] keeps them below a directory in Flux's layout, [`RemoteStore`] in a bucket,
//! [`MirroredStore`] in both, and [`MemoryStore`] in memory for simulations. All take the time from a
//! [`Clock`](sluice_base::clock::Clock).

mod content;
mod disk;
mod memory;
mod mirrored;
mod remote;
mod retention;

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;

pub use content::{Content, Served};
pub use disk::DiskStore;
pub use memory::MemoryStore;
pub use mirrored::MirroredStore;
pub use remote::{BucketAddressError, RemoteStore};

use crate::artifact::{ArtifactPath, ArtifactPathError, Digest, DigestError};

/// How long artifacts that are no longer current stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Those older than this go (`--artifact-retention-ttl`).
    pub ttl: Duration,
    /// Of the rest, the oldest beyond this number go (`--artifact-retention-records`).
    pub records: usize,
}

impl Default for Retention {
    fn default() -> Self {
        Self { ttl: Duration::from_mins(1), records: 2 }
    }
}

/// What became of a content that was put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Digest of the content.
    pub digest: Digest,
    /// Size of the content.
    pub size: u64,
    /// Whether anything was written; false where the same content was there already.
    pub written: bool,
}

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such file.
    #[error("artifact {0:?} is not in the storage")]
    Missing(String),
    /// What is there has another digest. It stays: the digest that was asked for is a claim, and what is
    /// really corrupt is replaced when it is made anew.
    #[error("computed digest '{found}' of {path:?} doesn't match '{expected}'")]
    Corrupt {
        /// Path below the root.
        path: String,
        /// The digest that was asked for.
        expected: Digest,
        /// The digest of what was there.
        found: Digest,
    },
    /// The content is larger than an artifact may be.
    #[error("artifact of {size} bytes exceeds the limit of {limit}")]
    TooLarge {
        /// Size of the content.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The path is not one of an artifact.
    #[error(transparent)]
    ArtifactPath(#[from] ArtifactPathError),
    /// The digest is none.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// The disk refused.
    #[error("cannot {verb} {path:?} in the storage")]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On which path.
        path: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// A place for artifacts.
///
/// Every operation may be cancelled at any point: a file is there whole, or as it was. All are
/// idempotent.
pub trait ArtifactStore: Send + Sync {
    /// Keeps a content at a place. The same content is not written again.
    fn put<'a>(
        &'a self,
        place: &'a ArtifactPath,
        content: Bytes,
    ) -> BoxFuture<'a, Result<Stored, StoreError>>;

    /// Makes a second name in the same directory for a file (`latest.tar.gz`, `index.yaml`).
    fn alias<'a>(
        &'a self,
        place: &'a ArtifactPath,
        target: &'a ArtifactPath,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The content at a path, if it has that digest. Nothing is deleted whatever the digest is.
    fn get<'a>(
        &'a self,
        path: &'a str,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>>;

    /// The content at a path as it is, for the server; whoever fetches it verifies it.
    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Served, StoreError>>;

    /// Takes away what retention does not keep of the object whose current file this is, and says
    /// the paths that went.
    fn collect<'a>(
        &'a self,
        current: &'a ArtifactPath,
        retention: Retention,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;

    /// Takes away everything of the object that the place belongs to; says whether there was any.
    fn remove<'a>(&'a self, place: &'a ArtifactPath) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// The content at a place, if it has the digest that a status states.
pub async fn fetch(
    store: &dyn ArtifactStore,
    place: &ArtifactPath,
    digest: &str,
) -> Result<Bytes, StoreError> {
    let digest: Digest = digest.parse()?;
    store.get(&place.path(), &digest).await
}

#[cfg(test)]
mod tests;
