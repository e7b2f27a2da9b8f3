//! Artifacts in memory, for simulations: no disk, no real time, equal content shared.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use jiff::Timestamp;
use sluice_base::clock::Clock;

use super::retention::{Kept, garbage};
use super::{ArtifactStore, Content, Retention, Served, StoreError, Stored};
use crate::artifact::{ArtifactPath, Digest, DigestAlgorithm};

/// Artifacts in memory.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    algorithm: DigestAlgorithm,
    directories: Mutex<BTreeMap<String, BTreeMap<String, File>>>,
}

#[derive(Clone)]
enum File {
    Content { content: Bytes, digest: Digest, modified: Timestamp },
    Alias(String),
}

impl MemoryStore {
    /// An empty store.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_algorithm(clock, DigestAlgorithm::default())
    }

    /// An empty store with another digest than sha256.
    pub fn with_algorithm(clock: Arc<dyn Clock>, algorithm: DigestAlgorithm) -> Self {
        Self { clock, algorithm, directories: Mutex::default() }
    }

    /// All paths, in order.
    pub fn paths(&self) -> Vec<String> {
        let directories = self.lock();
        let in_one = |(directory, files): (&String, &BTreeMap<String, File>)| {
            files.keys().map(|file| format!("{directory}/{file}")).collect::<Vec<_>>()
        };
        directories.iter().flat_map(in_one).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, BTreeMap<String, File>>> {
        // No code panics while the lock is held, and every change is a single insertion.
        self.directories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, path: &str) -> Result<(Bytes, Digest, Timestamp), StoreError> {
        let place = ArtifactPath::of_path(path)?;
        let directories = self.lock();
        let files = directories.get(place.directory());
        let named = |name: &str| files.and_then(|files| files.get(name));
        let file = match named(place.file()) {
            Some(File::Alias(target)) => named(target),
            other => other,
        };
        match file {
            Some(File::Content { content, digest, modified }) => {
                Ok((content.clone(), digest.clone(), *modified))
            }
            Some(File::Alias(_)) | None => Err(StoreError::Missing(path.to_owned())),
        }
    }

    fn put_now(&self, place: &ArtifactPath, content: Bytes) -> Stored {
        let digest = Digest::of(self.algorithm, &content);
        let size = content.len() as u64;
        let mut directories = self.lock();
        let files = directories.entry(place.directory().to_owned()).or_default();
        if let Some(File::Content { digest: there, .. }) = files.get(place.file())
            && *there == digest
        {
            return Stored { digest, size, written: false };
        }
        let modified = self.clock.now();
        let file = File::Content { content, digest: digest.clone(), modified };
        files.insert(place.file().to_owned(), file);
        Stored { digest, size, written: true }
    }

    fn get_now(&self, path: &str, expected: &Digest) -> Result<Bytes, StoreError> {
        let (content, digest, _) = self.find(path)?;
        // The content cannot change, so the digest from when it was stored is still valid.
        let found = if digest.algorithm() == expected.algorithm() {
            digest
        } else {
            Digest::of(expected.algorithm(), &content)
        };
        if found == *expected {
            return Ok(content);
        }
        Err(StoreError::Corrupt { path: path.to_owned(), expected: expected.clone(), found })
    }

    fn collect_now(&self, current: &ArtifactPath, retention: Retention) -> Vec<String> {
        let now = self.clock.now();
        let mut directories = self.lock();
        let Some(files) = directories.get_mut(current.directory()) else { return Vec::new() };
        let kept = files.iter().filter_map(|(name, file)| match file {
            File::Content { modified, .. } => {
                Some(Kept { name: name.clone(), modified: *modified })
            }
            File::Alias(_) => None,
        });
        let gone = garbage(kept.collect(), current.file(), retention, now);
        for name in &gone {
            files.remove(name);
        }
        gone.into_iter().map(|name| format!("{}/{name}", current.directory())).collect()
    }
}

impl ArtifactStore for MemoryStore {
    fn put<'a>(
        &'a self,
        place: &'a ArtifactPath,
        content: Bytes,
    ) -> BoxFuture<'a, Result<Stored, StoreError>> {
        ready(Ok(self.put_now(place, content))).boxed()
    }

    fn alias<'a>(
        &'a self,
        place: &'a ArtifactPath,
        target: &'a ArtifactPath,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let file = File::Alias(target.file().to_owned());
        self.lock()
            .entry(place.directory().to_owned())
            .or_default()
            .insert(place.file().to_owned(), file);
        ready(Ok(())).boxed()
    }

    fn get<'a>(
        &'a self,
        path: &'a str,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        ready(self.get_now(path, digest)).boxed()
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Served, StoreError>> {
        let found = self.find(path);
        let found = found.map(|(content, _, modified)| Served {
            size: content.len() as u64,
            modified,
            content: Content::Bytes(content),
        });
        ready(found).boxed()
    }

    fn collect<'a>(
        &'a self,
        current: &'a ArtifactPath,
        retention: Retention,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        ready(Ok(self.collect_now(current, retention))).boxed()
    }

    fn remove<'a>(&'a self, place: &'a ArtifactPath) -> BoxFuture<'a, Result<bool, StoreError>> {
        ready(Ok(self.lock().remove(place.directory()).is_some())).boxed()
    }
}
