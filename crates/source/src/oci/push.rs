//! Artifacts as Flux pushes them: one layer, an empty configuration, annotations with the source.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::client::RemoteRepository;
use super::error::OciError;
use super::manifest::{CREATED, Descriptor, Manifest, REVISION, SOURCE};
use super::media::{FLUX_CONFIG, FLUX_CONTENT, MANIFEST};
use super::name::digest_of;
use crate::artifact::Digest;

/// The configuration of all artifacts that Flux pushes, byte for byte, so that digests are equal to
/// Flux's.
const CONFIG: &[u8] = br#"{"architecture":"","created":"0001-01-01T00:00:00Z","os":"","rootfs":{"type":"layers","diff_ids":null},"config":{}}"#;

/// An artifact to push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArtifact {
    /// The packed files.
    pub content: Bytes,
    /// The source.
    pub source: String,
    /// The revision of the source.
    pub revision: String,
    /// The creation time, in RFC 3339.
    pub created: String,
    /// More annotations; they take precedence.
    pub annotations: BTreeMap<String, String>,
}

impl NewArtifact {
    /// Its manifest.
    pub fn manifest(&self) -> Manifest {
        let describe = |media_type: &str, content: &[u8]| Descriptor {
            media_type: media_type.to_owned(),
            size: content.len() as u64,
            digest: digest_of(content).to_string(),
            ..Descriptor::default()
        };
        let mut annotations = BTreeMap::from([
            (CREATED.to_owned(), self.created.clone()),
            (REVISION.to_owned(), self.revision.clone()),
            (SOURCE.to_owned(), self.source.clone()),
        ]);
        annotations.extend(self.annotations.clone());
        Manifest {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            config: describe(FLUX_CONFIG, CONFIG),
            layers: vec![describe(FLUX_CONTENT, &self.content)],
            annotations: Some(annotations),
            ..Manifest::default()
        }
    }

    /// Pushes it under a tag: content first, so that no client sees it incomplete.
    pub async fn push(&self, remote: &RemoteRepository, tag: &str) -> Result<Digest, OciError> {
        remote.push_blob(&self.content).await?;
        remote.push_blob(&Bytes::from_static(CONFIG)).await?;
        let manifest = serde_json::to_vec(&self.manifest())
            .map_err(|error| OciError::unexpected(error.to_string()))?;
        remote.push_manifest(tag, MANIFEST, &manifest.into()).await
    }
}
