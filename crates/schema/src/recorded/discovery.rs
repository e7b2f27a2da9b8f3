//! The recorded discovery: which resources there are, and what they are called.

use serde::Deserialize;
use serde_json::Value;

use super::members::Members;

/// The groups, versions and resources of the built-in kinds.
pub struct Discovery {
    members: Members,
    groups: Vec<Group>,
}

/// An API group; the core group has the empty name.
#[derive(Debug, Clone)]
pub struct Group {
    /// `apps`, or empty for the core group.
    pub name: String,
    /// Its versions, the preferred one first.
    pub versions: Vec<Version>,
}

/// One version of a group.
#[derive(Debug, Clone)]
pub struct Version {
    /// `v1`.
    pub name: String,
    /// Its resources in the order of the recorded server.
    pub resources: Vec<Resource>,
}

/// A resource: a kind at a path.
#[derive(Debug, Clone)]
pub struct Resource {
    /// The plural that paths have.
    pub name: String,
    /// The singular that users may type.
    pub singular: String,
    /// The group of the kind, which most often is that of the resource.
    pub kind_group: String,
    /// The version of the kind.
    pub kind_version: String,
    /// The kind.
    pub kind: String,
    /// Whether objects lie in namespaces.
    pub namespaced: bool,
    /// `get`, `list`, ...
    pub verbs: Vec<String>,
    /// `deploy` and the like.
    pub short_names: Vec<String>,
    /// `all`.
    pub categories: Vec<String>,
    /// `status`, `scale`, ...
    pub subresources: Vec<Subresource>,
    /// What legacy discovery says about the storage; empty for what is not stored.
    pub storage_version_hash: String,
}

/// A path below an object.
#[derive(Debug, Clone)]
pub struct Subresource {
    /// `status`.
    pub name: String,
    /// The group of the kind that it speaks.
    pub kind_group: String,
    /// The version of the kind that it speaks.
    pub kind_version: String,
    /// The kind that it speaks.
    pub kind: String,
    /// `get`, `patch`, ...
    pub verbs: Vec<String>,
}

impl Discovery {
    pub(super) fn new(members: Members) -> Self {
        let mut groups = Vec::new();
        for root in ["/api", "/apis"] {
            let list: GroupList = members
                .text(root)
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default();
            groups.extend(list.items.into_iter().map(|group| group.read(&members)));
        }
        Self { members, groups }
    }

    /// All groups, the core group first, then in the order of the recorded server.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The aggregated (v2) answer of `/api` or `/apis`.
    pub fn aggregated(&self, root: &str) -> Option<&Value> {
        self.members.get(root)
    }

    /// The APIResourceList of `/api/v1` or `/apis/apps/v1`.
    pub fn legacy(&self, path: &str) -> Option<&Value> {
        self.members.get(path)
    }
}

#[derive(Deserialize, Default)]
struct GroupList {
    items: Vec<WireGroup>,
}

#[derive(Deserialize)]
struct WireGroup {
    #[serde(default)]
    metadata: WireName,
    versions: Vec<WireVersion>,
}

#[derive(Deserialize, Default)]
struct WireName {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct WireVersion {
    version: String,
    resources: Vec<WireResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResource {
    resource: String,
    response_kind: WireKind,
    scope: String,
    #[serde(default)]
    singular_resource: String,
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    subresources: Vec<WireSubresource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSubresource {
    subresource: String,
    response_kind: WireKind,
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct WireKind {
    group: String,
    version: String,
    kind: String,
}

impl WireKind {
    /// Empty group and version mean those of the resource itself.
    fn resolve(self, group: &str, version: &str) -> (String, String, String) {
        if self.group.is_empty() && self.version.is_empty() {
            (group.to_owned(), version.to_owned(), self.kind)
        } else {
            (self.group, self.version, self.kind)
        }
    }
}

impl WireGroup {
    fn read(self, members: &Members) -> Group {
        let name = self.metadata.name;
        let versions = self.versions.into_iter().map(|version| version.read(&name, members));
        Group { versions: versions.collect(), name }
    }
}

impl WireVersion {
    fn read(self, group: &str, members: &Members) -> Version {
        let path = if group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{group}/{}", self.version)
        };
        let legacy: LegacyList = members
            .text(&path)
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let version = &self.version;
        let resources = self.resources.into_iter().map(|wire| {
            let (kind_group, kind_version, kind) = wire.response_kind.resolve(group, version);
            let hash = legacy.resources.iter().find(|known| known.name == wire.resource);
            Resource {
                storage_version_hash: hash.map_or_else(String::new, |known| known.hash.clone()),
                name: wire.resource,
                singular: wire.singular_resource,
                kind_group,
                kind_version,
                kind,
                namespaced: wire.scope == "Namespaced",
                verbs: wire.verbs,
                short_names: wire.short_names,
                categories: wire.categories,
                subresources: wire
                    .subresources
                    .into_iter()
                    .map(|sub| {
                        let (kind_group, kind_version, kind) =
                            sub.response_kind.resolve(group, version);
                        Subresource {
                            name: sub.subresource,
                            kind_group,
                            kind_version,
                            kind,
                            verbs: sub.verbs,
                        }
                    })
                    .collect(),
            }
        });
        Version { resources: resources.collect(), name: self.version.clone() }
    }
}

#[derive(Deserialize, Default)]
struct LegacyList {
    resources: Vec<LegacyResource>,
}

#[derive(Deserialize)]
struct LegacyResource {
    name: String,
    #[serde(default, rename = "storageVersionHash")]
    hash: String,
}
