//! Artifacts as Flux pushes them: one layer, a configuration that says nothing, annotations that
//! tell where it comes from.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::client::RemoteRepository;
use super::error::OciError;
use super::manifest::{CREATED, Descriptor, Manifest, REVISION, SOURCE};
use super::media::{FLUX_CONFIG, FLUX_CONTENT, MANIFEST};
use super::name::digest_of;
use crate::artifact::Digest;

/// The configuration of every artifact that Flux pushes, byte for byte, so that the digests are
/// those of the same artifact pushed by Flux.
const CONFIG: &[u8] = br#"{"architecture":"","created":"0001-01-01T00:00:00Z","os":"","rootfs":{"type":"layers","diff_ids":null},"config":{}}"#;

/// An artifact that is to be pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArtifact {
    /// The packed files.
    pub content: Bytes,
    /// Where they come from.
    pub source: String,
    /// Which revision of it.
    pub revision: String,
    /// When it was made, as RFC 3339 has it.
    pub created: String,
    /// What else is said of it; stronger than the above.
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

    /// Pushes it under a tag: contents first, so that nobody sees it before it is whole.
    pub async fn push(&self, remote: &RemoteRepository, tag: &str) -> Result<Digest, OciError> {
        remote.push_blob(&self.content).await?;
        remote.push_blob(&Bytes::from_static(CONFIG)).await?;
        let manifest = serde_json::to_vec(&self.manifest())
            .map_err(|error| OciError::unexpected(error.to_string()))?;
        remote.push_manifest(tag, MANIFEST, &manifest.into()).await
    }
}
