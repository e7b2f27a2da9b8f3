//! The order of kinds and the stages of applying.

use std::collections::BTreeSet;

use crate::object::ObjectKey;

/// Kinds that others depend on, in the order of applying.
const FIRST: [&str; 23] = [
    "CustomResourceDefinition",
    "Namespace",
    "ClusterRole",
    "ClusterClass",
    "RuntimeClass",
    "PriorityClass",
    "StorageClass",
    "VolumeSnapshotClass",
    "IngressClass",
    "GatewayClass",
    "ClusterRoleBinding",
    "ResourceQuota",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ConfigMap",
    "Secret",
    "Service",
    "LimitRange",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// Kinds that could block all others.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// The position of a kind; all unnamed kinds are in the middle, with equal positions.
pub(crate) fn of_kind(kind: &str) -> usize {
    let position = |kinds: &[&str]| kinds.iter().position(|known| *known == kind);
    position(&FIRST)
        .or_else(|| position(&LAST).map(|index| FIRST.len() + 1 + index))
        .unwrap_or(FIRST.len())
}

/// A group and a kind, as in `--custom-apply-stage-kinds`.
pub type GroupKind = (String, String);

/// Objects that are applied together. A stage begins when the previous one is applied and, if it is waited
/// for, ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// CRDs, namespaces and cluster roles. Waited for.
    Definitions,
    /// Kinds that end in `Class`. Waited for.
    Classes,
    /// Kinds that the operator chose.
    Custom,
    /// Everything else.
    Rest,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 4] = [Self::Definitions, Self::Classes, Self::Custom, Self::Rest];

    /// The stage of an object.
    pub fn of(key: &ObjectKey, custom: &BTreeSet<GroupKind>) -> Self {
        let is = |kind: &str, group: &str| {
            key.id.kind.eq_ignore_ascii_case(kind) && key.id.group == group
        };
        if is("customresourcedefinition", "apiextensions.k8s.io")
            || is("namespace", "") && key.version == "v1"
            || is("clusterrole", "rbac.authorization.k8s.io")
        {
            Self::Definitions
        } else if key.id.kind.ends_with("Class") {
            Self::Classes
        } else if custom.contains(&(key.id.group.clone(), key.id.kind.clone())) {
            Self::Custom
        } else {
            Self::Rest
        }
    }

    /// Whether the next stage waits for the objects of this one.
    pub fn is_waited_for(self) -> bool {
        matches!(self, Self::Definitions | Self::Classes)
    }
}

/// Parses a list of kinds: `group/Kind,Kind`.
pub fn parse_group_kinds(text: &str) -> BTreeSet<GroupKind> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(|item| {
            let (group, kind) = item.split_once('/').unwrap_or(("", item));
            (group.to_owned(), kind.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stages_follow_from_kind_and_group() {
        let custom = parse_group_kinds("example.com/Widget, ConfigMap");
        let cases = [
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", Stage::Definitions),
            ("v1", "Namespace", Stage::Definitions),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", Stage::Definitions),
            ("example.com/v1", "Namespace", Stage::Rest),
            ("storage.k8s.io/v1", "StorageClass", Stage::Classes),
            ("example.com/v1", "Widget", Stage::Custom),
            ("v1", "ConfigMap", Stage::Custom),
            ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", Stage::Rest),
        ];
        for (api_version, kind, stage) in cases {
            let key = ObjectKey::of(&json!({"apiVersion": api_version, "kind": kind}));
            assert_eq!(Stage::of(&key, &custom), stage, "{kind}");
        }
    }
}
