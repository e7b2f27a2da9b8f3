//! Which kinds come before others: what is referred to before what refers to it.

use crate::id::Gvk;

/// These come first, in this order.
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

/// These come last, in this order.
pub(crate) const LAST: [&str; 2] =
    ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Where a kind stands: below zero before the others, above zero after them.
pub(crate) fn rank<S: AsRef<str>>(kind: &str, first: &[S], last: &[S]) -> i64 {
    let place = |list: &[S]| {
        let found = list.iter().rposition(|listed| listed.as_ref() == kind)?;
        i64::try_from(found).ok()
    };
    let length = i64::try_from(first.len()).unwrap_or(i64::MAX);
    // A kind that is in both lists counts as one of the last.
    place(last).map(|place| 1 + place).or(place(first).map(|place| place - length)).unwrap_or(0)
}

/// Group, version and kind for comparing; what is empty comes after most.
pub(crate) fn text(gvk: &Gvk) -> String {
    let or = |value: &str, text: &'static str| {
        if value.is_empty() { text.to_owned() } else { value.to_owned() }
    };
    let (group, version) = (or(&gvk.group, "~G"), or(&gvk.version, "~V"));
    format!("{group}_{version}_{}", or(&gvk.kind, "~K"))
}

/// Sorts things by the kinds they are about.
pub(crate) fn sort<T>(list: &mut [T], gvk: impl Fn(&T) -> &Gvk) {
    list.sort_by_cached_key(|item| {
        let gvk = gvk(item);
        (rank(&gvk.kind, &FIRST, &LAST), text(gvk))
    });
}
