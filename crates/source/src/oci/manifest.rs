//! Manifests and indexes: what an artifact is made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The annotation with the address of what an artifact was made from.
pub const SOURCE: &str = "org.opencontainers.image.source";
/// The annotation with the revision of what an artifact was made from.
pub const REVISION: &str = "org.opencontainers.image.revision";
/// The annotation with the time an artifact was made.
pub const CREATED: &str = "org.opencontainers.image.created";

/// One content: its type, size and digest. The order of fields is that of `go-containerregistry`,
/// because a digest is made over what is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Descriptor {
    /// What it is.
    pub media_type: String,
    /// How many bytes.
    pub size: u64,
    /// Their digest.
    pub digest: String,
    /// The bytes themselves, where they are few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// What its maker says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// What it runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// What kind of artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
}

/// What an image runs on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Platform {
    /// `amd64`, say.
    pub architecture: String,
    /// `linux`, say.
    pub os: String,
}

/// An artifact.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Manifest {
    /// Always 2.
    pub schema_version: i64,
    /// What it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub media_type: String,
    /// Its configuration.
    pub config: Descriptor,
    /// Its contents.
    #[serde(deserialize_with = "nullable")]
    pub layers: Vec<Descriptor>,
    /// What its maker says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// The artifact it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
    /// What kind of artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
}

/// A list of artifacts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Index {
    /// Always 2.
    pub schema_version: i64,
    /// What it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub media_type: String,
    /// What is in it.
    #[serde(deserialize_with = "nullable")]
    pub manifests: Vec<Descriptor>,
}

impl Manifest {
    /// An annotation; empty where there is none.
    pub fn annotation(&self, name: &str) -> &str {
        self.annotations.as_ref().and_then(|all| all.get(name)).map_or("", String::as_str)
    }
}

impl Index {
    /// The one for Linux on amd64, which is what Flux takes whatever it runs on. One that does not
    /// say what it is for is taken as that.
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
