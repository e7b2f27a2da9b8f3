//! What has to hold when a story is over.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::{DynamicObject, ListParams};
use serde_json::{Value, json};

use crate::platform::{KINDS, Platform, Thing, VALUE};
use crate::story::SOURCES;
use crate::world::World;

/// What is in every namespace without anybody's doing.
const SYSTEM: [&str; 2] = ["kube-root-ca.crt", "default"];

/// Everything that is not as the last commit says; nothing if all is well.
pub(crate) async fn differences(
    world: &World,
    platform: &Platform,
    revision: &str,
    alive: &BTreeSet<&'static str>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in SOURCES {
        wrong.extend(source(world, name, revision).await);
    }
    let found = world.user.kustomizations().list(&ListParams::default()).await.unwrap();
    let found: BTreeMap<String, DynamicObject> =
        found.items.into_iter().map(|it| (it.metadata.name.clone().unwrap(), it)).collect();
    for name in found.keys().filter(|name| !alive.contains(name.as_str())) {
        wrong.push(format!("Kustomization {name} is still there"));
    }
    for name in alive {
        match found.get(*name) {
            Some(object) => wrong.extend(kustomization(object, platform, revision, name)),
            None => wrong.push(format!("Kustomization {name} is not there")),
        }
    }
    wrong.extend(things(world, platform, alive).await);
    wrong
}

fn condition(object: &DynamicObject, kind: &str) -> Option<String> {
    let all = object.data.pointer("/status/conditions").and_then(Value::as_array)?;
    let found = all.iter().find(|it| it["type"] == kind)?;
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    Some(format!("{} {}: {}", text("status"), text("reason"), text("message")))
}

async fn source(world: &World, name: &str, revision: &str) -> Vec<String> {
    let object = world.user.repositories().get(name).await.unwrap();
    let mut wrong = Vec::new();
    let status = &object.data["status"];
    if status["artifact"]["revision"] != revision {
        wrong.push(format!(
            "the artifact of {name} is {} and not {revision}",
            status["artifact"]["revision"]
        ));
    }
    let expected = format!("True Succeeded: stored artifact for revision '{revision}'");
    if condition(&object, "Ready").as_ref() != Some(&expected) {
        wrong.push(format!("GitRepository {name} says {:?}", condition(&object, "Ready")));
    }
    wrong.extend(settled(&object, name));
    let path = status["artifact"]["path"].as_str().unwrap_or_default();
    if !world.wire.store.paths().iter().any(|stored| stored == path) {
        wrong.push(format!("the artifact {path} is not in the store"));
    }
    wrong
}

/// What every object that has come to rest says.
fn settled(object: &DynamicObject, name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for kind in ["Reconciling", "Stalled", "FetchFailed", "StorageOperationFailed"] {
        if let Some(said) = condition(object, kind) {
            wrong.push(format!("{name} still says {kind}: {said}"));
        }
    }
    let generation = object.metadata.generation.unwrap();
    if object.data["status"]["observedGeneration"] != generation {
        let observed = &object.data["status"]["observedGeneration"];
        wrong.push(format!("{name} observed generation {observed} of {generation}"));
    }
    wrong
}

fn kustomization(
    object: &DynamicObject,
    platform: &Platform,
    revision: &str,
    name: &str,
) -> Vec<String> {
    let mut wrong = settled(object, name);
    let status = &object.data["status"];
    let expected = format!("True ReconciliationSucceeded: Applied revision: {revision}");
    if condition(object, "Ready").as_ref() != Some(&expected) {
        wrong.push(format!("{name} says {:?}", condition(object, "Ready")));
    }
    for field in ["lastAppliedRevision", "lastAttemptedRevision"] {
        if status[field] != revision {
            wrong.push(format!("{field} of {name} is {}", status[field]));
        }
    }
    let entries = status["inventory"]["entries"].as_array().cloned().unwrap_or_default();
    let inventory: BTreeSet<String> =
        entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
    let expected: BTreeSet<String> = platform.parts[name].things.keys().map(Thing::id).collect();
    if inventory != expected {
        wrong.push(format!("the inventory of {name} is {inventory:?} and not {expected:?}"));
    }
    wrong
}

/// The things in the cluster are those of the commit and those of users, and nothing else.
async fn things(world: &World, platform: &Platform, alive: &BTreeSet<&'static str>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expected: BTreeMap<Thing, (&str, u64)> = BTreeMap::new();
    for name in alive {
        let part = &platform.parts[name];
        expected.extend(part.things.iter().map(|(thing, value)| (thing.clone(), (*name, *value))));
    }
    let (foreign, notes) = (world.facts.foreign(), world.facts.notes());
    for (kind, group, version) in KINDS {
        let listed =
            world.user.api(kind, group, version).list(&ListParams::default()).await.unwrap();
        for object in listed.items {
            let name = object.metadata.name.clone().unwrap();
            if SYSTEM.contains(&name.as_str()) {
                continue;
            }
            let thing = Thing::new(kind, &name);
            if let Some(made) = foreign.get(&thing) {
                wrong.extend(touched(&thing, made, &object));
                continue;
            }
            let Some((owner, value)) = expected.remove(&thing) else {
                wrong.push(format!("{thing:?} is there, and nobody wants it"));
                continue;
            };
            let annotations = object.metadata.annotations.unwrap_or_default();
            if annotations.get(VALUE) != Some(&value.to_string()) {
                wrong.push(format!(
                    "{thing:?} has the value {:?} and not {value}",
                    annotations.get(VALUE)
                ));
            }
            let labels = object.metadata.labels.unwrap_or_default();
            if labels.get("kustomize.toolkit.fluxcd.io/name").map(String::as_str) != Some(owner) {
                wrong.push(format!("{thing:?} is not {owner}'s: {labels:?}"));
            }
            let note = notes.get(object.metadata.uid.as_deref().unwrap_or_default());
            if note.is_some() && annotations.get("notes.test/note") != note {
                wrong.push(format!("{thing:?} lost a user's note"));
            }
        }
    }
    wrong.extend(expected.keys().map(|thing| format!("{thing:?} is not there")));
    wrong
}

/// Whether anybody changed what a user made.
fn touched(thing: &Thing, made: &Value, found: &DynamicObject) -> Option<String> {
    let found = serde_json::to_value(found).unwrap();
    let face = |object: &Value| {
        json!({
            "uid": object["metadata"]["uid"], "labels": object["metadata"]["labels"],
            "annotations": object["metadata"]["annotations"].get("made.test/by"),
            "data": object["data"], "spec": object["spec"],
        })
    };
    (face(made) != face(&found)).then(|| format!("{thing:?} is a user's, and was changed"))
}
