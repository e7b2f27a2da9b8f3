//! Manifests and indexes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The annotation with the URL of an artifact's source.
pub const SOURCE: &str = "org.opencontainers.image.source";
/// The annotation with the revision of an artifact's source.
pub const REVISION: &str = "org.opencontainers.image.revision";
/// The annotation with the creation time of an artifact.
pub const CREATED: &str = "org.opencontainers.image.created";

/// A content descriptor: type, size and digest. The order of fields is that of `go-containerregistry`,
/// because digests depend on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Descriptor {
    /// The media type.
    pub media_type: String,
    /// The size in bytes.
    pub size: u64,
    /// The digest.
    pub digest: String,
    /// The content itself, if it is small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// The platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// The artifact type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
}

/// The platform of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Platform {
    /// For example `amd64`.
    pub architecture: String,
    /// For example `linux`.
    pub os: String,
}

/// An artifact.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Manifest {
    /// Always 2.
    pub schema_version: i64,
    /// The media type.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub media_type: String,
    /// Its configuration.
    pub config: Descriptor,
    /// Its layers.
    #[serde(deserialize_with = "nullable")]
    pub layers: Vec<Descriptor>,
    /// Annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// The artifact that it refers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
    /// The artifact type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
}

/// A list of artifacts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Index {
    /// Always 2.
    pub schema_version: i64,
    /// The media type.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub media_type: String,
    /// Its manifests.
    #[serde(deserialize_with = "nullable")]
    pub manifests: Vec<Descriptor>,
}

impl Manifest {
    /// An annotation; empty if absent.
    pub fn annotation(&self, name: &str) -> &str {
        self.annotations.as_ref().and_then(|all| all.get(name)).map_or("", String::as_str)
    }
}

impl Index {
    /// The manifest for linux/amd64, which Flux uses on every platform. One without a platform counts as
    /// that.
    pub fn child(&self) -> Option<&Descriptor> {
        self.manifests.iter().find(|child| {
            let platform = child.platform.as_ref();
            platform.is_none_or(|it| it.architecture == "amd64" && it.os == "linux")
        })
    }
}

/// Go reads `null` as an empty list.
fn nullable<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Descriptor>, D::Error> {
    Ok(Option::<Vec<Descriptor>>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_gives_linux_on_amd64() {
        let child = |digest: &str, platform: Option<(&str, &str)>| Descriptor {
            digest: digest.to_owned(),
            platform: platform.map(|(os, architecture)| Platform {
                architecture: architecture.into(),
                os: os.into(),
            }),
            ..Descriptor::default()
        };
        let mut index = Index {
            manifests: vec![
                child("one", Some(("linux", "arm64"))),
                child("two", Some(("linux", "amd64"))),
                child("three", None),
            ],
            ..Index::default()
        };
        assert_eq!(index.child().map(|it| it.digest.as_str()), Some("two"));
        index.manifests.remove(1);
        assert_eq!(index.child().map(|it| it.digest.as_str()), Some("three"));
        index.manifests.remove(1);
        assert_eq!(index.child(), None);
    }
}
