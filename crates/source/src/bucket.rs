//! Buckets: from the address of an object store to a tree of files, and a revision made of its etags.
//!
//! ```text
//! BucketTransport::open ──▶ BucketReader ──▶ fetch: index (what is there?) ──▶ nothing new, or the files
//! ```
//!
//! [`BucketNetwork`] reaches S3 and what speaks like it, Google Cloud Storage and Azure Blob Storage;
//! [`MemoryBuckets`] are for simulations. Signatures come from `object_store`, keys and tokens of clouds from
//! `sluice-cloud`. Requests are our own, because keys and etags have to be seen as they are: they make the
//! revision.

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

/// Whose object store it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BucketHost {
    /// Anything that speaks S3's protocol.
    #[default]
    Generic,
    /// Amazon S3.
    Aws,
    /// Google Cloud Storage.
    Gcp,
    /// Azure Blob Storage.
    Azure,
}

/// What a bucket is opened with.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum BucketAuth {
    /// Nothing for generic hosts; what the identity is given for those of a cloud.
    #[default]
    Ambient,
    /// A Secret, in the fields that the host knows.
    Secret {
        /// Its name, for messages.
        name: String,
        /// Its data.
        data: SecretData,
    },
    /// Credentials for a while, in exchange for a name and a password of LDAP.
    Ldap {
        /// The address of the service.
        endpoint: String,
        /// The name.
        username: String,
        /// The password.
        password: Redacted<String>,
        /// Trust and client certificate for the service.
        tls: TlsOptions,
    },
}

/// Names no credentials.
impl fmt::Debug for BucketAuth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Ambient => "Ambient",
            Self::Secret { .. } => "Secret",
            Self::Ldap { .. } => "Ldap",
        })
    }
}

/// Which bucket, where, and how to get in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BucketAddress {
    /// Whose it is.
    pub host: BucketHost,
    /// Host and port; an address with its scheme for Azure.
    pub endpoint: String,
    /// Its name.
    pub bucket: String,
    /// Its region; empty where it is to be found out.
    pub region: String,
    /// Whether plain HTTP is spoken.
    pub insecure: bool,
    /// Credentials.
    pub auth: BucketAuth,
    /// Whom the cloud may know.
    pub identity: Option<CloudIdentity>,
    /// The service for temporary credentials of AWS, if not the usual one.
    pub sts_endpoint: String,
    /// Trust, client certificate and proxy.
    pub http: HttpOptions,
}

/// Why a bucket could not be used, in the words of whoever refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BucketError(pub String);

impl BucketError {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

/// An object as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// Its etag, as the host writes it.
    pub etag: String,
    /// The very version that was listed, where the host has such.
    pub generation: Option<String>,
}

/// An object with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its etag at the moment it was read.
    pub etag: String,
    /// What is in it.
    pub content: Bytes,
}

/// Opens buckets.
pub trait BucketTransport: Send + Sync {
    /// A way into a bucket; an error means that the credentials are of no use.
    fn open<'a>(
        &'a self,
        address: &'a BucketAddress,
    ) -> BoxFuture<'a, Result<Box<dyn BucketReader>, BucketError>>;
}

/// Reads a bucket. Dropping a future ends what it began.
pub trait BucketReader: Send + Sync {
    /// From this moment on, it is too late for answers: whoever waits for one then says for which.
    fn limit(&self, _at: Instant) {}

    /// Whether there is such a bucket.
    fn exists(&self) -> BoxFuture<'_, Result<bool, BucketError>>;

    /// All objects whose keys begin with a prefix.
    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Listed>, BucketError>>;

    /// The content of an object, of at most so many bytes; nothing where it is gone.
    fn get<'a>(
        &'a self,
        object: &'a Listed,
        largest: u64,
    ) -> BoxFuture<'a, Result<Option<Object>, BucketError>>;
}

/// A path with everything but letters, digits, `-`, `_`, `.` and `~` as `%XX`; slashes stay.
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

/// A query of these names and values, without those that are empty.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let said = pairs.iter().filter(|(_, value)| !value.is_empty());
    let parts: Vec<String> =
        said.map(|(name, value)| format!("{name}={}", encoded(value, b""))).collect();
    parts.join("&")
}

/// Whether a key can be asked for: addresses swallow parts that are one or two dots.
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
