//! What holds others up: the object that is not ready and that most others wait for, or the slowest one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sluice_base::duration::GoDuration;

use crate::kinds::{condition, text_at};

/// The bottleneck.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Bottleneck {
    /// An object that is not ready, with others waiting for it.
    Blocking { object: String, waiting: usize, message: String },
    /// An object that takes more than half of its interval.
    Slow { object: String, takes: GoDuration, interval: GoDuration },
}

impl Bottleneck {
    /// The text for people.
    pub(super) fn summary(&self) -> String {
        match self {
            Self::Blocking { object, waiting, message } => {
                let wait = if *waiting == 1 { "1 waits" } else { &format!("{waiting} wait") };
                format!("bottleneck: {object} is not ready and {wait} for it: {message}")
            }
            Self::Slow { object, takes, interval } => {
                format!("bottleneck: {object} takes {takes} of its interval of {interval}")
            }
        }
    }

    /// The JSON form.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Blocking { object, waiting, message } => {
                json!({"object": object, "waiting": waiting, "message": message})
            }
            Self::Slow { object, takes, interval } => {
                json!({"object": object, "takes": takes.to_string(), "interval": interval.to_string()})
            }
        }
    }
}

/// Finds it among all objects, in one walk along the references.
pub(super) fn find(objects: &[Value]) -> Option<Bottleneck> {
    let mut needed_by: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for object in objects {
        for need in needs(object) {
            needed_by.entry(need).or_default().push(identity(object));
        }
    }
    let failing = objects.iter().filter(|object| {
        condition(object, "Ready").is_some_and(|ready| text_at(ready, "/status") == "False")
    });
    let blocking = failing.map(|object| {
        let identity = identity(object);
        let message = condition(object, "Ready").map(|ready| text_at(ready, "/message"));
        (waiting(&needed_by, &identity), identity, message.unwrap_or_default().to_owned())
    });
    // An object that waits itself has fewer others waiting for it than its own blocker.
    let worst = blocking
        .filter(|(waiting, ..)| *waiting > 0)
        .max_by(|one, other| one.0.cmp(&other.0).then_with(|| other.1.cmp(&one.1)));
    match worst {
        Some((waiting, object, message)) => Some(Bottleneck::Blocking { object, waiting, message }),
        None => slowest(objects),
    }
}

/// The number of objects that wait for one, directly and indirectly.
fn waiting(needed_by: &BTreeMap<String, Vec<String>>, of: &str) -> usize {
    let mut seen = BTreeSet::new();
    let mut next = vec![of];
    while let Some(one) = next.pop() {
        for user in needed_by.get(one).into_iter().flatten() {
            if user != of && seen.insert(user.as_str()) {
                next.push(user);
            }
        }
    }
    seen.len()
}

fn identity(object: &Value) -> String {
    named(
        text_at(object, "/kind"),
        text_at(object, "/metadata/namespace"),
        text_at(object, "/metadata/name"),
    )
}

fn named(kind: &str, namespace: &str, name: &str) -> String {
    format!("{kind}/{namespace}/{name}")
}

/// The references of an object: its source, and its dependencies.
fn needs(object: &Value) -> Vec<String> {
    let own = text_at(object, "/metadata/namespace");
    let referenced = |reference: &Value, kind: &str| {
        let namespace = match text_at(reference, "/namespace") {
            "" => own,
            namespace => namespace,
        };
        named(kind, namespace, text_at(reference, "/name"))
    };
    let sources = ["/spec/sourceRef", "/spec/chartRef", "/spec/chart/spec/sourceRef"];
    let sources = sources.iter().filter_map(|path| object.pointer(path));
    let mut needs: Vec<String> =
        sources.map(|source| referenced(source, text_at(source, "/kind"))).collect();
    let kind = text_at(object, "/kind");
    let depends = object.pointer("/spec/dependsOn").and_then(Value::as_array);
    needs.extend(depends.into_iter().flatten().map(|one| referenced(one, kind)));
    needs
}

fn slowest(objects: &[Value]) -> Option<Bottleneck> {
    let slow = objects.iter().filter_map(|object| {
        let takes = text_at(object, "/status/history/0/lastReconciledDuration");
        let takes = GoDuration::parse(takes).ok()?;
        let interval = GoDuration::parse(text_at(object, "/spec/interval")).ok()?;
        let is_slow = takes.to_std() * 2 > interval.to_std();
        is_slow.then(|| Bottleneck::Slow { object: identity(object), takes, interval })
    });
    slow.max_by_key(|one| match one {
        Bottleneck::Slow { takes, .. } => takes.to_std(),
        Bottleneck::Blocking { .. } => std::time::Duration::ZERO,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Bottleneck, find};

    fn kustomization(name: &str, ready: &str, after: &[&str]) -> Value {
        let after: Vec<Value> = after.iter().map(|name| json!({"name": name})).collect();
        json!({
            "kind": "Kustomization",
            "metadata": {"name": name, "namespace": "apps"},
            "spec": {"interval": "10m", "dependsOn": after, "sourceRef": {"kind": "GitRepository", "name": "all"}},
            "status": {
                "conditions": [{"type": "Ready", "status": ready, "message": format!("{name} says")}],
                "history": [{"lastReconciledDuration": "6m"}],
            },
        })
    }

    #[test]
    fn the_root_of_what_waits_is_named() {
        let objects = [
            kustomization("a", "False", &["b"]),
            kustomization("b", "False", &[]),
            kustomization("c", "False", &["a"]),
        ];
        let found = find(&objects).expect("three fail");
        assert_eq!(
            found.summary(),
            "bottleneck: Kustomization/apps/b is not ready and 2 wait for it: b says"
        );
    }

    #[test]
    fn a_circle_ends() {
        let objects = [kustomization("a", "False", &["b"]), kustomization("b", "False", &["a"])];
        assert!(matches!(find(&objects), Some(Bottleneck::Blocking { waiting: 1, .. })));
    }

    #[test]
    fn where_nothing_fails_the_slowest_is_named() {
        let found = find(&[kustomization("a", "True", &[])]).expect("it takes 6 of 10 minutes");
        assert_eq!(
            found.summary(),
            "bottleneck: Kustomization/apps/a takes 6m0s of its interval of 10m0s"
        );
    }

    #[test]
    fn where_all_is_well_nothing_is_named() {
        assert_eq!(find(&[]), None);
    }
}
