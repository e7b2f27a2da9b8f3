//! The default field specs of transformers, in the order of kustomize's sorted table.

/// Group, version, kind, path, and whether a missing field is created.
pub(super) type Row = (&'static str, &'static str, &'static str, &'static str, bool);

pub(super) const NAME_PREFIX: &[Row] = &[("", "", "", "metadata/name", false)];

pub(super) const NAME_SUFFIX: &[Row] = &[("", "", "", "metadata/name", false)];

pub(super) const NAMESPACE: &[Row] = &[
    ("", "", "Namespace", "metadata/name", true),
    (
        "apiextensions.k8s.io",
        "",
        "CustomResourceDefinition",
        "spec/conversion/webhook/clientConfig/service/namespace",
        false,
    ),
    ("apiregistration.k8s.io", "", "APIService", "spec/service/namespace", true),
];

pub(super) const COMMON_LABELS: &[Row] = &[
    ("", "v1", "Service", "spec/selector", true),
    (
        "apps",
        "",
        "Deployment",
        "spec/template/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
        false,
    ),
    (
        "apps",
        "",
        "Deployment",
        "spec/template/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
        false,
    ),
    (
        "apps",
        "",
        "Deployment",
        "spec/template/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
        false,
    ),
    (
        "apps",
        "",
        "Deployment",
        "spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
        false,
    ),
    (
        "apps",
        "",
        "Deployment",
        "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels",
        false,
    ),
    ("", "", "Deployment", "spec/template/metadata/labels", true),
    ("", "", "Deployment", "spec/selector/matchLabels", true),
    ("apps", "", "StatefulSet", "spec/selector/matchLabels", true),
    ("apps", "", "StatefulSet", "spec/volumeClaimTemplates[]/metadata/labels", true),
    (
        "apps",
        "",
        "StatefulSet",
        "spec/template/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
        false,
    ),
    (
        "apps",
        "",
        "StatefulSet",
        "spec/template/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
        false,
    ),
    (
        "apps",
        "",
        "StatefulSet",
        "spec/template/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
        false,
    ),
    (
        "apps",
        "",
        "StatefulSet",
        "spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
        false,
    ),
    (
        "apps",
        "",
        "StatefulSet",
        "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels",
        false,
    ),
    ("apps", "", "StatefulSet", "spec/template/metadata/labels", true),
    ("batch", "", "CronJob", "spec/jobTemplate/metadata/labels", true),
    ("batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/labels", true),
    ("batch", "", "CronJob", "spec/jobTemplate/spec/selector/matchLabels", false),
    ("policy", "", "PodDisruptionBudget", "spec/selector/matchLabels", false),
    ("batch", "", "Job", "spec/selector/matchLabels", false),
    ("batch", "", "Job", "spec/template/metadata/labels", true),
    ("networking.k8s.io", "", "NetworkPolicy", "spec/egress/to/podSelector/matchLabels", false),
    ("networking.k8s.io", "", "NetworkPolicy", "spec/ingress/from/podSelector/matchLabels", false),
    ("networking.k8s.io", "", "NetworkPolicy", "spec/podSelector/matchLabels", false),
    ("", "v1", "ReplicationController", "spec/template/metadata/labels", true),
    ("", "v1", "ReplicationController", "spec/selector", true),
    ("", "", "DaemonSet", "spec/template/metadata/labels", true),
    ("", "", "DaemonSet", "spec/selector/matchLabels", true),
    ("", "", "ReplicaSet", "spec/template/metadata/labels", true),
    ("", "", "ReplicaSet", "spec/selector/matchLabels", true),
    ("", "", "", "metadata/labels", true),
];

pub(super) const TEMPLATE_LABELS: &[Row] = &[
    ("", "", "Deployment", "spec/template/metadata/labels", true),
    ("apps", "", "StatefulSet", "spec/template/metadata/labels", true),
    ("apps", "", "StatefulSet", "spec/volumeClaimTemplates[]/metadata/labels", true),
    ("batch", "", "CronJob", "spec/jobTemplate/metadata/labels", true),
    ("batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/labels", true),
    ("batch", "", "Job", "spec/template/metadata/labels", true),
    ("", "v1", "ReplicationController", "spec/template/metadata/labels", true),
    ("", "", "DaemonSet", "spec/template/metadata/labels", true),
    ("", "", "ReplicaSet", "spec/template/metadata/labels", true),
    ("", "", "", "metadata/labels", true),
];

pub(super) const COMMON_ANNOTATIONS: &[Row] = &[
    ("", "", "Deployment", "spec/template/metadata/annotations", true),
    ("", "", "StatefulSet", "spec/template/metadata/annotations", true),
    ("batch", "", "CronJob", "spec/jobTemplate/metadata/annotations", true),
    ("batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/annotations", true),
    ("batch", "", "Job", "spec/template/metadata/annotations", true),
    ("", "v1", "ReplicationController", "spec/template/metadata/annotations", true),
    ("", "", "DaemonSet", "spec/template/metadata/annotations", true),
    ("", "", "ReplicaSet", "spec/template/metadata/annotations", true),
    ("", "", "", "metadata/annotations", true),
];

pub(super) const IMAGES: &[Row] = &[
    ("", "", "", "spec/containers[]/image", true),
    ("", "", "", "spec/initContainers[]/image", true),
    ("", "", "", "spec/volumes[]/image/reference", true),
    ("", "", "", "spec/template/spec/containers[]/image", true),
    ("", "", "", "spec/template/spec/initContainers[]/image", true),
    ("", "", "", "spec/template/spec/volumes[]/image/reference", true),
];

pub(super) const REPLICAS: &[Row] = &[
    ("", "", "Deployment", "spec/replicas", true),
    ("", "", "StatefulSet", "spec/replicas", true),
    ("", "", "ReplicaSet", "spec/replicas", true),
    ("", "", "ReplicationController", "spec/replicas", true),
];
