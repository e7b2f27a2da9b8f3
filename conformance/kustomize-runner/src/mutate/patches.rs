//! Mutations that add patches, or change those that are there.

use serde_json::{Map, Value, json};

use crate::case::Request;
use crate::mutate::random::Random;
use crate::mutate::values::some_value;
use crate::mutate::world::{Layer, Object, World, paths, pointer};

/// Adds a strategic merge patch for an object, in one of its forms.
pub(crate) fn merge(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let (layer, object) = world.pair(random)?;
    let mut patch = json!({
        "apiVersion": object.value.get("apiVersion")?, "kind": object.kind(),
        "metadata": { "name": object.name() },
    });
    if let Some(namespace) = object.value.pointer("/metadata/namespace") {
        patch["metadata"]["namespace"] = namespace.clone();
    }
    for _ in 0..=random.below(2) {
        let change = merge_change(object, random)?;
        combine(&mut patch, change);
    }
    let text = sluice_yaml::from_json(&patch);
    if random.chance(20) {
        let entry =
            if random.chance(50) { text } else { layer.add_file(request, "sluice-patch", text) };
        return layer.append(request, "patchesStrategicMerge", json!(entry));
    }
    add(request, layer, object, random, text, 40)
}

/// Part of a patch that fits the object.
fn merge_change(object: &Object, random: &mut Random) -> Option<Value> {
    let containers =
        object.value.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    if let Some(containers) = containers.filter(|_| random.chance(60)) {
        let names: Vec<&str> = containers.iter().filter_map(|c| c.get("name")?.as_str()).collect();
        let name = random.pick(&names).copied().unwrap_or("main");
        let container = match random.below(9) {
            0 => json!({ "name": name, "image": "patched:1" }),
            1 => {
                json!({ "name": name, "env": [{"name": "MODE", "value": "patched"}, {"name": "NEW", "value": "1"}] })
            }
            2 => {
                json!({ "name": name, "ports": [{"containerPort": 80, "protocol": "TCP", "name": "web"}, {"containerPort": 9000}] })
            }
            3 => json!({ "name": name, "$patch": "delete" }),
            4 => json!({ "name": "sidecar", "image": "sidecar:1" }),
            5 => json!({ "name": name, "args": ["--patched"], "command": null }),
            6 => json!({ "name": name, "env": null }),
            7 => {
                json!({ "name": name, "volumeMounts": [{"mountPath": "/etc/config", "readOnly": true}, {"name": "x", "mountPath": "/x"}] })
            }
            _ => json!({ "name": name, "resources": {"limits": {"cpu": 1, "memory": "1Gi"}} }),
        };
        let mut list = vec![container];
        if random.chance(8) {
            list.push(json!({ "$patch": "replace" }));
        }
        let mut spec = json!({ "containers": list });
        if random.chance(25) {
            spec["volumes"] =
                json!([{ "name": "config", "emptyDir": {} }, { "name": "x", "emptyDir": {} }]);
        }
        return Some(json!({ "spec": { "template": { "spec": spec } } }));
    }
    match random.below(8) {
        0 => return Some(json!({ "metadata": { "labels": { "patched": "yes" } } })),
        1 => {
            return Some(
                json!({ "metadata": { "annotations": { "patched": "1", "note": null } } }),
            );
        }
        2 if object.kind() == "Service" => {
            return Some(
                json!({ "spec": { "ports": [{ "port": 80, "name": "web" }, { "port": 443 }] } }),
            );
        }
        3 if random.chance(15) => return Some(json!({ "$patch": "delete" })),
        _ => {}
    }
    let all = paths(&object.value);
    let fitting = |path: &&Vec<String>| {
        !matches!(path.first().map(String::as_str), Some("apiVersion" | "kind" | "metadata"))
            && path.iter().all(|part| part.parse::<usize>().is_err())
    };
    let chosen: Vec<&Vec<String>> = all.iter().filter(fitting).collect();
    let path = random.pick(&chosen)?;
    let old = object.value.pointer(&pointer(path))?;
    let new = match (old, random.below(10)) {
        (_, 0) => Value::Null,
        (Value::Object(_), 1) => json!({ "$patch": "replace", "only": "this" }),
        (Value::Object(_), 2) => json!({ "$patch": "delete" }),
        (Value::Object(_), 3) => json!({}),
        (Value::Object(_), _) => json!({ "added": some_value(random) }),
        (Value::Array(_), 1) => json!([]),
        (Value::Array(items), 2) => json!(items.get(..1)),
        (Value::Array(_), _) => json!([some_value(random)]),
        _ => some_value(random),
    };
    Some(path.iter().rev().fold(new, |inner, key| json!({ key: inner })))
}

fn combine(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                combine(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Adds a JSON patch for an object, in one of its forms.
pub(crate) fn json6902(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let (layer, object) = world.pair(random)?;
    let mut operations = Vec::new();
    for _ in 0..=random.below(3) {
        operations.push(operation(object, random)?);
    }
    let operations = Value::Array(operations);
    let text = if random.chance(50) {
        serde_json::to_string_pretty(&operations).ok()?
    } else {
        sluice_yaml::from_json(&operations)
    };
    if random.chance(20) {
        let mut entry = json!({ "target": reference(object) });
        let name = layer.add_file(request, "sluice-operations", text.clone());
        if random.chance(50) {
            entry["path"] = json!(name);
        } else {
            entry["patch"] = json!(text);
        }
        return layer.append(request, "patchesJson6902", entry);
    }
    add(request, layer, object, random, text, 100)
}

fn operation(object: &Object, random: &mut Random) -> Option<Value> {
    let all = paths(&object.value);
    let inside: Vec<_> = all
        .iter()
        .filter(|path| !matches!(path.first().map(String::as_str), Some("apiVersion" | "kind")))
        .filter(|path| {
            path.as_slice() != ["metadata".to_owned(), "name".to_owned()] && path.len() > 1
        })
        .collect();
    let path = random.pick(&inside)?;
    let place = pointer(path);
    let value = object.value.pointer(&place)?;
    let maps: Vec<String> = all
        .iter()
        .map(|p| pointer(p))
        .filter(|p| object.value.pointer(p).is_some_and(Value::is_object))
        .collect();
    let map = random.pick(&maps)?;
    let lists: Vec<String> = all
        .iter()
        .map(|p| pointer(p))
        .filter(|p| object.value.pointer(p).is_some_and(Value::is_array))
        .collect();
    Some(match random.below(10) {
        0 | 1 => json!({ "op": "replace", "path": place, "value": some_value(random) }),
        2 | 3 => {
            json!({ "op": "add", "path": format!("{map}/added"), "value": some_value(random) })
        }
        4 => match random.pick(&lists) {
            Some(list) => {
                json!({ "op": "add", "path": format!("{list}/{}", random.word(&["-", "0"])), "value": some_value(random) })
            }
            None => json!({ "op": "add", "path": "/metadata/labels", "value": {"a": "b"} }),
        },
        5 => json!({ "op": "remove", "path": place }),
        6 => json!({ "op": "test", "path": place, "value": value }),
        7 => json!({ "op": "copy", "from": place, "path": format!("{map}/copied") }),
        8 if random.chance(50) => json!({ "op": "move", "from": place, "path": "/metadata/moved" }),
        9 if random.chance(25) => json!({ "op": "replace", "path": "/spec/not/there", "value": 1 }),
        _ => json!({ "op": "replace", "path": "/metadata/name", "value": object.name() }),
    })
}

/// Adds an entry to `patches`, so many of a hundred with a target.
fn add(
    request: &mut Request,
    layer: &Layer,
    object: &Object,
    random: &mut Random,
    text: String,
    targeted: usize,
) -> Option<()> {
    let mut entry = Map::new();
    if random.chance(50) {
        entry.insert("patch".to_owned(), json!(text));
    } else {
        let name = layer.add_file(request, "sluice-patch", text);
        entry.insert("path".to_owned(), json!(name));
    }
    if random.chance(targeted) {
        entry.insert("target".to_owned(), target(object, random));
    }
    if random.chance(5) {
        entry.insert(
            "options".to_owned(),
            json!({ "allowNameChange": true, "allowKindChange": true }),
        );
    }
    layer.append(request, "patches", Value::Object(entry))
}

fn reference(object: &Object) -> Value {
    let version = object.text("/apiVersion");
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let mut target = json!({ "version": version, "kind": object.kind(), "name": object.name() });
    if !group.is_empty() {
        target["group"] = json!(group);
    }
    if let Some(namespace) = object.value.pointer("/metadata/namespace") {
        target["namespace"] = namespace.clone();
    }
    target
}

fn target(object: &Object, random: &mut Random) -> Value {
    match random.below(7) {
        0 => json!({ "kind": object.kind() }),
        1 => json!({ "kind": object.kind(), "name": ".*" }),
        2 => json!({ "name": object.name() }),
        3 => match object
            .value
            .pointer("/metadata/labels")
            .and_then(Value::as_object)
            .and_then(|l| l.iter().next())
        {
            Some((key, value)) => {
                json!({ "labelSelector": format!("{key}={}", value.as_str().unwrap_or_default()) })
            }
            None => json!({ "kind": object.kind(), "labelSelector": "!nothing" }),
        },
        4 => json!({ "kind": object.kind(), "annotationSelector": "!nothing" }),
        _ => reference(object),
    }
}

/// Changes what a patch that is there is meant for.
pub(crate) fn retarget(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let fitting = |field: &str| {
        world
            .layers
            .iter()
            .filter(|layer| {
                layer.fields.get(field).and_then(Value::as_array).is_some_and(|l| !l.is_empty())
            })
            .collect::<Vec<_>>()
    };
    let field = random.word(&["patches", "patches", "patchesJson6902"]);
    let layers = fitting(field);
    let layer = random.pick(&layers)?;
    let objects: Vec<&Object> =
        layer.objects.iter().filter_map(|index| world.objects.get(*index)).collect();
    let object = random.pick(&objects)?;
    let new = target(object, random);
    layer.change(request, |fields| {
        let list = fields.get_mut(field).and_then(Value::as_array_mut);
        if let Some(entry) = list.and_then(|list| {
            let place = random.below(list.len());
            list.get_mut(place)
        }) {
            if random.chance(20) {
                entry.as_object_mut().map(|entry| entry.remove("target"));
            } else if let Some(entry) = entry.as_object_mut() {
                entry.insert("target".to_owned(), new);
            }
        }
    })
}
