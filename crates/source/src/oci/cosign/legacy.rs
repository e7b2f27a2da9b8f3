//! Signatures as cosign 2 keeps them: layers of the artifact under the tag `sha256-<hex>.sig`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde_json::Value;

use super::{CosignError, Reason};
use crate::artifact::Digest;
use crate::oci::client::RemoteRepository;

const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// As many signatures of one artifact are looked at.
const MOST: usize = 64;

/// A signature and what it is of.
pub(super) struct Signature {
    pub(super) payload: Bytes,
    pub(super) signature: Vec<u8>,
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
        let annotations = layer.annotations.as_ref();
        let Some(text) = annotations.and_then(|all| all.get(SIGNATURE)) else { continue };
        let Ok(signature) = BASE64_STANDARD.decode(text) else { continue };
        let payload = remote.blob(layer).await?;
        found.push(Signature { payload, signature });
    }
    if found.is_empty() { Err(CosignError::NoSignatures) } else { Ok(found) }
}

impl Signature {
    /// Whether what was signed is about this artifact.
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
}
