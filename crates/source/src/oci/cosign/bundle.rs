//! Sigstore's bundles, which cosign 3 keeps as artifacts that are about the signed one.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::Reason;
use crate::artifact::Digest;
use crate::oci::client::RemoteRepository;
use crate::oci::error::OciError;
use crate::oci::keys::PublicKey;
use crate::oci::media::SIGSTORE_BUNDLE;

/// The type of what is signed.
const IN_TOTO: &str = "application/vnd.in-toto+json";
/// As many referrers are looked at.
const MOST: usize = 64;

/// A signature with everything that is needed to verify it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bundle {
    pub(super) verification_material: Material,
    pub(super) dsse_envelope: Option<Envelope>,
}

/// What a signature is verified with.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Material {
    pub(super) public_key: Option<Value>,
}

/// Something signed, and its signatures.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Debug, Clone, Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

/// A statement about artifacts.
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

/// The bundles among what is about an artifact; what is none is passed over.
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
        let Ok(content) = remote.blob(layer).await else { continue };
        bundles.extend(serde_json::from_slice::<Bundle>(&content).ok());
    }
    Ok(bundles)
}

impl Bundle {
    /// Whether the key signed a statement about this artifact.
    pub(super) fn verify_with_key(&self, key: &PublicKey, digest: &Digest) -> Result<(), Reason> {
        if self.verification_material.public_key.is_none() {
            return Err("verifying with a key, but the bundle has a certificate".to_owned());
        }
        self.verify_statement(key, digest)
    }

    /// Whether the key signed the statement, and whether it is about this artifact.
    pub(super) fn verify_statement(&self, key: &PublicKey, digest: &Digest) -> Result<(), Reason> {
        let envelope =
            self.dsse_envelope.as_ref().ok_or("bundle does not contain a DSSE envelope")?;
        let payload = envelope.verified(key)?;
        let statement: Statement = serde_json::from_slice(&payload)
            .map_err(|_| "the signed statement cannot be read".to_owned())?;
        let is_about = |subject: &Subject| {
            subject.digest.get(digest.algorithm().name()).map(String::as_str) == Some(digest.hex())
        };
        if statement.subject.iter().any(is_about) {
            return Ok(());
        }
        Err("provided artifact digest does not match any digest in statement".to_owned())
    }
}

impl Envelope {
    /// What was signed, if the key signed it.
    fn verified(&self, key: &PublicKey) -> Result<Vec<u8>, Reason> {
        if self.payload_type != IN_TOTO {
            return Err(format!(
                "invalid payloadType {} on envelope. Expected {IN_TOTO}",
                self.payload_type
            ));
        }
        let payload = BASE64_STANDARD.decode(&self.payload).map_err(|_| "invalid payload")?;
        let message = authenticated(&self.payload_type, &payload);
        let is_good = |one: &EnvelopeSignature| {
            BASE64_STANDARD
                .decode(&one.sig)
                .is_ok_and(|signature| key.verifies(&message, &signature))
        };
        if self.signatures.iter().any(is_good) {
            return Ok(payload);
        }
        Err("could not verify envelope: accepted signatures do not match threshold, Found: 0, Expected 1".to_owned())
    }
}

/// What is really signed: type and content, so that nobody can take one for the other.
pub(super) fn authenticated(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut message = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    message.extend_from_slice(payload);
    message
}
