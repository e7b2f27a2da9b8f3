//! Buckets: from the address of an object store to a tree of files, with a revision from its etags.
//!
//! ```text
//! BucketTransport::open ──▶ BucketReader ──▶ fetch: index (list) ──▶ unchanged, or the files
//! ```
//!
//! [`BucketNetwork`] supports S3 and compatible stores, Google Cloud Storage and Azure Blob Storage;
//! [`MemoryBuckets`] are for simulations. Signatures come from `object_store`, keys and tokens of clouds from
//! `sluice-cloud`. Requests are our own, because the revision is made of keys and etags exactly as they are
//! sent.

mod azure;
mod fetch;
mod gcs;
mod index;
mod memory;
mod network;
mod pages;
pub(crate) mod probe;
mod s3;
mod sts;
pub(crate) mod wire;

use std::fmt;

use bytes::Bytes;
use futures::future::BoxFuture;
use sluice_base::redacted::{Redacted, SecretData};
use sluice_cloud::CloudIdentity;
use tokio::time::Instant;

pub use fetch::{BucketQuery, FetchedBucket, fetch};
pub use index::BucketIndex;
pub use memory::{MemoryBucket, MemoryBuckets};
pub use network::BucketNetwork;

use crate::artifact::hex;
use crate::http::{HttpOptions, TlsOptions};

/// The provider of an object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BucketHost {
    /// Any store with S3's protocol.
    #[default]
    Generic,
    /// Amazon S3.
    Aws,
    /// Google Cloud Storage.
    Gcp,
    /// Azure Blob Storage.
    Azure,
}

/// The credentials of a bucket.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum BucketAuth {
    /// None for generic providers; those of the identity for clouds.
    #[default]
    Ambient,
    /// A Secret, with the fields of the provider.
    Secret {
        /// Its name, for messages.
        name: String,
        /// Its data.
        data: SecretData,
    },
    /// Temporary credentials for a name and password of LDAP.
    Ldap {
        /// The address of the STS service.
        endpoint: String,
        /// The name.
        username: String,
        /// The password.
        password: Redacted<String>,
        /// Trust and client certificate for the service.
        tls: TlsOptions,
    },
}

/// Shows no credentials.
impl fmt::Debug for BucketAuth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Ambient => "Ambient",
            Self::Secret { .. } => "Secret",
            Self::Ldap { .. } => "Ldap",
        })
    }
}

/// A bucket, its address and its credentials.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BucketAddress {
    /// The provider.
    pub host: BucketHost,
    /// Host and port; for Azure a URL.
    pub endpoint: String,
    /// Its name.
    pub bucket: String,
    /// Its region; empty if it has to be looked up.
    pub region: String,
    /// Whether to use plain HTTP.
    pub insecure: bool,
    /// Credentials.
    pub auth: BucketAuth,
    /// The cloud identity.
    pub identity: Option<CloudIdentity>,
    /// The STS endpoint of AWS, if not the default.
    pub sts_endpoint: String,
    /// Trust, client certificate and proxy.
    pub http: HttpOptions,
}

/// Why a bucket could not be used; the message is that of the service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BucketError(pub String);

impl BucketError {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// Its etag, as the host writes it.
    pub etag: String,
    /// The exact version that was listed, if the provider has versions.
    pub generation: Option<String>,
}

/// An object with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its etag when it was read.
    pub etag: String,
    /// Its content.
    pub content: Bytes,
}

/// Opens buckets.
pub trait BucketTransport: Send + Sync {
    /// Opens a bucket; an error means that the credentials cannot be used.
    fn open<'a>(
        &'a self,
        address: &'a BucketAddress,
    ) -> BoxFuture<'a, Result<Box<dyn BucketReader>, BucketError>>;
}

/// Reads a bucket. Dropping a future cancels its requests.
pub trait BucketReader: Send + Sync {
    /// Sets the deadline of requests; the error of one that is pending then names it.
    fn limit(&self, _at: Instant) {}

    /// Whether the bucket exists.
    fn exists(&self) -> BoxFuture<'_, Result<bool, BucketError>>;

    /// All objects with a key that begins with a prefix.
    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Listed>, BucketError>>;

    /// The content of an object, up to a number of bytes; `None` if it does not exist.
    fn get<'a>(
        &'a self,
        object: &'a Listed,
        largest: u64,
    ) -> BoxFuture<'a, Result<Option<Object>, BucketError>>;
}

/// Percent-encodes a path except letters, digits, `-`, `_`, `.`, `~` and slashes.
fn encoded(path: &str, keep: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || keep.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push_str(&hex(&[byte]).to_ascii_uppercase());
        }
    }
    out
}

/// A query string of names and values, without empty values.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let said = pairs.iter().filter(|(_, value)| !value.is_empty());
    let parts: Vec<String> =
        said.map(|(name, value)| format!("{name}={}", encoded(value, b""))).collect();
    parts.join("&")
}

/// Whether a key can be requested: URLs drop segments that are `.` or `..`.
fn is_addressable(key: &str) -> bool {
    !key.is_empty() && key.split('/').all(|part| part != "." && part != "..")
}

#[cfg(test)]
mod tests {
    use super::{encoded, is_addressable, query};

    #[test]
    fn keys_become_addresses() {
        assert_eq!(encoded("a b/ä~", b"/"), "a%20b/%C3%A4~");
        assert_eq!(query(&[("a", "x/y"), ("none", ""), ("b", "1")]), "a=x%2Fy&b=1");
        for (key, expected) in [("a/b", true), ("..a", true), ("a/../b", false), ("", false)] {
            assert_eq!(is_addressable(key), expected, "{key}");
        }
    }
}
