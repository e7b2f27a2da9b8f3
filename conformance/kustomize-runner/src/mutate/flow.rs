//! Mutations that carry values from one object to another: replacements and vars.

use serde_json::{Value, json};

use crate::case::Request;
use crate::mutate::random::Random;
use crate::mutate::world::{Object, World, paths, pointer, read};

/// A path in the words of replacements: dots, and list elements by place or by name.
fn dotted(value: &Value, path: &[String], random: &mut Random) -> String {
    let mut parts = Vec::new();
    for (depth, part) in path.iter().enumerate() {
        let inside = value.pointer(&pointer(path.get(..depth).unwrap_or_default()));
        let element =
            inside.and_then(Value::as_array).and_then(|list| list.get(part.parse::<usize>().ok()?));
        parts.push(match element {
            Some(element) => match element.get("name").and_then(Value::as_str) {
                Some(name) if random.chance(60) => format!("[name={name}]"),
                _ if random.chance(30) => "*".to_owned(),
                _ => part.clone(),
            },
            None if part.contains('.') => format!("[{part}]"),
            None => part.clone(),
        });
    }
    parts.join(".")
}

/// The paths of an object's scalars.
fn scalars(object: &Object) -> Vec<Vec<String>> {
    let leaf = |path: &Vec<String>| {
        object
            .value
            .pointer(&pointer(path))
            .is_some_and(|value| !value.is_object() && !value.is_array())
    };
    paths(&object.value).into_iter().filter(leaf).collect()
}

/// Adds a replacement between two objects.
pub(crate) fn replacement(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let (layer, target) = world.pair(random)?;
    let sources: Vec<&Object> =
        layer.objects.iter().filter_map(|index| world.objects.get(*index)).collect();
    let source = random.pick(&sources)?;
    let mut from = json!({ "kind": source.kind(), "name": source.name() });
    let inside = scalars(source);
    let path = random.pick(&inside)?;
    if random.chance(85) {
        let anywhere = if random.chance(90) {
            path.clone()
        } else {
            random.pick(&paths(&source.value))?.clone()
        };
        from["fieldPath"] = json!(dotted(&source.value, &anywhere, random).replace('*', "0"));
    }
    if random.chance(15) {
        from["options"] =
            json!({ "delimiter": random.word(&[":", "/", "-", "."]), "index": random.below(2) });
    }
    let mut select = json!({ "kind": target.kind() });
    if random.chance(60) {
        select["name"] = json!(target.name());
    }
    let inside: Vec<_> = scalars(target)
        .into_iter()
        .filter(|path| !matches!(path.first().map(String::as_str), Some("apiVersion" | "kind")))
        .filter(|path| {
            path.as_slice() != ["metadata".to_owned(), "name".to_owned()] || random.chance(5)
        })
        .collect();
    let to = dotted(&target.value, random.pick(&inside)?, random);
    let mut goal = json!({ "select": select, "fieldPaths": [to] });
    match random.below(10) {
        0 | 1 => {
            let new = random.word(&[
                "metadata.annotations.copied",
                "spec.new.deep.field",
                "metadata.labels.copied",
            ]);
            goal["fieldPaths"] = json!([new]);
            goal["options"] = json!({ "create": true });
        }
        2 => {
            goal["options"] = json!({ "delimiter": random.word(&[":", "/", "-", "."]), "index": random.below(4) });
            if random.chance(20) {
                goal["options"]["index"] = json!(-1);
            }
        }
        3 => goal["reject"] = json!([{ "name": random.word(&["added", "nobody", ".*a.*"]) }]),
        // A select by kind alone may meet objects without the field.
        _ => goal["options"] = json!({ "create": random.chance(50) }),
    }
    let entry = json!({ "source": from, "targets": [goal] });
    if random.chance(25) {
        let text = if random.chance(50) { entry } else { json!([entry]) };
        let name = layer.add_file(request, "sluice-replacement", sluice_yaml::from_json(&text));
        return layer.append(request, "replacements", json!({ "path": name }));
    }
    layer.append(request, "replacements", entry)
}

/// Adds a var for an object, and uses it in a container of another.
pub(crate) fn var(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let (layer, source) = world.pair(random)?;
    let name = random.word(&["SOURCE_NAME", "THE_VAR", "OTHER"]);
    let mut entry = json!({
        "name": name,
        "objref": { "apiVersion": source.value.get("apiVersion")?, "kind": source.kind(), "name": source.name() },
    });
    if random.chance(50) {
        let inside = scalars(source);
        let path = random.pick(&inside)?;
        entry["fieldref"] = json!({ "fieldpath": path.join(".") });
    }
    let users: Vec<&Object> =
        layer.objects.iter().filter_map(|index| world.objects.get(*index)).collect();
    let with_container: Vec<_> = users
        .iter()
        .filter(|user| user.value.pointer("/spec/template/spec/containers/0").is_some())
        .collect();
    if let Some(user) = random.pick(&with_container) {
        let text = request.files.get(&user.file)?;
        let mut documents = read(text);
        let used = match random.below(4) {
            0 => format!("$({name})"),
            1 => format!("--at=$({name}):$(UNKNOWN)"),
            2 => format!("$$({name}) $({name})"),
            _ => format!("http://$({name}).$({name})/"),
        };
        let place = documents.iter_mut().find(|document| **document == user.value)?;
        let container = place.pointer_mut("/spec/template/spec/containers/0")?.as_object_mut()?;
        container.insert("args".to_owned(), json!([used]));
        let texts: Vec<String> = documents.iter().map(sluice_yaml::from_json).collect();
        request.files.insert(user.file.clone(), texts.join("---\n"));
    }
    layer.append(request, "vars", entry)
}
