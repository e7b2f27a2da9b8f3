//! cosign 2 signatures: layers of the artifact with the tag `sha256-<hex>.sig`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::identity::{IdentityMatch, judge};
use super::log::{Entry, Wanted};
use super::root::TrustedRoot;
use super::{CosignError, Reason};
use crate::artifact::Digest;
use crate::oci::certificate::Certificate;
use crate::oci::client::RemoteRepository;
use crate::oci::keys::Scheme;
use crate::oci::name::digest_of;

const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const BUNDLE: &str = "dev.sigstore.cosign/bundle";
/// The maximum number of signatures of one artifact.
const MOST: usize = 64;

/// A signature and its payload.
pub(super) struct Signature {
    pub(super) payload: Bytes,
    pub(super) raw: Vec<u8>,
    annotations: BTreeMap<String, String>,
}

/// The bundle of a transparency log entry.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Logged {
    signed_entry_timestamp: String,
    payload: LoggedPayload,
}

#[derive(Deserialize)]
struct LoggedPayload {
    body: String,
    #[serde(rename = "integratedTime")]
    time: i64,
    #[serde(rename = "logIndex")]
    index: i64,
    #[serde(rename = "logID")]
    log: String,
}

/// The signatures of an artifact.
pub(super) async fn fetch(
    remote: &RemoteRepository,
    digest: &Digest,
) -> Result<Vec<Signature>, CosignError> {
    let tag = format!("sha256-{}.sig", digest.hex());
    let image = match remote.image(&remote.repository().tag(&tag)).await {
        Ok(image) => image,
        Err(error) if error.status() == Some(404) => return Err(CosignError::NoSignatures),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for layer in image.manifest.layers.iter().take(MOST) {
        let annotations = layer.annotations.clone().unwrap_or_default();
        let Some(text) = annotations.get(SIGNATURE) else { continue };
        let Ok(raw) = BASE64_STANDARD.decode(text) else { continue };
        let payload = remote.signature(layer).await?;
        found.push(Signature { payload, raw, annotations });
    }
    if found.is_empty() { Err(CosignError::NoSignatures) } else { Ok(found) }
}

impl Signature {
    /// Fails unless the payload is about this artifact.
    pub(super) fn claims(&self, digest: &Digest) -> Result<(), Reason> {
        let payload: Value =
            serde_json::from_slice(&self.payload).map_err(|_| "invalid payload".to_owned())?;
        let claimed = payload.pointer("/critical/image/docker-manifest-digest");
        let claimed = claimed.and_then(Value::as_str).unwrap_or_default();
        if claimed == digest.to_string() {
            return Ok(());
        }
        Err(format!("invalid or missing digest in claim: {claimed}"))
    }

    /// Verifies that one of these identities signed it, at a time that a log proves.
    pub(super) fn verify_keyless(
        &self,
        root: &TrustedRoot,
        identities: &[IdentityMatch],
        digest: &Digest,
    ) -> Result<(), Reason> {
        let text = self.annotations.get(CERTIFICATE).map(String::as_bytes);
        let all = text.and_then(Certificate::all).unwrap_or_default();
        let certificate = all.first().ok_or("no certificate found on signature")?;
        let hash = digest_of(&self.payload);
        let wanted =
            Wanted { signature: &self.raw, certificate: &certificate.der, hash: hash.hex() };
        let signed_at = self.logged()?.verified(root, &wanted)?;
        judge(certificate, signed_at, root, identities)?;
        let key = certificate.key().ok_or("invalid certificate found on signature")?;
        if !key.verifies(Scheme::Sha256, &self.payload, &self.raw) {
            return Err("invalid signature when validating ASN.1 encoded signature".to_owned());
        }
        self.claims(digest)
    }

    /// The log entry. A missing one is not looked up: that would need the log's address.
    fn logged(&self) -> Result<Entry, Reason> {
        let text = self.annotations.get(BUNDLE);
        let text = text.ok_or("no transparency log entry is with the signature, and online verification is not supported")?;
        let logged: Logged =
            serde_json::from_str(text).map_err(|_| "error verifying bundle: not readable")?;
        let bad = || "error verifying bundle: not readable".to_owned();
        let decode = |text: &str| BASE64_STANDARD.decode(text).map_err(|_| bad());
        Ok(Entry {
            body: decode(&logged.payload.body)?,
            log: unhex(&logged.payload.log).ok_or_else(bad)?,
            index: logged.payload.index,
            time: logged.payload.time,
            promise: Some(decode(&logged.signed_entry_timestamp)?),
            proof: None,
        })
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|sign| sign.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs
        .remainder()
        .is_empty()
        .then(|| pairs.filter_map(|pair| Some(pair.first()? << 4 | pair.last()?)).collect())
}
