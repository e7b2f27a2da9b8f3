//! Checks dependencies: they are declared or in the cluster, and there are no cycles.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::inputs::Inputs;
use crate::commands::check::findings::{Area, Findings, Verdict};
use crate::kinds::{named, text_at};
use crate::session::Session;

/// Namespace and name.
type Id = (String, String);

/// Checks `dependsOn` of all Kustomizations.
pub(super) async fn check(session: &Session, inputs: &Inputs, findings: &mut Findings) {
    let graph = graph(inputs.kustomizations());
    for (id, needs) in &graph {
        for need in needs {
            let object = format!("Kustomization/{}/{}", id.0, id.1);
            let on = format!("{}/{}", need.0, need.1);
            let is_there = match named("Kustomization") {
                Some(kind) => session.get(kind, &need.0, &need.1).await.is_ok(),
                None => false,
            };
            if graph.contains_key(need) || is_there {
                findings.add(Area::Dependency, &object, Verdict::Good, &format!("needs {on}"));
            } else {
                let message = format!("needs {on}, which is neither here nor in the cluster");
                findings.add(Area::Dependency, &object, Verdict::Bad, &message);
            }
        }
    }
    for circle in circles(&graph) {
        let names: Vec<String> = circle.iter().map(|id| format!("{}/{}", id.0, id.1)).collect();
        let first = names.first().map_or("", String::as_str);
        let message = format!("waits for itself: {} -> {first}", names.join(" -> "));
        findings.add(Area::Dependency, &format!("Kustomization/{first}"), Verdict::Bad, &message);
    }
}

fn graph<'a>(kustomizations: impl Iterator<Item = &'a Value>) -> BTreeMap<Id, Vec<Id>> {
    let node = |object: &Value| {
        let own = text_at(object, "/metadata/namespace").to_owned();
        let needs = object.pointer("/spec/dependsOn").and_then(Value::as_array);
        let need = |reference: &Value| {
            let namespace = text_at(reference, "/namespace");
            let namespace = if namespace.is_empty() { own.clone() } else { namespace.to_owned() };
            (namespace, text_at(reference, "/name").to_owned())
        };
        let needs = needs.into_iter().flatten().map(need).collect();
        ((own.clone(), text_at(object, "/metadata/name").to_owned()), needs)
    };
    kustomizations.map(node).collect()
}

/// Each cycle once, beginning with the first of its names.
fn circles(graph: &BTreeMap<Id, Vec<Id>>) -> Vec<Vec<Id>> {
    let mut done: BTreeSet<&Id> = BTreeSet::new();
    let mut found = Vec::new();
    for start in graph.keys() {
        // The path from the start, and the remaining edges at each step of it.
        let mut way: Vec<(&Id, std::slice::Iter<'_, Id>)> = Vec::new();
        if let (Some(needs), false) = (graph.get(start), done.contains(start)) {
            way.push((start, needs.iter()));
        }
        while let Some((id, rest)) = way.last_mut() {
            let Some(next) = rest.next() else {
                done.insert(*id);
                way.pop();
                continue;
            };
            if let Some(at) = way.iter().position(|(id, _)| *id == next) {
                let circle = way.get(at..).unwrap_or_default();
                found.push(circle.iter().map(|(id, _)| (*id).clone()).collect());
            } else if let (Some((id, needs)), false) =
                (graph.get_key_value(next), done.contains(next))
            {
                way.push((id, needs.iter()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{circles, graph};

    fn kustomization(name: &str, needs: &[&str]) -> Value {
        let needs: Vec<Value> = needs.iter().map(|name| json!({"name": name})).collect();
        json!({
            "kind": "Kustomization",
            "metadata": {"name": name, "namespace": "flux-system"},
            "spec": {"dependsOn": needs},
        })
    }

    #[test]
    fn circles_are_found_once() {
        let objects = [
            kustomization("apps", &["services"]),
            kustomization("services", &["controllers", "apps"]),
            kustomization("controllers", &[]),
            kustomization("alone", &["alone"]),
            kustomization("outside", &["services", "elsewhere"]),
        ];
        let found = circles(&graph(objects.iter()));
        let names: Vec<Vec<&str>> =
            found.iter().map(|circle| circle.iter().map(|id| id.1.as_str()).collect()).collect();
        assert_eq!(names, [vec!["alone"], vec!["apps", "services"]]);
    }
}
