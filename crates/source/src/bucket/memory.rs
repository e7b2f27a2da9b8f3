//! Buckets without a network, by name, with faults.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::StatusCode;
use sluice_base::fault::{Attribute, Fault, Faults, Request, Transport};

use super::{BucketAddress, BucketError, BucketReader, BucketTransport, Listed, Object};
use crate::artifact::{Digest, DigestAlgorithm};
use crate::faults::{self, wait};

/// A bucket.
#[derive(Debug, Clone, Default)]
pub struct MemoryBucket {
    /// Contents by key.
    pub objects: BTreeMap<String, Bytes>,
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

const EXISTS: &str = "exists";
const LIST: &str = "list";
const GET: &str = "get";

/// What buckets can do to requests. Answers cannot be lost after the fact, and contents are not damaged: etags are
/// computed from them.
static TRANSPORT: Transport = Transport {
    name: "bucket",
    verbs: &[EXISTS, LIST, GET],
    attributes: &[Attribute::Verb, Attribute::Address],
    can: |fault| {
        faults::can_do_to_http(fault)
            && !matches!(fault, Fault::AnswerLost | Fault::Truncate | Fault::Garble)
    },
};

/// Buckets by name. Cheap to clone; all clones are the same.
#[derive(Debug, Clone)]
pub struct MemoryBuckets {
    buckets: Arc<Mutex<BTreeMap<String, MemoryBucket>>>,
    opened: Arc<Mutex<Vec<BucketAddress>>>,
    faults: Faults,
}

impl Default for MemoryBuckets {
    fn default() -> Self {
        let faults = faults::from_now(&TRANSPORT);
        Self { buckets: Arc::default(), opened: Arc::default(), faults }
    }
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

    /// The faults of the buckets. The address of a request is the bucket's name, a slash and the key or the prefix.
    pub fn faults(&self) -> &Faults {
        &self.faults
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
    /// Asks the bucket, if there is one, with its faults.
    async fn ask<T>(
        &self,
        verb: &str,
        key: &str,
        answer: impl FnOnce(&mut MemoryBucket) -> T,
    ) -> Result<Option<T>, BucketError> {
        let address = format!("{}/{key}", self.name);
        let attributes = [(Attribute::Verb, verb), (Attribute::Address, address.as_str())];
        let plan = self.buckets.faults.plan(&Request(&attributes));
        wait(plan.delay).await;
        wait(plan.slow).await;
        let message = match plan.failure {
            None => return Ok(self.buckets.lock().get_mut(&self.name).map(answer)),
            Some(Fault::Refuse { status, message, .. }) if message.is_empty() => {
                StatusCode::from_u16(status).map_or(status.to_string(), |status| status.to_string())
            }
            Some(Fault::Refuse { message, .. }) => message,
            Some(Fault::Reset) => "connection reset by peer".to_owned(),
            Some(Fault::Cut) => "unexpected EOF".to_owned(),
            Some(other) => format!("{} cannot do {other:?}", TRANSPORT.name),
        };
        Err(BucketError(message))
    }
}

fn etag(content: &Bytes) -> String {
    Digest::of(DigestAlgorithm::Sha256, content).hex().to_owned()
}

impl BucketReader for Reader {
    fn exists(&self) -> BoxFuture<'_, Result<bool, BucketError>> {
        async move { Ok(self.ask(EXISTS, "", |_| ()).await?.is_some()) }.boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Listed>, BucketError>> {
        async move {
            let all = self.ask(LIST, prefix, |bucket| {
                let below = bucket.objects.iter().filter(|(key, _)| key.starts_with(prefix));
                let listed = below.map(|(key, content)| Listed {
                    key: key.clone(),
                    etag: etag(content),
                    generation: None,
                });
                listed.collect()
            });
            Ok(all.await?.unwrap_or_default())
        }
        .boxed()
    }

    fn get<'a>(
        &'a self,
        object: &'a Listed,
        _: u64,
    ) -> BoxFuture<'a, Result<Option<Object>, BucketError>> {
        async move {
            let found = self.ask(GET, &object.key, |bucket| {
                let content = bucket.objects.get(&object.key).cloned()?;
                bucket.reads += 1;
                Some(Object { etag: etag(&content), content })
            });
            Ok(found.await?.flatten())
        }
        .boxed()
    }
}
