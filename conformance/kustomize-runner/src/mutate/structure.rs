//! Mutations of how a tree is put together.

use serde_json::{Value, json};

use crate::case::{Request, absolute};
use crate::mutate::pool;
use crate::mutate::random::Random;
use crate::mutate::world::{World, append, read};

/// Puts resources into another order.
pub(crate) fn reorder(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let layers = world.layers.iter();
    let several = |list: &Value| list.as_array().is_some_and(|list| list.len() > 1);
    let layers: Vec<_> =
        layers.filter(|layer| layer.fields.get("resources").is_some_and(several)).collect();
    random.pick(&layers)?.change(request, |fields| {
        if let Some(Value::Array(list)) = fields.get_mut("resources") {
            random.shuffle(list);
        }
    })
}

/// Moves everything one directory down, so that there is room beside it.
fn nest(request: &mut Request, below: &str) -> String {
    let moved = |path: &String| format!("/{below}{path}");
    request.files = request.files.iter().map(|(path, text)| (moved(path), text.clone())).collect();
    request.binary =
        request.binary.iter().map(|(path, text)| (moved(path), text.clone())).collect();
    absolute(&format!("/{below}"), request.absolute_root().trim_start_matches('/'))
}

fn new_root(request: &mut Request, directory: &str, fields: &Value) {
    let file = format!("{directory}/kustomization.yaml");
    request.files.insert(file, sluice_yaml::from_json(fields));
    directory.clone_into(&mut request.root);
}

fn free(request: &Request, stem: &str) -> String {
    let taken = |name: &str| {
        let start = format!("/{name}/");
        request.files.keys().any(|path| path.starts_with(&start))
    };
    let mut number = 1;
    while taken(&format!("{stem}{number}")) {
        number += 1;
    }
    format!("{stem}{number}")
}

/// A new root above the old one.
#[expect(clippy::unnecessary_wraps, reason = "all mutations have one signature")]
pub(crate) fn overlay(request: &mut Request, _: &World, random: &mut Random) -> Option<()> {
    let below = free(request, "below");
    let old = nest(request, &below);
    let top = free(request, "overlay");
    let mut fields = json!({ "resources": [format!("..{old}")] });
    if random.chance(60) {
        fields["namePrefix"] = json!(random.word(&["o-", "over-", ""]));
    }
    if random.chance(40) {
        fields["namespace"] = json!("over");
    }
    if random.chance(30) {
        fields["labels"] =
            json!([{ "pairs": {"layer": "over"}, "includeSelectors": random.chance(50) }]);
    }
    new_root(request, &format!("/{top}"), &fields);
    Some(())
}

/// The old root twice, under two names.
#[expect(clippy::unnecessary_wraps, reason = "all mutations have one signature")]
pub(crate) fn duplicate(request: &mut Request, _: &World, random: &mut Random) -> Option<()> {
    let below = free(request, "below");
    let old = nest(request, &below);
    let top = free(request, "pair");
    let by = random.word(&["namePrefix", "nameSuffix", "namespace"]);
    for side in ["left", "right"] {
        let value = match by {
            "namePrefix" => format!("{side}-"),
            "nameSuffix" => format!("-{side}"),
            _ => side.to_owned(),
        };
        let text =
            sluice_yaml::from_json(&json!({ "resources": [format!("../..{old}")], by: value }));
        request.files.insert(format!("/{top}/{side}/kustomization.yaml"), text);
    }
    let mut order = ["left", "right"];
    random.shuffle(&mut order);
    new_root(request, &format!("/{top}"), &json!({ "resources": order }));
    Some(())
}

/// A component beside a layer.
pub(crate) fn component(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let (layer, object) = world.pair(random)?;
    let mut fields =
        json!({ "apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component" });
    let beside = absolute(&layer.directory, "sluice-component-");
    let name = format!(
        "sluice-component-{}",
        request.files.keys().filter(|path| path.starts_with(&beside)).count()
    );
    match random.below(6) {
        0 => fields["namePrefix"] = json!("c-"),
        1 => fields["labels"] = json!([{ "pairs": {"component": "on"}, "includeTemplates": true }]),
        2 => {
            fields["configMapGenerator"] =
                json!([{ "name": "from-component", "literals": ["a=b"] }]);
        }
        3 => {
            let (_, text) = *random.pick(&pool::OBJECTS)?;
            request.files.insert(
                absolute(&layer.directory, &format!("{name}/object.yaml")),
                text.to_owned(),
            );
            fields["resources"] = json!(["object.yaml"]);
        }
        4 => {
            fields["patches"] = json!([{
                "target": { "kind": object.kind() },
                "patch": "- op: add\n  path: /metadata/annotations\n  value:\n    component: \"on\"\n",
            }]);
        }
        _ => {
            fields["replacements"] = json!([{
                "source": { "kind": object.kind(), "name": object.name() },
                "targets": [{ "select": { "kind": object.kind() },
                    "fieldPaths": ["metadata.annotations.source"], "options": { "create": true } }],
            }]);
        }
    }
    let file = absolute(&layer.directory, &format!("{name}/kustomization.yaml"));
    request.files.insert(file, sluice_yaml::from_json(&fields));
    layer.append(request, "components", json!(name))
}

/// An object of our own.
pub(crate) fn new_object(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let layer = world.layer(random)?;
    let (_, text) = *random.pick(&pool::OBJECTS)?;
    let name = layer.add_file(request, "sluice-object", text.to_owned());
    layer.change(request, |fields| append(fields, "resources", json!(name)))
}

/// Takes a file away.
pub(crate) fn drop_file(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let object = random.pick(&world.objects)?;
    let file = object.file.clone();
    request.files.remove(&file);
    if random.chance(70) {
        // And its mention, so that the rest still builds.
        for layer in &world.layers {
            let fits = |entry: &Value| {
                absolute(&layer.directory, entry.as_str().unwrap_or_default()) == file
            };
            let list = layer.fields.get("resources").and_then(Value::as_array);
            if list.is_some_and(|list| list.iter().any(fits)) {
                layer.change(request, |fields| {
                    if let Some(Value::Array(list)) = fields.get_mut("resources") {
                        list.retain(|entry| !fits(entry));
                    }
                })?;
            }
        }
    }
    Some(())
}

/// Writes a file of resources in another way: as JSON, as a list, with other line ends.
pub(crate) fn reformat(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let file = random.pick(&world.objects)?.file.clone();
    let text = request.files.get(&file)?;
    let documents = read(text);
    let changed = match random.below(5) {
        0 => text.replace('\n', "\r\n"),
        // Two of these make go-yaml lose the first character of every line.
        1 => format!("\u{feff}{}", text.trim_start_matches('\u{feff}')),
        2 => serde_json::to_string_pretty(documents.first().filter(|_| documents.len() == 1)?)
            .ok()?,
        3 => sluice_yaml::from_json(
            &json!({ "apiVersion": "v1", "kind": "List", "items": documents }),
        ),
        _ => format!("# a comment\n---\n{text}\n---\n# nothing here\n---\n"),
    };
    request.files.insert(file, changed);
    Some(())
}
