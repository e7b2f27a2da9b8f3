//! Transparency logs (Rekor): entries, their times, and proofs of inclusion.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Reason;
use super::root::{Log, TrustedRoot};
use crate::artifact::hex;
use crate::oci::der::pem_blocks;
use crate::oci::keys::Scheme;

/// A log entry with its proof.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The entry itself.
    pub(super) body: Vec<u8>,
    pub(super) log: Vec<u8>,
    pub(super) index: i64,
    /// The time of inclusion, in seconds.
    pub(super) time: i64,
    /// The signed entry timestamp.
    pub(super) promise: Option<Vec<u8>>,
    pub(super) proof: Option<Proof>,
}

/// An inclusion proof.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Proof {
    #[serde(deserialize_with = "number")]
    log_index: i64,
    #[serde(deserialize_with = "number")]
    tree_size: i64,
    root_hash: String,
    #[serde(default)]
    hashes: Vec<String>,
    checkpoint: Checkpoint,
}

#[derive(Debug, Clone, Deserialize)]
struct Checkpoint {
    envelope: String,
}

/// The expected content of an entry.
pub(super) struct Wanted<'a> {
    pub(super) signature: &'a [u8],
    /// The signer's certificate.
    pub(super) certificate: &'a [u8],
    /// The digest of what was signed, in hex.
    pub(super) hash: &'a str,
}

impl Entry {
    /// The time of inclusion, if a trusted log proves it and the entry is about this signature.
    pub(super) fn verified(
        &self,
        root: &TrustedRoot,
        wanted: &Wanted<'_>,
    ) -> Result<Timestamp, Reason> {
        let Some(promise) = &self.promise else {
            return Err("the transparency log entry has no signed time; signed timestamps (Rekor v2) are not supported".to_owned());
        };
        let time = Timestamp::from_second(self.time).map_err(|_| "no time".to_owned())?;
        let log = root.signature_logs.iter().find(|it| it.id == self.log);
        let log = log.ok_or("verifying bundle: rekor log public key not found for payload")?;
        if !log.valid.holds(time) {
            return Err("the transparency log is not trusted for that time".to_owned());
        }
        let payload = json!({
            "body": BASE64_STANDARD.encode(&self.body),
            "integratedTime": self.time,
            "logID": hex(&self.log),
            "logIndex": self.index,
        });
        if !log.key.verifies(Scheme::Sha256, payload.to_string().as_bytes(), promise) {
            return Err("unable to verify SET".to_owned());
        }
        if let Some(proof) = &self.proof {
            proof.check(&self.body, log)?;
        }
        self.check_body(wanted)?;
        Ok(time)
    }

    /// Fails unless the entry is about this signature.
    fn check_body(&self, wanted: &Wanted<'_>) -> Result<(), Reason> {
        let body: Value =
            serde_json::from_slice(&self.body).map_err(|_| "the log's entry cannot be read")?;
        let text =
            |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (hash, signature, key) = match text("/kind") {
            "hashedrekord" => {
                ("/spec/data/hash", "/spec/signature/content", "/spec/signature/publicKey/content")
            }
            "dsse" => {
                let signatures = body.pointer("/spec/signatures").and_then(Value::as_array);
                if signatures.is_none_or(|all| all.len() != 1) {
                    return Err(
                        "multiple signatures on DSSE envelopes are not currently supported"
                            .to_owned(),
                    );
                }
                ("/spec/payloadHash", "/spec/signatures/0/signature", "/spec/signatures/0/verifier")
            }
            other => {
                return Err(format!(
                    "transparency log entries of kind {other:?} are not supported"
                ));
            }
        };
        let decoded = |pointer: &str| BASE64_STANDARD.decode(text(pointer)).unwrap_or_default();
        if text(&format!("{hash}/algorithm")) != "sha256"
            || text(&format!("{hash}/value")) != wanted.hash
        {
            return Err("matching bundle to payload: another content was logged".to_owned());
        }
        if decoded(signature) != wanted.signature {
            return Err("signature in bundle does not match signature being verified".to_owned());
        }
        let logged = pem_blocks(&decoded(key));
        if logged.first().map(|(_, der)| der.as_slice()) != Some(wanted.certificate) {
            return Err("comparing public key PEMs: another certificate was logged".to_owned());
        }
        Ok(())
    }
}

impl Proof {
    /// Verifies the hash path from the entry to a root that the log has signed.
    fn check(&self, body: &[u8], log: &Log) -> Result<(), Reason> {
        let decode = |text: &String| BASE64_STANDARD.decode(text).ok();
        let bad = || "the inclusion proof of the transparency log cannot be read".to_owned();
        let root = decode(&self.root_hash).ok_or_else(bad)?;
        let hashes: Vec<Vec<u8>> =
            self.hashes.iter().map(decode).collect::<Option<_>>().ok_or_else(bad)?;
        let mut leaf = vec![0];
        leaf.extend_from_slice(body);
        let leaf = digest(&SHA256, &leaf).as_ref().to_vec();
        let (index, size) = (u64::try_from(self.log_index), u64::try_from(self.tree_size));
        let (Ok(index), Ok(size)) = (index, size) else { return Err(bad()) };
        if root_of(index, size, leaf, &hashes) != Some(root.clone()) {
            return Err(
                "the inclusion proof of the transparency log does not lead to its root".to_owned()
            );
        }
        let (text, signatures) = self.checkpoint.envelope.split_once("\n\n").ok_or_else(bad)?;
        let text = format!("{text}\n");
        let mut lines = text.lines().skip(1);
        let is_same = lines.next() == Some(&size.to_string())
            && lines.next().and_then(|line| BASE64_STANDARD.decode(line).ok()) == Some(root);
        // Each line: a dash, a name, and the signature after four bytes of key hint.
        let is_signed = signatures.lines().any(|line| {
            let last = line.rsplit(' ').next().unwrap_or_default();
            let decoded = BASE64_STANDARD.decode(last).unwrap_or_default();
            let signature = decoded.get(4..).unwrap_or_default();
            log.key.verifies(Scheme::Sha256, text.as_bytes(), signature)
        });
        if is_same && is_signed {
            return Ok(());
        }
        Err("the checkpoint of the transparency log is not signed by it".to_owned())
    }
}

/// The root of a Merkle tree (RFC 9162) from a leaf's index and its sibling hashes.
fn root_of(index: u64, size: u64, leaf: Vec<u8>, path: &[Vec<u8>]) -> Option<Vec<u8>> {
    if index >= size {
        return None;
    }
    let join = |left: &[u8], right: &[u8]| {
        let mut both = vec![1];
        both.extend_from_slice(left);
        both.extend_from_slice(right);
        digest(&SHA256, &both).as_ref().to_vec()
    };
    let (mut at, mut last, mut hash) = (index, size - 1, leaf);
    for neighbour in path {
        if last == 0 {
            return None;
        }
        if at % 2 == 1 || at == last {
            hash = join(neighbour, &hash);
            while at % 2 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = join(&hash, neighbour);
        }
        at >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(hash)
}

/// 64-bit numbers are strings in Sigstore's JSON.
pub(super) fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => text.parse().map_err(serde::de::Error::custom),
        Value::Number(number) => {
            number.as_i64().ok_or_else(|| serde::de::Error::custom("not a whole number"))
        }
        _ => Err(serde::de::Error::custom("not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The root of a tree by its definition.
    fn root(leaves: &[Vec<u8>]) -> Vec<u8> {
        match leaves {
            [] => Vec::new(),
            [one] => one.clone(),
            _ => {
                let half = leaves.len().next_power_of_two() / 2;
                let mut both = vec![1];
                both.extend(root(&leaves[..half]));
                both.extend(root(&leaves[half..]));
                digest(&SHA256, &both).as_ref().to_vec()
            }
        }
    }

    fn path(index: usize, leaves: &[Vec<u8>]) -> Vec<Vec<u8>> {
        if leaves.len() < 2 {
            return Vec::new();
        }
        let half = leaves.len().next_power_of_two() / 2;
        let (left, right) = leaves.split_at(half);
        let (mut inner, other) = if index < half {
            (path(index, left), right)
        } else {
            (path(index - half, right), left)
        };
        inner.push(root(other));
        inner
    }

    #[test]
    fn proofs_lead_to_the_root_and_others_do_not() {
        let leaves: Vec<Vec<u8>> =
            (0_u8..13).map(|at| digest(&SHA256, &[at]).as_ref().to_vec()).collect();
        for size in 1..=leaves.len() {
            let tree = &leaves[..size];
            for index in 0..size {
                let proof = path(index, tree);
                let found = |at: usize, leaf: usize| {
                    root_of(at as u64, size as u64, leaves[leaf].clone(), &proof)
                };
                assert_eq!(found(index, index), Some(root(tree)), "{index} of {size}");
                assert_ne!(found(index, (index + 1) % 13), Some(root(tree)), "{index} of {size}");
            }
        }
        assert_eq!(root_of(3, 3, Vec::new(), &[]), None);
    }
}
