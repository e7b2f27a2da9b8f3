//! Resource ids: group, version, kind, name and namespace.

use std::fmt;

use crate::decode::Fields;
use crate::failure::Result;

/// The default namespace.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";
/// The placeholder namespace of cluster-scoped objects.
pub(crate) const CLUSTER_SCOPED: &str = "_non_namespaceable_";

/// Group, version and kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Gvk {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

impl Gvk {
    /// From the fields of an object.
    pub(crate) fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = split_api_version(api_version);
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// From the fields `group`, `version` and `kind`.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            group: fields.text("group")?,
            version: fields.text("version")?,
            kind: fields.text("kind")?,
        })
    }

    /// The field `apiVersion`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether `selector` matches it; empty parts match anything.
    pub(crate) fn is_selected(&self, selector: &Self) -> bool {
        let selects = |wanted: &str, is: &str| wanted.is_empty() || wanted == is;
        selects(&selector.group, &self.group)
            && selects(&selector.version, &self.version)
            && selects(&selector.kind, &self.kind)
    }
}

/// Group and version; the group is everything before the first `/`.
pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The form in kustomize's messages and annotations: `Deployment.v1.apps`.
impl fmt::Display for Gvk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |text: &'static str, value: &str| {
            if value.is_empty() { text.to_owned() } else { value.to_owned() }
        };
        let kind = or("[noKind]", &self.kind);
        let version = or("[noVer]", &self.version);
        write!(formatter, "{kind}.{version}.{}", or("[noGrp]", &self.group))
    }
}

/// The id of a resource in a build.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResourceId {
    pub(crate) gvk: Gvk,
    pub(crate) name: String,
    /// As written; compare with [`ResourceId::effective_namespace`].
    pub(crate) namespace: String,
    /// Whether the kind is cluster-scoped in the current schema.
    pub(crate) cluster_scoped: bool,
}

/// A map key that equal ids share. One string, as there are many.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct IdKey(String);

impl ResourceId {
    /// The namespace for comparisons: none, `default`, or the one written.
    pub(crate) fn effective_namespace(&self) -> &str {
        if self.cluster_scoped {
            CLUSTER_SCOPED
        } else if self.namespace.is_empty() {
            DEFAULT_NAMESPACE
        } else {
            &self.namespace
        }
    }

    /// For maps.
    pub(crate) fn key(&self) -> IdKey {
        let Gvk { group, version, kind } = &self.gvk;
        let parts = [group.as_str(), version, kind, &self.name, self.effective_namespace()];
        IdKey(parts.join("\0"))
    }

    /// Whether both are the same resource.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        self.name == other.name
            && self.gvk == other.gvk
            && self.effective_namespace() == other.effective_namespace()
    }

    /// Whether `selector` matches it; empty parts match anything.
    pub(crate) fn is_selected_by(&self, selector: &Self) -> bool {
        (selector.name.is_empty() || selector.name == self.name)
            && (selector.namespace.is_empty()
                || selector.effective_namespace() == self.effective_namespace())
            && self.gvk.is_selected(&selector.gvk)
    }
}

/// The form in kustomize's messages and annotations: `Deployment.v1.apps/web.[noNs]`.
impl fmt::Display for ResourceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "[noName]" } else { &self.name };
        let namespace = if self.namespace.is_empty() { "[noNs]" } else { &self.namespace };
        write!(formatter, "{}/{name}.{namespace}", self.gvk)
    }
}

#[cfg(test)]
mod tests {
    use super::{Gvk, ResourceId};

    #[test]
    fn ids_are_printed_as_kustomize_prints_them() {
        let gvk = Gvk::new("apps/v1", "Deployment");
        let id = ResourceId { gvk, name: "web".to_owned(), ..ResourceId::default() };
        assert_eq!(id.to_string(), "Deployment.v1.apps/web.[noNs]");
        assert_eq!(ResourceId::default().to_string(), "[noKind].[noVer].[noGrp]/[noName].[noNs]");
    }

    #[test]
    fn no_namespace_is_the_default_one() {
        let gvk = Gvk::new("v1", "Service");
        let none = ResourceId { gvk, name: "a".to_owned(), ..ResourceId::default() };
        let default = ResourceId { namespace: "default".to_owned(), ..none.clone() };
        let other = ResourceId { namespace: "other".to_owned(), ..none.clone() };
        assert!(none.equals(&default) && !none.equals(&other));
        assert!(other.is_selected_by(&none) && !none.is_selected_by(&other));
    }
}
