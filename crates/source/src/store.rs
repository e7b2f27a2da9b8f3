//! The artifact store: files are written once, replaced atomically, and verified on every read.
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

/// The retention of artifacts that are no longer current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Older ones are deleted (`--artifact-retention-ttl`).
    pub ttl: Duration,
    /// Of the rest, the oldest beyond this number are deleted (`--artifact-retention-records`).
    pub records: usize,
}

impl Default for Retention {
    fn default() -> Self {
        Self { ttl: Duration::from_mins(1), records: 2 }
    }
}

/// The result of storing content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Digest of the content.
    pub digest: Digest,
    /// Size of the content.
    pub size: u64,
    /// Whether a file was written; false if it had the same content already.
    pub written: bool,
}

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file does not exist.
    #[error("artifact {0:?} is not in the storage")]
    Missing(String),
    /// The file has another digest. It is kept: the expected digest may be a tenant's claim, and a corrupt
    /// file is replaced when the artifact is stored again.
    #[error("computed digest '{found}' of {path:?} doesn't match '{expected}'")]
    Corrupt {
        /// Path below the root.
        path: String,
        /// The expected digest.
        expected: Digest,
        /// The digest of the file.
        found: Digest,
    },
    /// The content is too large.
    #[error("artifact of {size} bytes exceeds the limit of {limit}")]
    TooLarge {
        /// Size of the content.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Not the path of an artifact.
    #[error(transparent)]
    ArtifactPath(#[from] ArtifactPathError),
    /// Not a digest.
    #[error(transparent)]
    Digest(#[from] DigestError),
    /// An I/O error.
    #[error("cannot {verb} {path:?} in the storage")]
    Io {
        /// The operation.
        verb: &'static str,
        /// The path.
        path: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// An artifact store.
///
/// Every operation may be cancelled at any point: a file is complete, or unchanged. All are
/// idempotent.
pub trait ArtifactStore: Send + Sync {
    /// Stores content at a path. Equal content is not written again.
    fn put<'a>(
        &'a self,
        place: &'a ArtifactPath,
        content: Bytes,
    ) -> BoxFuture<'a, Result<Stored, StoreError>>;

    /// Creates a second name for a file in the same directory (`latest.tar.gz`, `index.yaml`).
    fn alias<'a>(
        &'a self,
        place: &'a ArtifactPath,
        target: &'a ArtifactPath,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The content of a file, if it has that digest. Never deletes anything.
    fn get<'a>(
        &'a self,
        path: &'a str,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>>;

    /// The content of a file, unverified, for the server; the client verifies it.
    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Served, StoreError>>;

    /// Deletes files of an object by the retention, except its current file; returns the deleted paths.
    fn collect<'a>(
        &'a self,
        current: &'a ArtifactPath,
        retention: Retention,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;

    /// Deletes all files of an object; returns whether there were any.
    fn remove<'a>(&'a self, place: &'a ArtifactPath) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// The content of an artifact, if it has the digest that a status states.
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
