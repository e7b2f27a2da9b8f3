//! Artifacts in a bucket, in Flux's layout below a prefix.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{Error, ObjectStore, ObjectStoreExt as _};
use reqwest::Url;
use sluice_base::clock::Clock;

use super::retention::{Kept, garbage};
use super::{ArtifactStore, Content, Retention, Served, StoreError, Stored};
use crate::artifact::{ArtifactPath, Digest, DigestAlgorithm};
use crate::bucket::wire::{Wire, settings};
use crate::http::HttpOptions;
use crate::network::{Network, Purpose};

/// The suffix of objects that contain the name of another one.
const LINK: &str = ".link";

/// Why the URL of a bucket cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{address:?} is no usable bucket: {why}")]
pub struct BucketAddressError {
    address: String,
    why: String,
}

/// Artifacts in a bucket.
pub struct RemoteStore {
    bucket: Arc<dyn ObjectStore>,
    clock: Arc<dyn Clock>,
    algorithm: DigestAlgorithm,
}

impl RemoteStore {
    /// Artifacts in any object store.
    pub fn new(bucket: Arc<dyn ObjectStore>, clock: Arc<dyn Clock>) -> Self {
        Self { bucket, clock, algorithm: DigestAlgorithm::default() }
    }

    /// The same with another algorithm than sha256.
    #[must_use]
    pub fn with_digests(self, algorithm: DigestAlgorithm) -> Self {
        Self { algorithm, ..self }
    }

    /// Artifacts at `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`. Credentials,
    /// region and endpoint come from the environment variables of each cloud's tools.
    pub fn at(
        address: &str,
        network: &Network,
        environment: &BTreeMap<String, String>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, BucketAddressError> {
        let unusable = |why: String| BucketAddressError { address: address.to_owned(), why };
        let url = Url::parse(address).map_err(|error| unusable(error.to_string()))?;
        let name = url.host_str().unwrap_or_default();
        if name.is_empty() {
            return Err(unusable("it names no bucket".to_owned()));
        }
        let client = network.client(Purpose::Operator, &HttpOptions::default());
        let wire = Wire::new(client.map_err(|error| unusable(error.to_string()))?);
        let bucket = match url.scheme() {
            "s3" => settings::<AmazonS3ConfigKey>(environment, "AWS_")
                .into_iter()
                .fold(AmazonS3Builder::new(), |it, (key, value)| it.with_config(key, value))
                .with_bucket_name(name)
                .with_disable_bulk_delete(true)
                .with_http_connector(wire)
                .build()
                .map(|it| Arc::new(it) as Arc<dyn ObjectStore>),
            "gs" => settings::<GoogleConfigKey>(environment, "GOOGLE_")
                .into_iter()
                .fold(GoogleCloudStorageBuilder::new(), |it, (key, value)| {
                    it.with_config(key, value)
                })
                .with_bucket_name(name)
                .with_http_connector(wire)
                .build()
                .map(|it| Arc::new(it) as _),
            "az" => settings::<AzureConfigKey>(environment, "AZURE_")
                .into_iter()
                .fold(MicrosoftAzureBuilder::new(), |it, (key, value)| it.with_config(key, value))
                .with_container_name(name)
                .with_http_connector(wire)
                .build()
                .map(|it| Arc::new(it) as _),
            other => return Err(unusable(format!("{other}:// is none of s3://, gs:// and az://"))),
        };
        let bucket = bucket.map_err(|error| unusable(error.to_string()))?;
        let prefix = Path::from(url.path());
        Ok(Self::new(Arc::new(PrefixStore::new(bucket, prefix)), clock))
    }

    async fn read(&self, path: &str) -> Result<Served, StoreError> {
        // Only paths of artifacts are requested.
        ArtifactPath::of_path(path)?;
        let found = match self.bucket.get(&Path::from(path)).await {
            Err(Error::NotFound { .. }) => {
                let place = self.linked(path).await?;
                self.bucket.get(&Path::from(place.path())).await
            }
            other => other,
        };
        let found = found.map_err(|error| failed("read", path, error))?;
        let seconds = found.meta.last_modified.timestamp();
        let modified = Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH);
        let size = found.meta.size;
        let content =
            found.into_stream().map_err(|error| std::io::Error::other(crate::http::chain(&error)));
        Ok(Served { size, modified, content: Content::Stream(content.boxed()) })
    }

    /// The whole content of a file.
    async fn read_all(&self, path: &str) -> Result<Bytes, StoreError> {
        let content = self.read(path).await?.content.read().await;
        content.map_err(|source| StoreError::Io { verb: "read", path: path.to_owned(), source })
    }

    /// The target of an alias.
    async fn linked(&self, path: &str) -> Result<ArtifactPath, StoreError> {
        let place = ArtifactPath::of_path(path)?;
        let link = self.bucket.get(&Path::from(format!("{path}{LINK}"))).await;
        let link = link.map_err(|error| failed("read", path, error))?;
        let text = link.bytes().await.map_err(|error| failed("read", path, error))?;
        Ok(place.sibling(&String::from_utf8_lossy(&text))?)
    }

    async fn write(&self, path: &str, content: Bytes) -> Result<(), StoreError> {
        let written = self.bucket.put(&Path::from(path), content.into()).await;
        written.map(drop).map_err(|error| failed("write", path, error))
    }

    async fn delete(&self, path: &str) -> Result<(), StoreError> {
        match self.bucket.delete(&Path::from(path)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed("delete", path, error)),
        }
    }

    /// The files of an object with their modification times.
    async fn files(&self, place: &ArtifactPath) -> Result<Vec<Kept>, StoreError> {
        let directory = Path::from(place.directory());
        let listed: Vec<_> = self
            .bucket
            .list(Some(&directory))
            .try_collect()
            .await
            .map_err(|error| failed("list", place.directory(), error))?;
        let kept = listed.into_iter().filter_map(|it| {
            let modified = Timestamp::from_second(it.last_modified.timestamp()).ok()?;
            Some(Kept { name: it.location.filename()?.to_owned(), modified })
        });
        Ok(kept.collect())
    }

    /// Deletes files by the retention, and returns the number of remaining ones.
    pub(super) async fn collect_counting(
        &self,
        current: &ArtifactPath,
        retention: Retention,
    ) -> Result<(Vec<String>, usize), StoreError> {
        let mut files = self.files(current).await?;
        files.retain(|file| !file.name.ends_with(LINK));
        let total = files.len();
        let gone = garbage(files, current.file(), retention, self.clock.now());
        let paths: Vec<String> =
            gone.iter().map(|name| format!("{}/{name}", current.directory())).collect();
        for path in &paths {
            self.delete(path).await?;
        }
        let left = total.saturating_sub(paths.len());
        Ok((paths, left))
    }
}

impl ArtifactStore for RemoteStore {
    fn put<'a>(
        &'a self,
        place: &'a ArtifactPath,
        content: Bytes,
    ) -> BoxFuture<'a, Result<Stored, StoreError>> {
        async move {
            let digest = Digest::of(self.algorithm, &content);
            let size = content.len() as u64;
            let there = match self.bucket.head(&Path::from(place.path())).await {
                Ok(meta) if meta.size == size => self.read_all(&place.path()).await.ok(),
                _ => None,
            };
            let written = !there.is_some_and(|there| digest.matches(&there));
            if written {
                self.write(&place.path(), content).await?;
            }
            Ok(Stored { digest, size, written })
        }
        .boxed()
    }

    fn alias<'a>(
        &'a self,
        place: &'a ArtifactPath,
        target: &'a ArtifactPath,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let name = Bytes::from(target.file().to_owned());
            self.write(&format!("{}{LINK}", place.path()), name).await
        }
        .boxed()
    }

    fn get<'a>(
        &'a self,
        path: &'a str,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        async move {
            let content = self.read_all(path).await?;
            let found = Digest::of(digest.algorithm(), &content);
            if found == *digest {
                return Ok(content);
            }
            Err(StoreError::Corrupt { path: path.to_owned(), expected: digest.clone(), found })
        }
        .boxed()
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Served, StoreError>> {
        self.read(path).boxed()
    }

    fn collect<'a>(
        &'a self,
        current: &'a ArtifactPath,
        retention: Retention,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        async move { Ok(self.collect_counting(current, retention).await?.0) }.boxed()
    }

    fn remove<'a>(&'a self, place: &'a ArtifactPath) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let files = self.files(place).await?;
            for file in &files {
                self.delete(&format!("{}/{}", place.directory(), file.name)).await?;
            }
            Ok(!files.is_empty())
        }
        .boxed()
    }
}

fn failed(verb: &'static str, path: &str, error: Error) -> StoreError {
    match error {
        Error::NotFound { .. } => StoreError::Missing(path.to_owned()),
        other => {
            let source = std::io::Error::other(crate::http::chain(&other));
            StoreError::Io { verb, path: path.to_owned(), source }
        }
    }
}
