//! Which dependencies block a Kustomization: decided over values, without the API server.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use sluice_api::kustomize::GROUP;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::conditions::READY;
use sluice_api::names::sluice::DEPENDS_ON;
use sluice_api::shared::condition::ConditionStatus;
use sluice_expr::Type;
use sluice_expr::flux::Expression;
use sluice_kstatus::{Status, assess};
use sluice_runtime::key::Key;
use sluice_source::artifact::Revision;

use super::super::references;
use super::NotReady;
use crate::context::Settings;
use crate::dependency::Dependency;

/// Finds Kustomizations by their keys.
pub(super) type Find<'f> = dyn Fn(&Key) -> Option<Arc<Kustomization>> + Send + Sync + 'f;

/// The dependencies that the annotation names.
pub(super) fn by_annotation(object: &Kustomization) -> Result<Vec<Dependency>, String> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let annotations = object.metadata.annotations.as_ref();
    let Some(text) = annotations.and_then(|annotations| annotations.get(DEPENDS_ON)) else {
        return Ok(Vec::new());
    };
    Dependency::parse_all(text, &namespace).map_err(|error| error.to_string())
}

/// The Kustomizations that one depends on.
fn successors(object: &Kustomization) -> Vec<Key> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let required = object.spec.depends_on.iter().flatten().map(|wanted| {
        Key::new(wanted.namespace.clone().unwrap_or_else(|| namespace.clone()), wanted.name.clone())
    });
    let annotated = by_annotation(object).unwrap_or_default().into_iter();
    let annotated = annotated.filter(|it| it.group() == GROUP && it.kind == "Kustomization");
    required.chain(annotated.map(|it| it.key)).collect()
}

/// The path from a Kustomization back to itself, if there is one. Of other namespaces only those are named that it
/// names itself.
pub(super) fn cycle(find: &Find<'_>, object: &Kustomization) -> Option<String> {
    let start = Key::of(&object.metadata);
    // By each Kustomization that is reached: the one that leads to it.
    let mut reached: BTreeMap<Key, Key> = BTreeMap::new();
    let named = successors(object);
    let shown = |key: &Key| {
        let is_known = key.namespace == start.namespace || named.contains(key);
        if is_known { key.to_string() } else { "(another namespace)".to_owned() }
    };
    let mut open: VecDeque<(Key, Vec<Key>)> = VecDeque::from([(start.clone(), named.clone())]);
    while let Some((from, next)) = open.pop_front() {
        for to in next {
            if to == start {
                let mut way = vec![shown(&start), shown(&from)];
                let mut at = &from;
                while let Some(before) = reached.get(at) {
                    way.push(shown(before));
                    at = before;
                }
                way.reverse();
                return Some(format!("a cycle of dependencies: {}", way.join(" -> ")));
            }
            if reached.contains_key(&to) {
                continue;
            }
            let Some(dependency) = find(&to) else { continue };
            reached.insert(to.clone(), from.clone());
            open.push_back((to, successors(&dependency)));
        }
    }
    None
}

/// Refuses what is in another namespace if `--no-cross-namespace-refs` is set.
pub(super) fn reachable(
    settings: &Settings,
    object: &Kustomization,
    kind: &str,
    key: &Key,
) -> Result<(), NotReady> {
    let is_own = object.metadata.namespace.as_deref() == Some(&key.namespace);
    if is_own || !settings.no_cross_namespace_refs {
        return Ok(());
    }
    Err(NotReady::Denied(format!(
        "can't access '{kind}/{key}', cross-namespace references have been blocked"
    )))
}

/// Which dependency of `spec.dependsOn` blocks, as Flux decides it. Flux lets expressions see objects of all
/// namespaces; here they see no more than other references do.
pub(super) fn blocking(
    settings: &Settings,
    find: &Find<'_>,
    object: &Kustomization,
    revision: &str,
) -> Result<(), NotReady> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    for wanted in object.spec.depends_on.iter().flatten() {
        let namespace = wanted.namespace.clone().unwrap_or_else(|| namespace.clone());
        let key = Key::new(namespace, wanted.name.clone());
        let Some(dependency) = find(&key) else {
            return Err(NotReady::Object(format!(
                "dependency '{key}' not found: kustomizations.kustomize.toolkit.fluxcd.io \"{}\" not found",
                key.name
            )));
        };
        if let Some(text) = wanted.ready_expr.as_deref().filter(|text| !text.is_empty()) {
            reachable(settings, object, "Kustomization", &key)?;
            let ready = evaluate(&key.name, text, object, &*dependency)?;
            if !ready {
                return Err(NotReady::Object(format!(
                    "dependency '{key}' is not ready according to readyExpr eval"
                )));
            }
            if !settings.additive_cel_dependency_check {
                continue;
            }
        }
        if !is_ready(&dependency) {
            return Err(NotReady::Object(format!("dependency '{key}' is not ready")));
        }
        let applied = dependency.status.as_ref().and_then(|it| it.last_applied_revision.clone());
        if references::source(&dependency) == references::source(object)
            && !Revision::new(applied.unwrap_or_default())
                .is_same(&Revision::new(revision.to_owned()))
        {
            return Err(NotReady::Object(format!("dependency '{key}' revision is not up to date")));
        }
    }
    Ok(())
}

fn is_ready(dependency: &Kustomization) -> bool {
    let Some(status) = &dependency.status else { return false };
    let mut conditions = status.conditions.iter().flatten();
    status.observed_generation == dependency.metadata.generation
        && conditions.any(|it| it.r#type == READY && it.status == ConditionStatus::True)
}

/// Evaluates an expression over a dependency. One that does not compile never will; one that fails on what is there now
/// may succeed later.
fn evaluate(
    name: &str,
    text: &str,
    own: &Kustomization,
    dependency: &impl serde::Serialize,
) -> Result<bool, NotReady> {
    let expression =
        Expression::compile(text, &["self", "dep"], Some(&Type::Bool)).map_err(|error| {
            NotReady::Expression(format!(
                "terminal error: failed to evaluate dependency {name}: {error}"
            ))
        })?;
    let failed = |error: String| NotReady::Object(error);
    let own = serde_json::to_value(own).map_err(|error| failed(error.to_string()))?;
    let dependency = serde_json::to_value(dependency).map_err(|error| failed(error.to_string()))?;
    let variables: BTreeMap<&str, &Value> = BTreeMap::from([("self", &own), ("dep", &dependency)]);
    expression.is_true_with(&variables).map_err(|error| failed(error.to_string()))
}

/// Whether a dependency of any kind is ready: its expression decides, or else its status.
pub(super) fn any_ready(
    object: &Kustomization,
    wanted: &Dependency,
    found: &Value,
    now: Timestamp,
) -> Result<(), NotReady> {
    let name = format!("{}/{}", wanted.kind, wanted.key);
    let waits = |why: &str| Err(NotReady::Object(format!("dependency '{name}' {why}")));
    if let Some(text) = &wanted.ready_expr {
        let ready = evaluate(&name, text, object, found)?;
        return if ready { Ok(()) } else { waits("is not ready according to readyExpr eval") };
    }
    match assess(found, now) {
        Ok(assessment) if assessment.status == Status::Current => Ok(()),
        _ => waits("is not ready"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde_json::{Value, json};
    use sluice_api::kustomize::kustomization::Kustomization;
    use sluice_runtime::key::Key;

    use super::{any_ready, blocking, cycle};
    use crate::context::Settings;
    use crate::dependency::Dependency;
    use crate::kustomization::dependencies::NotReady;

    /// A Kustomization of the namespace `n` or another one, with what it depends on and its status.
    fn kustomization(name: &str, depends_on: &Value, status: &Value) -> Kustomization {
        let (namespace, name) = name.split_once('/').unwrap_or(("n", name));
        serde_json::from_value(json!({
            "metadata": {"namespace": namespace, "name": name, "generation": 1},
            "spec": {
                "interval": "1m", "dependsOn": depends_on,
                "sourceRef": {"kind": "GitRepository", "name": "source", "namespace": "n"},
            },
            "status": status,
        }))
        .unwrap()
    }

    fn ready(revision: &str) -> Value {
        json!({
            "observedGeneration": 1, "lastAppliedRevision": revision,
            "conditions": [{"type": "Ready", "status": "True", "reason": "a", "message": "b",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        })
    }

    fn said(result: Result<(), NotReady>) -> String {
        match result {
            Ok(()) => "ready".to_owned(),
            Err(NotReady::Object(message)) => message,
            Err(NotReady::Denied(message)) => format!("denied: {message}"),
            Err(NotReady::Expression(message)) => format!("wrong: {message}"),
        }
    }

    #[test]
    fn a_dependency_blocks_until_it_is_ready_at_the_same_revision() {
        let open = Settings::default();
        let locked = Settings { no_cross_namespace_refs: true, ..Settings::default() };
        let additive = Settings { additive_cel_dependency_check: true, ..Settings::default() };
        let mut old = ready("main@sha1:2");
        old["observedGeneration"] = json!(0);
        let never = json!([{"name": "b", "readyExpr": "dep.metadata.name == 'c'"}]);
        let always = json!([{"name": "b", "readyExpr": "dep.metadata.name == 'b'"}]);
        let plain = json!([{"name": "b"}]);
        for (settings, wanted, status, expected) in [
            (&open, &json!(null), json!(null), "ready"),
            (
                &open,
                &json!([{"name": "c"}]),
                json!(null),
                "dependency 'n/c' not found: kustomizations.kustomize.toolkit.fluxcd.io \"c\" not found",
            ),
            (&open, &plain, json!(null), "dependency 'n/b' is not ready"),
            (&open, &plain, old, "dependency 'n/b' is not ready"),
            (&open, &plain, ready("main@sha1:2"), "ready"),
            (&open, &plain, ready("main@sha1:1"), "dependency 'n/b' revision is not up to date"),
            (
                &open,
                &never,
                ready("main@sha1:2"),
                "dependency 'n/b' is not ready according to readyExpr eval",
            ),
            (&open, &always, json!(null), "ready"),
            (&additive, &always, json!(null), "dependency 'n/b' is not ready"),
            (&additive, &always, ready("main@sha1:2"), "ready"),
            (&open, &json!([{"name": "b", "readyExpr": "dep."}]), json!(null), "wrong: "),
            (
                &locked,
                &json!([{"name": "x", "namespace": "m", "readyExpr": "true"}]),
                json!(null),
                "denied: can't access 'Kustomization/m/x', cross-namespace references have been blocked",
            ),
        ] {
            let own = kustomization("a", wanted, &json!(null));
            let all = [
                kustomization("b", &json!(null), &status),
                kustomization("m/x", &json!(null), &json!(null)),
            ];
            let all: BTreeMap<Key, Arc<Kustomization>> =
                all.into_iter().map(|it| (Key::of(&it.metadata), Arc::new(it))).collect();
            let find = |key: &Key| all.get(key).cloned();
            let found = said(blocking(settings, &find, &own, "main@sha1:2"));
            assert!(
                found == expected || expected == "wrong: " && found.starts_with(expected),
                "{found}\n{expected}"
            );
        }
    }

    #[test]
    fn a_cycle_is_named_without_the_names_of_other_tenants() {
        let needs = |name: &str| {
            let (namespace, name) = name.split_once('/').unwrap_or(("n", name));
            json!([{"name": name, "namespace": namespace}])
        };
        for (edges, expected) in [
            (vec![("a", "b")], None),
            (vec![("a", "a")], Some("a cycle of dependencies: n/a -> n/a")),
            (vec![("a", "b"), ("b", "a")], Some("a cycle of dependencies: n/a -> n/b -> n/a")),
            (
                vec![("a", "m/b"), ("m/b", "m/c"), ("m/c", "a")],
                Some("a cycle of dependencies: n/a -> m/b -> (another namespace) -> n/a"),
            ),
            (vec![("a", "b"), ("b", "c"), ("c", "b")], None),
        ] {
            let all: BTreeMap<Key, Arc<Kustomization>> = edges
                .iter()
                .map(|(from, to)| kustomization(from, &needs(to), &json!(null)))
                .map(|it| (Key::of(&it.metadata), Arc::new(it)))
                .collect();
            let own = all.get(&Key::new("n", "a")).cloned().unwrap();
            let find = |key: &Key| all.get(key).cloned();
            assert_eq!(cycle(&find, &own).as_deref(), expected, "{edges:?}");
        }
    }

    #[test]
    fn an_object_of_any_kind_is_ready_by_its_expression_or_its_status() {
        let now = jiff::Timestamp::UNIX_EPOCH;
        let own = kustomization("a", &json!(null), &json!(null));
        let found = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"},
            "data": {"zone": "x"},
        });
        for (expression, expected) in [
            ("", "ready"),
            (", readyExpr: \"dep.data.zone == 'x'\"", "ready"),
            (
                ", readyExpr: \"dep.data.zone == 'y'\"",
                "dependency 'ConfigMap/n/c' is not ready according to readyExpr eval",
            ),
        ] {
            let text = format!("- {{apiVersion: v1, kind: ConfigMap, name: c{expression}}}");
            let wanted = Dependency::parse_all(&text, "n").unwrap();
            assert_eq!(said(any_ready(&own, &wanted[0], &found, now)), expected, "{expression}");
        }
    }
}
