//! The fields that endpoints of built-in kinds reset, so that no manager owns them through these.

use std::collections::BTreeMap;

use crate::smd::{Filter, Step};

type Paths = &'static [&'static [&'static str]];

struct Row {
    group: &'static str,
    versions: &'static [&'static str],
    kinds: &'static [&'static str],
    main: Paths,
    status: Paths,
}

const STATUS: Paths = &[&["status"]];
const SPEC: Paths = &[&["spec"]];
const APPROVAL: Paths = &[&["spec"], &["status", "certificate"]];
const ALL_BUT_STATUS: Paths = &[&["metadata"], &["spec"]];

/// Kinds with a main endpoint that resets the status, and a status endpoint that resets other fields.
const ROWS: &[Row] = &[
    row("", &["v1"], CORE, SPEC),
    row(
        "",
        &["v1"],
        &["Pod"],
        &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
    ),
    row("apps", &["v1"], &["DaemonSet", "ReplicaSet", "StatefulSet"], SPEC),
    row("apps", &["v1"], &["Deployment"], &[&["spec"], &["metadata", "labels"]]),
    row("autoscaling", &["v1", "v2"], &["HorizontalPodAutoscaler"], SPEC),
    row("batch", &["v1"], &["CronJob", "Job"], SPEC),
    row("networking.k8s.io", &["v1"], &["Ingress"], SPEC),
    row("policy", &["v1"], &["PodDisruptionBudget"], SPEC),
    row(
        "admissionregistration.k8s.io",
        &["v1", "v1beta1", "v1alpha1"],
        &["ValidatingAdmissionPolicy"],
        ALL_BUT_STATUS,
    ),
    row("apiextensions.k8s.io", &["v1"], &["CustomResourceDefinition"], ALL_BUT_STATUS),
    row("apiregistration.k8s.io", &["v1"], &["APIService"], ALL_BUT_STATUS),
    row(
        "flowcontrol.apiserver.k8s.io",
        &["v1", "v1beta3"],
        &["FlowSchema", "PriorityLevelConfiguration"],
        ALL_BUT_STATUS,
    ),
    row("internal.apiserver.k8s.io", &["v1alpha1"], &["StorageVersion"], ALL_BUT_STATUS),
    row(
        "resource.k8s.io",
        &["v1", "v1beta2", "v1beta1", "v1alpha3"],
        &["ResourceClaim"],
        ALL_BUT_STATUS,
    ),
    row("resource.k8s.io", &["v1alpha3"], &["DeviceTaintRule"], ALL_BUT_STATUS),
    row("storage.k8s.io", &["v1"], &["VolumeAttachment"], ALL_BUT_STATUS),
    row("storagemigration.k8s.io", &["v1beta1"], &["StorageVersionMigration"], ALL_BUT_STATUS),
    Row {
        group: "certificates.k8s.io",
        versions: &["v1"],
        kinds: &["CertificateSigningRequest"],
        main: &[&["spec"], &["status"]],
        status: &[&["spec"], &["status", "conditions"]],
    },
    // The status endpoint alone; upstream names only the version that is not served any more.
    Row {
        group: "certificates.k8s.io",
        versions: &["v1alpha1"],
        kinds: &["PodCertificateRequest"],
        main: &[],
        status: SPEC,
    },
];

const CORE: &[&str] = &[
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ReplicationController",
    "ResourceQuota",
    "Service",
];

const fn row(
    group: &'static str,
    versions: &'static [&'static str],
    kinds: &'static [&'static str],
    status: Paths,
) -> Row {
    Row { group, versions, kinds, main: STATUS, status }
}

/// Per version, what the endpoint of a built-in kind resets; `subresource` is empty for the kind's own.
pub fn reset_filters(group: &str, kind: &str, subresource: &str) -> BTreeMap<String, Filter> {
    let only = |forms: &[&[Step]]| {
        let forms = forms.iter().map(|form| form.to_vec()).collect();
        BTreeMap::from([("v1".to_owned(), Filter::Only(forms))])
    };
    let Some(row) = ROWS.iter().find(|row| row.group == group && row.kinds.contains(&kind)) else {
        return BTreeMap::new();
    };
    let (spec, any) = (Step::Field("spec"), Step::Any);
    let paths = match (kind, subresource) {
        (_, "") | ("Namespace", "finalize") => row.main,
        (_, "status") => row.status,
        ("CertificateSigningRequest", "approval") => APPROVAL,
        ("Pod", "ephemeralcontainers") => {
            return only(&[&[spec, Step::Field("ephemeralContainers")]]);
        }
        ("Pod", "resize") => {
            let (main, first) = (Step::Field("containers"), Step::Field("initContainers"));
            let (resources, policy) = (Step::Field("resources"), Step::Field("resizePolicy"));
            return only(&[
                &[spec, main, any, resources],
                &[spec, main, any, policy],
                &[spec, first, any, resources],
                &[spec, first, any, policy],
            ]);
        }
        _ => return BTreeMap::new(),
    };
    if paths.is_empty() {
        return BTreeMap::new();
    }
    let name = |version: &&str| {
        if group.is_empty() { (*version).to_owned() } else { format!("{group}/{version}") }
    };
    row.versions.iter().map(|version| (name(version), Filter::without(paths))).collect()
}
