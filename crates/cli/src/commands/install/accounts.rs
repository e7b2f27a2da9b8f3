//! Who the controllers are, and what they may do.
//!
//! In the split profile the account that fetches may read credentials and write sources, and no
//! more: whoever takes it over can make no Kustomization, no token and no workload. The one that
//! applies is administrator, as Flux's is; `--default-service-account` and a Kustomization's own
//! account narrow it.

use serde_json::{Value, json};

use super::plan::{Plan, Unit};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
/// The groups of all kinds of Flux.
const GROUPS: [&str; 6] = [
    "source.toolkit.fluxcd.io",
    "kustomize.toolkit.fluxcd.io",
    "helm.toolkit.fluxcd.io",
    "notification.toolkit.fluxcd.io",
    "image.toolkit.fluxcd.io",
    "source.extensions.fluxcd.io",
];
/// The groups of sources.
const SOURCES: [&str; 2] = ["source.toolkit.fluxcd.io", "source.extensions.fluxcd.io"];

/// An account for each Deployment.
pub(super) fn service_accounts(plan: &Plan) -> Vec<Value> {
    let account = |unit: Unit<'_>| {
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {
                "name": unit.name,
                "namespace": plan.namespace,
                "labels": plan.labels_and(&[("app.kubernetes.io/component", unit.name)]),
            },
        })
    };
    plan.units().into_iter().map(account).collect()
}

/// Roles and who has them.
pub(super) fn roles(plan: &Plan) -> Vec<Value> {
    let units = plan.units();
    let appliers: Vec<&str> =
        units.iter().filter(|unit| unit.applies()).map(|unit| unit.name).collect();
    let fetchers: Vec<&str> =
        units.iter().filter(|unit| !unit.applies()).map(|unit| unit.name).collect();
    let mut objects = Vec::new();
    if !appliers.is_empty() {
        objects.push(cluster_role(plan, "crd-controller", &[], &controller_rules()));
    }
    if !fetchers.is_empty() {
        objects.push(cluster_role(plan, "source-fetcher", &[], &fetcher_rules()));
        objects.push(lease_role(plan));
    }
    let aggregated = |levels: &[&'static str]| {
        let label = |level: &&str| format!("rbac.authorization.k8s.io/aggregate-to-{level}");
        levels.iter().map(label).collect::<Vec<String>>()
    };
    let edit = ["create", "delete", "deletecollection", "patch", "update"];
    objects.push(cluster_role(plan, "flux-edit", &aggregated(&["edit", "admin"]), &on_all(&edit)));
    let view = ["get", "list", "watch"];
    let levels = aggregated(&["admin", "edit", "view"]);
    objects.push(cluster_role(plan, "flux-view", &levels, &on_all(&view)));
    if !appliers.is_empty() {
        objects.push(cluster_binding(plan, "cluster-reconciler", "cluster-admin", &appliers));
        let role = plan.suffixed("crd-controller");
        objects.push(cluster_binding(plan, "crd-controller", &role, &appliers));
    }
    if !fetchers.is_empty() {
        let role = plan.suffixed("source-fetcher");
        objects.push(cluster_binding(plan, "source-fetcher", &role, &fetchers));
        objects.push(lease_binding(plan, &fetchers));
    }
    objects
}

fn cluster_role(plan: &Plan, name: &str, aggregated: &[String], rules: &Value) -> Value {
    let more: Vec<(&str, &str)> = aggregated.iter().map(|label| (label.as_str(), "true")).collect();
    json!({
        "apiVersion": RBAC, "kind": "ClusterRole",
        "metadata": {"name": plan.suffixed(name), "labels": plan.labels_and(&more)},
        "rules": rules,
    })
}

fn cluster_binding(plan: &Plan, name: &str, role: &str, accounts: &[&str]) -> Value {
    json!({
        "apiVersion": RBAC, "kind": "ClusterRoleBinding",
        "metadata": {"name": plan.suffixed(name), "labels": plan.labels()},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": subjects(plan, accounts),
    })
}

fn subjects(plan: &Plan, accounts: &[&str]) -> Value {
    let subject =
        |name: &&str| json!({"kind": "ServiceAccount", "name": name, "namespace": plan.namespace});
    accounts.iter().map(subject).collect()
}

/// The lease that only one of several replicas holds; it lies beside them.
fn lease_role(plan: &Plan) -> Value {
    json!({
        "apiVersion": RBAC, "kind": "Role",
        "metadata": {
            "name": "source-fetcher", "namespace": plan.namespace, "labels": plan.labels(),
        },
        "rules": [rule(&["coordination.k8s.io"], &["leases"], &ALL)],
    })
}

fn lease_binding(plan: &Plan, accounts: &[&str]) -> Value {
    json!({
        "apiVersion": RBAC, "kind": "RoleBinding",
        "metadata": {
            "name": "source-fetcher", "namespace": plan.namespace, "labels": plan.labels(),
        },
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "source-fetcher",
        },
        "subjects": subjects(plan, accounts),
    })
}

const READ: [&str; 3] = ["get", "list", "watch"];
const ALL: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

fn on_all(verbs: &[&str]) -> Value {
    json!([rule(&GROUPS, &["*"], verbs)])
}

/// What Flux's controllers may do.
fn controller_rules() -> Value {
    let mut rules: Vec<Value> =
        GROUPS.iter().map(|group| rule(&[*group], &["*"], &["*"])).collect();
    rules.extend([
        rule(&[""], &["namespaces", "secrets", "configmaps", "serviceaccounts"], &READ),
        rule(&[""], &["events"], &["create", "patch"]),
        rule(&[""], &["configmaps"], &ALL),
        rule(&[""], &["configmaps/status"], &["get", "update", "patch"]),
        rule(&["coordination.k8s.io"], &["leases"], &ALL),
        rule(&[""], &["serviceaccounts/token"], &["create"]),
        json!({"nonResourceURLs": ["/livez/ping"], "verbs": ["head"]}),
    ]);
    Value::Array(rules)
}

/// What fetching takes: sources, their credentials, and a voice.
fn fetcher_rules() -> Value {
    json!([
        rule(&SOURCES, &["*"], &["*"]),
        rule(&[""], &["namespaces", "secrets", "configmaps", "serviceaccounts"], &READ),
        rule(&[""], &["events"], &["create", "patch"]),
    ])
}
