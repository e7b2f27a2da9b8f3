//! Sigstore bundles, which cosign 3 stores as referrers of the signed artifact.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::Reason;
use super::identity::{IdentityMatch, judge};
use super::log::{Entry, Proof, Wanted, number};
use super::root::{JsonCertificate, JsonChain, TrustedRoot};
use crate::artifact::Digest;
use crate::oci::certificate::Certificate;
use crate::oci::client::RemoteRepository;
use crate::oci::error::OciError;
use crate::oci::keys::{PublicKey, Scheme};
use crate::oci::media::SIGSTORE_BUNDLE;
use crate::oci::name::digest_of;

/// The payload type of signed statements.
const IN_TOTO: &str = "application/vnd.in-toto+json";
/// The maximum number of referrers that are read.
const MOST: usize = 64;

/// A signature with its verification material.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bundle {
    verification_material: Material,
    dsse_envelope: Option<Envelope>,
}

/// The verification material of a signature.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Material {
    public_key: Option<Value>,
    certificate: Option<JsonCertificate>,
    x509_certificate_chain: Option<JsonChain>,
    tlog_entries: Vec<JsonEntry>,
}

/// An entry of a transparency log.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonEntry {
    #[serde(deserialize_with = "number")]
    log_index: i64,
    log_id: JsonLogId,
    #[serde(default = "zero", deserialize_with = "number")]
    integrated_time: i64,
    inclusion_promise: Option<JsonPromise>,
    inclusion_proof: Option<Proof>,
    canonicalized_body: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonLogId {
    key_id: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonPromise {
    signed_entry_timestamp: String,
}

/// A DSSE envelope: a payload and its signatures.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Debug, Clone, Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

/// An in-toto statement.
#[derive(Deserialize)]
struct Statement {
    #[serde(default)]
    subject: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    #[serde(default)]
    digest: std::collections::BTreeMap<String, String>,
}

/// The bundles among the referrers of an artifact; others are skipped.
pub(super) async fn fetch(
    remote: &RemoteRepository,
    digest: &Digest,
) -> Result<Vec<Bundle>, OciError> {
    let mut bundles = Vec::new();
    for referrer in remote.referrers(digest).await?.iter().take(MOST) {
        let reference = remote.repository().digest(&referrer.digest);
        let Ok(image) = remote.image(&reference).await else { continue };
        let [layer] = image.manifest.layers.as_slice() else { continue };
        if !layer.media_type.starts_with(SIGSTORE_BUNDLE) {
            continue;
        }
        let Ok(content) = remote.signature(layer).await else { continue };
        bundles.extend(serde_json::from_slice::<Bundle>(&content).ok());
    }
    Ok(bundles)
}

impl Bundle {
    /// Verifies that the key signed a statement about this artifact.
    pub(super) fn verify_with_key(&self, key: &PublicKey, digest: &Digest) -> Result<(), Reason> {
        if self.verification_material.public_key.is_none() {
            return Err("verifying with a key, but the bundle has a certificate".to_owned());
        }
        let envelope = self.envelope()?;
        envelope.verified(key)?;
        envelope.is_about(digest)
    }

    /// Verifies that one of these identities signed a statement about this artifact, at a time that a log
    /// proves.
    pub(super) fn verify_keyless(
        &self,
        root: &TrustedRoot,
        identities: &[IdentityMatch],
        digest: &Digest,
    ) -> Result<(), Reason> {
        let material = &self.verification_material;
        let chain = material.x509_certificate_chain.as_ref();
        let first = chain.and_then(|chain| chain.certificates.first());
        let certificate = material.certificate.as_ref().or(first);
        let certificate: Certificate =
            certificate.and_then(JsonCertificate::read).ok_or("the bundle has no certificate")?;
        let envelope = self.envelope()?;
        let key = certificate.key().ok_or("invalid certificate found on signature")?;
        let signature = envelope.verified(&key)?;
        let hash = digest_of(&envelope.payload()?);
        let wanted =
            Wanted { signature: &signature, certificate: &certificate.der, hash: hash.hex() };
        let mut last = "the bundle has no transparency log entry".to_owned();
        for entry in &material.tlog_entries {
            match entry.read().and_then(|entry| entry.verified(root, &wanted)) {
                Ok(signed_at) => {
                    judge(&certificate, signed_at, root, identities)?;
                    return envelope.is_about(digest);
                }
                Err(reason) => last = reason,
            }
        }
        Err(last)
    }

    fn envelope(&self) -> Result<&Envelope, Reason> {
        Ok(self.dsse_envelope.as_ref().ok_or("bundle does not contain a DSSE envelope")?)
    }
}

impl JsonEntry {
    fn read(&self) -> Result<Entry, Reason> {
        let decode = |text: &str| {
            BASE64_STANDARD.decode(text).map_err(|_| "the log's entry cannot be read".to_owned())
        };
        let promise = self.inclusion_promise.as_ref();
        Ok(Entry {
            body: decode(&self.canonicalized_body)?,
            log: decode(&self.log_id.key_id)?,
            index: self.log_index,
            time: self.integrated_time,
            promise: promise.map(|it| decode(&it.signed_entry_timestamp)).transpose()?,
            proof: self.inclusion_proof.clone(),
        })
    }
}

impl Envelope {
    fn payload(&self) -> Result<Vec<u8>, Reason> {
        BASE64_STANDARD.decode(&self.payload).map_err(|_| "invalid payload".to_owned())
    }

    /// The signature that was made with the key.
    fn verified(&self, key: &PublicKey) -> Result<Vec<u8>, Reason> {
        if self.payload_type != IN_TOTO {
            return Err(format!(
                "invalid payloadType {} on envelope. Expected {IN_TOTO}",
                self.payload_type
            ));
        }
        let message = authenticated(&self.payload_type, &self.payload()?);
        let decoded =
            self.signatures.iter().filter_map(|one| BASE64_STANDARD.decode(&one.sig).ok());
        let mut good = decoded.filter(|it| key.verifies(Scheme::Sha256, &message, it));
        good.next().ok_or_else(|| "could not verify envelope: accepted signatures do not match threshold, Found: 0, Expected 1".to_owned())
    }

    /// Fails unless the statement is about this artifact.
    fn is_about(&self, digest: &Digest) -> Result<(), Reason> {
        let statement: Statement = serde_json::from_slice(&self.payload()?)
            .map_err(|_| "the signed statement cannot be read".to_owned())?;
        let is_same = |subject: &Subject| {
            subject.digest.get(digest.algorithm().name()).map(String::as_str) == Some(digest.hex())
        };
        if statement.subject.iter().any(is_same) {
            return Ok(());
        }
        Err("provided artifact digest does not match any digest in statement".to_owned())
    }
}

/// The signed bytes: type and payload, so that one cannot be taken for the other.
fn authenticated(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut message = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    message.extend_from_slice(payload);
    message
}

fn zero() -> i64 {
    0
}
