//! Buckets without a network, by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::{BucketAddress, BucketError, BucketReader, BucketTransport, Listed, Object};
use crate::artifact::{Digest, DigestAlgorithm};

/// A bucket: what is in it, and how it misbehaves.
#[derive(Debug, Clone, Default)]
pub struct MemoryBucket {
    /// Contents by key.
    pub objects: BTreeMap<String, Bytes>,
    /// What every request is answered with, if it fails.
    pub refuses: Option<String>,
    /// What a listing is answered with, if it fails.
    pub refuses_list: Option<String>,
    /// What reading an object is answered with, by key, if it fails.
    pub refuses_reads: BTreeMap<String, String>,
    /// How long every answer takes.
    pub delay: Duration,
    /// How many objects were read.
    pub reads: usize,
}

impl MemoryBucket {
    /// A bucket of these objects.
    pub fn of(objects: &[(&str, &str)]) -> Self {
        let content =
            |(key, text): &(&str, &str)| ((*key).to_owned(), Bytes::from((*text).to_owned()));
        Self { objects: objects.iter().map(content).collect(), ..Self::default() }
    }
}

/// Buckets by name. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct MemoryBuckets {
    buckets: Arc<Mutex<BTreeMap<String, MemoryBucket>>>,
    opened: Arc<Mutex<Vec<BucketAddress>>>,
}

impl MemoryBuckets {
    /// Puts a bucket under a name.
    pub fn insert(&self, name: &str, bucket: MemoryBucket) {
        self.lock().insert(name.to_owned(), bucket);
    }

    /// Changes a bucket; gives nothing where there is none.
    pub fn change<T>(&self, name: &str, change: impl FnOnce(&mut MemoryBucket) -> T) -> Option<T> {
        self.lock().get_mut(name).map(change)
    }

    /// With what buckets were opened, the last one last.
    pub fn opened(&self) -> Vec<BucketAddress> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, MemoryBucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BucketTransport for MemoryBuckets {
    fn open<'a>(
        &'a self,
        address: &'a BucketAddress,
    ) -> BoxFuture<'a, Result<Box<dyn BucketReader>, BucketError>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(address.clone());
        let reader = Reader { buckets: self.clone(), name: address.bucket.clone() };
        async move { Ok(Box::new(reader) as Box<dyn BucketReader>) }.boxed()
    }
}

struct Reader {
    buckets: MemoryBuckets,
    name: String,
}

impl Reader {
    /// Asks the bucket, if there is one, after its delay.
    async fn ask<T>(
        &self,
        answer: impl FnOnce(&mut MemoryBucket) -> T,
    ) -> Result<Option<T>, BucketError> {
        let delay = self.buckets.lock().get(&self.name).map(|bucket| bucket.delay);
        if let Some(delay) = delay.filter(|delay| !delay.is_zero()) {
            tokio::time::sleep(delay).await;
        }
        let mut buckets = self.buckets.lock();
        let Some(bucket) = buckets.get_mut(&self.name) else { return Ok(None) };
        match &bucket.refuses {
            Some(words) => Err(BucketError(words.clone())),
            None => Ok(Some(answer(bucket))),
        }
    }
}

fn etag(content: &Bytes) -> String {
    Digest::of(DigestAlgorithm::Sha256, content).hex().to_owned()
}

impl BucketReader for Reader {
    fn exists(&self) -> BoxFuture<'_, Result<bool, BucketError>> {
        async move { Ok(self.ask(|_| ()).await?.is_some()) }.boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Listed>, BucketError>> {
        async move {
            let all = self.ask(|bucket| {
                if let Some(words) = &bucket.refuses_list {
                    return Err(BucketError(words.clone()));
                }
                let below = bucket.objects.iter().filter(|(key, _)| key.starts_with(prefix));
                let listed = below.map(|(key, content)| Listed {
                    key: key.clone(),
                    etag: etag(content),
                    generation: None,
                });
                Ok(listed.collect())
            });
            all.await?.unwrap_or_else(|| Ok(Vec::new()))
        }
        .boxed()
    }

    fn get<'a>(
        &'a self,
        object: &'a Listed,
        _: u64,
    ) -> BoxFuture<'a, Result<Option<Object>, BucketError>> {
        async move {
            let found = self.ask(|bucket| {
                if let Some(words) = bucket.refuses_reads.get(&object.key) {
                    return Err(BucketError(words.clone()));
                }
                let Some(content) = bucket.objects.get(&object.key).cloned() else {
                    return Ok(None);
                };
                bucket.reads += 1;
                Ok(Some(Object { etag: etag(&content), content }))
            });
            found.await?.unwrap_or(Ok(None))
        }
        .boxed()
    }
}
