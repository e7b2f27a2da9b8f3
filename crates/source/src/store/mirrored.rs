//! A local store that is mirrored in a bucket, so that a restart or a second replica has all artifacts at once.
//!
//! Reads come from the local store, and from the bucket only where that lacks a file. So a pass over an unchanged
//! source sends no request to the bucket.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::remote::RemoteStore;
use super::{ArtifactStore, Retention, Served, StoreError, Stored};
use crate::artifact::{ArtifactPath, Digest};

/// A store, mirrored in a bucket.
pub struct MirroredStore {
    near: Arc<dyn ArtifactStore>,
    far: RemoteStore,
    /// Directories in the bucket that are known to contain only their current file.
    tidy: Mutex<BTreeSet<String>>,
}

impl MirroredStore {
    /// Mirrors `near` in `far`.
    pub fn new(near: Arc<dyn ArtifactStore>, far: RemoteStore) -> Self {
        Self { near, far, tidy: Mutex::default() }
    }

    fn set_tidy(&self, place: &ArtifactPath, is_tidy: bool) {
        let mut tidy = self.tidy.lock().unwrap_or_else(PoisonError::into_inner);
        if is_tidy {
            tidy.insert(place.directory().to_owned());
        } else {
            tidy.remove(place.directory());
        }
    }

    fn is_tidy(&self, place: &ArtifactPath) -> bool {
        let tidy = self.tidy.lock().unwrap_or_else(PoisonError::into_inner);
        tidy.contains(place.directory())
    }
}

impl ArtifactStore for MirroredStore {
    fn put<'a>(
        &'a self,
        place: &'a ArtifactPath,
        content: Bytes,
    ) -> BoxFuture<'a, Result<Stored, StoreError>> {
        async move {
            // The bucket first: an artifact in a status must outlive this process.
            let stored = self.far.put(place, content.clone()).await?;
            if stored.written {
                self.set_tidy(place, false);
            }
            self.near.put(place, content).await?;
            Ok(stored)
        }
        .boxed()
    }

    fn alias<'a>(
        &'a self,
        place: &'a ArtifactPath,
        target: &'a ArtifactPath,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            self.far.alias(place, target).await?;
            self.near.alias(place, target).await
        }
        .boxed()
    }

    fn get<'a>(
        &'a self,
        path: &'a str,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        async move {
            match self.near.get(path, digest).await {
                Err(StoreError::Missing(_) | StoreError::Corrupt { .. }) => {}
                other => return other,
            }
            let content = self.far.get(path, digest).await?;
            self.near.put(&ArtifactPath::of_path(path)?, content.clone()).await?;
            Ok(content)
        }
        .boxed()
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Served, StoreError>> {
        async move {
            match self.near.open(path).await {
                Err(StoreError::Missing(_)) => self.far.open(path).await,
                other => other,
            }
        }
        .boxed()
    }

    fn collect<'a>(
        &'a self,
        current: &'a ArtifactPath,
        retention: Retention,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        async move {
            let near = self.near.collect(current, retention).await?;
            if self.is_tidy(current) {
                return Ok(near);
            }
            let (far, left) = self.far.collect_counting(current, retention).await?;
            self.set_tidy(current, left <= 1);
            let gone: BTreeSet<String> = near.into_iter().chain(far).collect();
            Ok(gone.into_iter().collect())
        }
        .boxed()
    }

    fn remove<'a>(&'a self, place: &'a ArtifactPath) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let near = self.near.remove(place).await?;
            let far = self.far.remove(place).await?;
            self.set_tidy(place, false);
            Ok(near || far)
        }
        .boxed()
    }
}
