//! The order of kinds: a kind comes before kinds that refer to it.

use crate::id::Gvk;

/// The first kinds, in order.
pub(crate) const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// The last kinds, in order.
pub(crate) const LAST: [&str; 2] =
    ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// The position of a kind: below zero before the others, above zero after them.
pub(crate) fn rank<S: AsRef<str>>(kind: &str, first: &[S], last: &[S]) -> i64 {
    let place = |list: &[S]| {
        let found = list.iter().rposition(|listed| listed.as_ref() == kind)?;
        i64::try_from(found).ok()
    };
    let length = i64::try_from(first.len()).unwrap_or(i64::MAX);
    // A kind in both lists counts as one of the last.
    place(last).map(|place| 1 + place).or(place(first).map(|place| place - length)).unwrap_or(0)
}

/// Group, version and kind for comparing; empty parts come after most.
pub(crate) fn text(gvk: &Gvk) -> String {
    let or = |value: &str, text: &'static str| {
        if value.is_empty() { text.to_owned() } else { value.to_owned() }
    };
    let (group, version) = (or(&gvk.group, "~G"), or(&gvk.version, "~V"));
    format!("{group}_{version}_{}", or(&gvk.kind, "~K"))
}

/// Sorts by kind.
pub(crate) fn sort<T>(list: &mut [T], gvk: impl Fn(&T) -> &Gvk) {
    list.sort_by_cached_key(|item| {
        let gvk = gvk(item);
        (rank(&gvk.kind, &FIRST, &LAST), text(gvk))
    });
}
