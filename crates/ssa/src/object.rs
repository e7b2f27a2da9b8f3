//! Object identities: key, inventory id, and text for people.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use crate::order;

/// The group with names that may contain colons.
const RBAC: &str = "rbac.authorization.k8s.io";

/// An object in any version. Sorts in the order of applying.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectId {
    /// API group, empty for the core.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// An object in a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The object.
    pub id: ObjectId,
    /// Version without the group.
    pub version: String,
}

/// An invalid inventory id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unable to parse stored object metadata: {0}")]
pub struct IdError(String);

impl ObjectId {
    /// Parses an id: `namespace_name_group_kind`, with a double underscore in the name for a colon.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let fault = |rest: &str| IdError(rest.to_owned());
        let (namespace, rest) = text.split_once('_').ok_or_else(|| fault(text))?;
        let (rest, kind) = rest.rsplit_once('_').ok_or_else(|| fault(rest))?;
        let (name, group) = rest.rsplit_once('_').ok_or_else(|| fault(rest))?;
        Ok(Self {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.replace("__", ":"),
        })
    }

    /// The id in an inventory.
    pub fn to_inventory(&self) -> String {
        let may_have_colons = self.group == RBAC
            && matches!(
                self.kind.as_str(),
                "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding"
            );
        let name = if may_have_colons { self.name.replace(':', "__") } else { self.name.clone() };
        format!("{}_{name}_{}_{}", self.namespace, self.group, self.kind)
    }
}

/// `Kind/namespace/name`, as Flux names objects in events and conditions.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

impl Ord for ObjectId {
    fn cmp(&self, other: &Self) -> Ordering {
        order::of_kind(&self.kind)
            .cmp(&order::of_kind(&other.kind))
            .then_with(|| self.group.cmp(&other.group))
            .then_with(|| self.kind.cmp(&other.kind))
            .then_with(|| self.namespace.cmp(&other.namespace))
            .then_with(|| self.name.cmp(&other.name))
    }
}

impl PartialOrd for ObjectId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl ObjectKey {
    /// The key of an object.
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| {
            object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let (group, version) = split_api_version(api_version);
        Self {
            id: ObjectId {
                group: group.to_owned(),
                kind: text("/kind"),
                namespace: text("/metadata/namespace"),
                name: text("/metadata/name"),
            },
            version: version.to_owned(),
        }
    }

    /// `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        if self.id.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.id.group, self.version)
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

/// Group and version of an `apiVersion`.
pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(group: &str, kind: &str, namespace: &str, name: &str) -> ObjectId {
        ObjectId {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn ids_go_into_inventories_and_come_back() {
        let cases = [
            (id("apps", "Deployment", "web", "front"), "web_front_apps_Deployment"),
            (id("", "Namespace", "", "web"), "_web__Namespace"),
            (id(RBAC, "ClusterRole", "", "a:b"), "_a__b_rbac.authorization.k8s.io_ClusterRole"),
            (id("", "Secret", "ns", "a.b"), "ns_a.b__Secret"),
        ];
        for (id, text) in cases {
            assert_eq!(id.to_inventory(), text);
            assert_eq!(ObjectId::parse(text), Ok(id));
        }
        for text in ["", "a", "a_b", "a_b_c"] {
            assert!(ObjectId::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn objects_sort_as_they_are_applied() {
        let mut ids = [
            id("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "", "w"),
            id("apps", "Deployment", "b", "a"),
            id("apps", "Deployment", "a", "z"),
            id("example.com", "Widget", "a", "a"),
            id("", "Service", "a", "a"),
            id("", "Namespace", "", "a"),
            id("apiextensions.k8s.io", "CustomResourceDefinition", "", "z"),
            id("batch", "Job", "a", "a"),
        ];
        ids.sort();
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "CustomResourceDefinition/z",
                "Namespace/a",
                "Service/a/a",
                "Deployment/a/z",
                "Deployment/b/a",
                "Job/a/a",
                "Widget/a/a",
                "ValidatingWebhookConfiguration/w",
            ]
        );
    }
}
