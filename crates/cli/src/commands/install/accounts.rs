//! The service accounts of the controllers and their roles.
//!
//! Each account has the rights of its controllers, from the table in [`sluice_controllers::rights`]. The one that applies is
//! also cluster admin, as in Flux, because a Kustomization without a service account uses it; with `--lockdown` it is not,
//! and can only impersonate other accounts.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_controllers::rights::Place;

use super::plan::{Plan, Unit};
use super::roles::rules;

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// A service account for each Deployment.
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

/// Flux's name of a role for a unit, or ours where Flux has none.
fn role_name(unit: &Unit<'_>) -> &'static str {
    if unit.applies() { "crd-controller" } else { "source-fetcher" }
}

/// Roles and bindings.
pub(super) fn roles(plan: &Plan) -> Vec<Value> {
    let mut units = plan.units();
    // Flux's own come first.
    units.sort_by_key(|unit| !unit.applies());
    let mut objects = Vec::new();
    for unit in &units {
        let watched = rules(plan, unit, Place::Watched);
        objects.push(cluster_role(plan, role_name(unit), &[], &watched));
        if !is_administrator(plan, unit) {
            let own = rules(plan, unit, Place::Own);
            objects.push(role(plan, role_name(unit), &own));
        }
    }
    let aggregated = |levels: &[&'static str]| {
        let label = |level: &&str| format!("rbac.authorization.k8s.io/aggregate-to-{level}");
        levels.iter().map(label).collect::<Vec<String>>()
    };
    let edit = ["create", "delete", "deletecollection", "patch", "update"];
    let levels = aggregated(&["edit", "admin"]);
    objects.push(cluster_role(plan, "flux-edit", &levels, &on_flux_kinds(&edit)));
    let view = ["get", "list", "watch"];
    let levels = aggregated(&["admin", "edit", "view"]);
    objects.push(cluster_role(plan, "flux-view", &levels, &on_flux_kinds(&view)));
    for unit in &units {
        if is_administrator(plan, unit) {
            objects.push(cluster_binding(plan, "cluster-reconciler", "cluster-admin", unit));
        }
        let role = plan.suffixed(role_name(unit));
        if plan.watch_all_namespaces {
            objects.push(cluster_binding(plan, role_name(unit), &role, unit));
        } else {
            objects.push(binding(plan, &role, "ClusterRole", &role, unit));
        }
        if !is_administrator(plan, unit) {
            objects.push(binding(plan, role_name(unit), "Role", role_name(unit), unit));
        }
    }
    objects
}

/// Whether a unit is cluster admin, because Kustomizations without a service account use it.
fn is_administrator(plan: &Plan, unit: &Unit<'_>) -> bool {
    unit.applies() && !plan.lockdown
}

/// Bindings that another installation in this namespace may have left, and that this one does not have: kind and name.
/// They would keep rights that this one does not need.
pub(super) fn left_over(plan: &Plan) -> Vec<(&'static str, String)> {
    let written: Vec<(String, String)> = roles(plan)
        .iter()
        .map(|object| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&object["kind"]), text(&object["metadata"]["name"]))
        })
        .collect();
    let names = ["cluster-reconciler", "crd-controller", "source-fetcher"];
    let cluster = names.map(|name| ("ClusterRoleBinding", plan.suffixed(name)));
    let local = names.map(|name| ("RoleBinding", plan.suffixed(name)));
    let own = names.map(|name| ("RoleBinding", name.to_owned()));
    let is_written = |(kind, name): &(&str, String)| {
        written.iter().any(|(of_kind, called)| of_kind == kind && called == name)
    };
    cluster.into_iter().chain(local).chain(own).filter(|it| !is_written(it)).collect()
}

fn cluster_role(plan: &Plan, name: &str, aggregated: &[String], rules: &Value) -> Value {
    let more: Vec<(&str, &str)> = aggregated.iter().map(|label| (label.as_str(), "true")).collect();
    json!({
        "apiVersion": RBAC, "kind": "ClusterRole",
        "metadata": {"name": plan.suffixed(name), "labels": plan.labels_and(&more)},
        "rules": rules,
    })
}

/// A role in the namespace of the controllers.
fn role(plan: &Plan, name: &str, rules: &Value) -> Value {
    json!({
        "apiVersion": RBAC, "kind": "Role",
        "metadata": {"name": name, "namespace": plan.namespace, "labels": plan.labels()},
        "rules": rules,
    })
}

fn cluster_binding(plan: &Plan, name: &str, role: &str, unit: &Unit<'_>) -> Value {
    json!({
        "apiVersion": RBAC, "kind": "ClusterRoleBinding",
        "metadata": {"name": plan.suffixed(name), "labels": plan.labels()},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": subjects(plan, unit),
    })
}

/// A binding in the namespace of the controllers.
fn binding(plan: &Plan, name: &str, kind: &str, role: &str, unit: &Unit<'_>) -> Value {
    json!({
        "apiVersion": RBAC, "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": plan.namespace, "labels": plan.labels()},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": subjects(plan, unit),
    })
}

fn subjects(plan: &Plan, unit: &Unit<'_>) -> Value {
    json!([{"kind": "ServiceAccount", "name": unit.name, "namespace": plan.namespace}])
}

/// Verbs on all kinds of Flux. Names, not `*`: that would include `/status`, which only controllers write; with it,
/// artifacts and inventories could be forged.
fn on_flux_kinds(verbs: &[&str]) -> Value {
    let mut kinds: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for definition in sluice_api::crds() {
        let group = definition["spec"]["group"].as_str().unwrap_or_default();
        if group.ends_with(".fluxcd.io") && !group.contains("controlplane") {
            let plural = definition["spec"]["names"]["plural"].clone();
            kinds.entry(group.to_owned()).or_default().push(plural);
        }
    }
    let rule = |(group, mut resources): (String, Vec<Value>)| {
        resources.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
        json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
    };
    kinds.into_iter().map(rule).collect()
}
