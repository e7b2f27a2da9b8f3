//! The index of a bucket: keys and etags. Its digest is the revision.

use std::collections::BTreeMap;

use crate::artifact::{Digest, DigestAlgorithm, Hasher};

/// Keys and etags.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BucketIndex {
    etags: BTreeMap<String, String>,
}

impl BucketIndex {
    /// Sets the etag of a key.
    pub fn set(&mut self, key: &str, etag: &str) {
        self.etags.insert(key.to_owned(), etag.to_owned());
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &str) {
        self.etags.remove(key);
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.etags.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.etags.is_empty()
    }

    /// The digest over the lines of keys and etags, sorted by key.
    pub fn digest(&self, algorithm: DigestAlgorithm) -> Digest {
        let mut hasher = Hasher::new(algorithm);
        for (key, etag) in &self.etags {
            hasher.update(format!("{key} {etag}\n").as_bytes());
        }
        hasher.finish()
    }

    /// Whether a revision is the digest of this index.
    pub fn is_at(&self, revision: &str) -> bool {
        revision.parse::<Digest>().is_ok_and(|known| self.digest(known.algorithm()) == known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_sorted_lines() {
        let mut index = BucketIndex::default();
        index.set("b", "2");
        index.set("a", "0");
        index.set("a", "1");
        index.set("gone", "3");
        index.remove("gone");
        let digest = index.digest(DigestAlgorithm::Sha256);
        assert!(digest.matches(b"a 1\nb 2\n"), "{digest}");
        assert!(index.is_at(&digest.to_string()));
        assert!(index.is_at(&index.digest(DigestAlgorithm::Sha512).to_string()));
        assert!(!index.is_at("sha256:0"), "no digest");
        index.set("a", "2");
        assert!(!index.is_at(&digest.to_string()));
    }
}
