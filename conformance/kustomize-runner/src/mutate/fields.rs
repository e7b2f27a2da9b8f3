//! Mutations of the plain fields of a kustomization.

use serde_json::{Value, json};

use crate::case::Request;
use crate::mutate::random::Random;
use crate::mutate::world::{World, append};

const PREFIXES: [&str; 8] =
    ["a-", "pre-", "x", "team-", "0-", "b.", "", "very-long-prefix-for-a-name-"];
const SUFFIXES: [&str; 6] = ["-a", "-v2", "x", "-suffix", ".b", ""];
const NAMESPACES: [&str; 6] = ["apps", "default", "kube-system", "team-a", "n1", ""];
const LABELS: [(&str, &str); 8] = [
    ("app", "web"),
    ("team", "a"),
    ("app.kubernetes.io/name", "it"),
    ("version", "1"),
    ("enabled", "true"),
    ("empty", ""),
    ("note", "yes"),
    ("tier", "back end"),
];

/// Sets or takes away a prefix.
pub(crate) fn prefix(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    set_or_remove(request, world, random, "namePrefix", &PREFIXES)
}

/// Sets or takes away a suffix.
pub(crate) fn suffix(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    set_or_remove(request, world, random, "nameSuffix", &SUFFIXES)
}

/// Sets or takes away a namespace.
pub(crate) fn namespace(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    set_or_remove(request, world, random, "namespace", &NAMESPACES)
}

fn set_or_remove(
    request: &mut Request,
    world: &World,
    random: &mut Random,
    field: &str,
    values: &[&'static str],
) -> Option<()> {
    let layer = world.layer(random)?;
    let value = random.word(values);
    let remove = random.chance(20);
    layer.change(request, |fields| {
        if !remove || fields.remove(field).is_none() {
            fields.insert(field.to_owned(), json!(value));
        }
    })
}

/// Adds labels in one of their three forms.
pub(crate) fn labels(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let layer = world.layer(random)?;
    let (key, value) = *random.pick(&LABELS)?;
    let pairs = json!({ key: value });
    if random.chance(25) {
        return layer.change(request, |fields| merge(fields, "commonLabels", key, value));
    }
    let mut entry = json!({ "pairs": pairs });
    if random.chance(40) {
        entry["includeSelectors"] = json!(random.chance(80));
    }
    if random.chance(40) {
        entry["includeTemplates"] = json!(random.chance(80));
    }
    if random.chance(15) {
        entry["fields"] = json!([{"path": "spec/extra/labels", "create": random.chance(60), "kind": "Deployment"}]);
    }
    layer.append(request, "labels", entry)
}

fn merge(fields: &mut serde_json::Map<String, Value>, field: &str, key: &str, value: &str) {
    let map = fields.entry(field).or_insert_with(|| json!({}));
    if let Some(map) = map.as_object_mut() {
        map.insert(key.to_owned(), json!(value));
    }
}

/// Adds an annotation for everything.
pub(crate) fn annotations(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let layer = world.layer(random)?;
    let (key, value) = *random.pick(&LABELS)?;
    let long = "a note that is long enough to be broken into lines by an emitter, and then some words more";
    let value = if random.chance(15) { long } else { value };
    layer.change(request, |fields| merge(fields, "commonAnnotations", key, value))
}

/// Renames an image that is there, or one that is not.
pub(crate) fn images(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let used: Vec<&str> = request
        .files
        .values()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix("image: "))
        .collect();
    let used = random.pick(&used).copied().unwrap_or("nginx").trim_matches(['"', '\'']);
    let end = used.find(['@', ':']).unwrap_or(used.len());
    let name =
        if random.chance(80) { &used[..end] } else { random.word(&["nginx", "ngin.", "redis"]) };
    let mut entry = json!({ "name": name });
    if random.chance(60) {
        entry["newTag"] = json!(random.word(&["v2", "1.0", "latest", "08", "1e3"]));
    }
    if random.chance(40) {
        entry["newName"] = json!(random.word(&["reg.example.com:5000/team/app", "other", "a/b"]));
    }
    if random.chance(15) {
        entry["digest"] =
            json!("sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3");
    }
    if random.chance(10) {
        entry["tagSuffix"] = json!("-slim");
    }
    world.layer(random)?.append(request, "images", entry)
}

/// Scales something that can be scaled; sometimes what cannot.
pub(crate) fn replicas(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let scalable = ["Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"];
    let (layer, object) = world.pair_where(random, |object| scalable.contains(&object.kind()))?;
    let name = if random.chance(95) { object.name() } else { "nobody" };
    layer.append(request, "replicas", json!({ "name": name, "count": random.below(12) }))
}

/// Chooses an order of the output.
pub(crate) fn sort_options(
    request: &mut Request,
    world: &World,
    random: &mut Random,
) -> Option<()> {
    let mut options = json!({ "order": if random.chance(30) { "fifo" } else { "legacy" } });
    if options["order"] == "legacy" && random.chance(60) {
        let mut kinds = ["Service", "Deployment", "ConfigMap", "Namespace", "Secret", "MyKind"];
        random.shuffle(&mut kinds);
        options["legacySortOptions"] =
            json!({ "orderFirst": kinds.get(..2)?, "orderLast": kinds.get(3..5)? });
    }
    world.layers.first()?.change(request, |fields| {
        fields.insert("sortOptions".to_owned(), options);
    })
}

/// Asks for annotations or labels about the build.
pub(crate) fn build_metadata(
    request: &mut Request,
    world: &World,
    random: &mut Random,
) -> Option<()> {
    let all = ["originAnnotations", "transformerAnnotations", "managedByLabel"];
    let chosen: Vec<_> = all.into_iter().filter(|_| random.chance(50)).collect();
    let layer = if random.chance(70) { world.layers.first()? } else { world.layer(random)? };
    layer.change(request, |fields| {
        fields.insert("buildMetadata".to_owned(), json!(chosen));
    })
}

/// Takes a field away.
pub(crate) fn remove_field(
    request: &mut Request,
    world: &World,
    random: &mut Random,
) -> Option<()> {
    let layer = world.layer(random)?;
    let keys: Vec<String> =
        layer.fields.keys().filter(|key| *key != "resources").cloned().collect();
    let key = random.pick(&keys)?;
    layer.change(request, |fields| drop(fields.remove(key)))
}

/// Adds field specifications of one's own.
pub(crate) fn configurations(
    request: &mut Request,
    world: &World,
    random: &mut Random,
) -> Option<()> {
    let layer = world.layer(random)?;
    let object = layer.objects.first().and_then(|index| world.objects.get(*index))?;
    let kind = object.kind();
    let config = match random.below(7) {
        0 => json!({"commonLabels": [{"path": "spec/more/labels", "create": true, "kind": kind}]}),
        1 => json!({"commonAnnotations": [{"path": "spec/notes", "create": true, "kind": kind}]}),
        2 => json!({"namePrefix": [{"path": "metadata/name", "kind": kind}]}),
        3 => json!({"nameReference": [{"kind": "ConfigMap", "version": "v1", "fieldSpecs":
            [{"path": "spec/configName", "kind": kind}, {"path": "metadata/annotations/config"}]}]}),
        4 => json!({"images": [{"path": "spec/image", "kind": kind}]}),
        5 => json!({"replicas": [{"path": "spec/size", "create": true, "kind": kind}]}),
        _ => json!({"varReference": [{"path": "metadata/annotations", "kind": kind}]}),
    };
    let name = layer.add_file(request, "sluice-configuration", sluice_yaml::from_json(&config));
    layer.append(request, "configurations", json!(name))
}

/// Adds a builtin transformer by its configuration.
pub(crate) fn transformer(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let (layer, object) = world.pair(random)?;
    let (kind, name) = (object.kind(), object.name());
    let spec = match random.below(9) {
        0 => {
            json!({"kind": "PrefixTransformer", "prefix": "t-", "fieldSpecs": [{"path": "metadata/name"}]})
        }
        1 => json!({"kind": "SuffixTransformer", "suffix": "-t",
            "fieldSpecs": [{"kind": kind, "path": "metadata/name"}]}),
        2 => json!({"kind": "LabelTransformer", "labels": {"by": "transformer"},
            "fieldSpecs": [{"path": "metadata/labels", "create": true}]}),
        3 => json!({"kind": "AnnotationsTransformer", "annotations": {"by": "transformer"},
            "fieldSpecs": [{"path": "metadata/annotations", "create": true}]}),
        4 => {
            json!({"kind": "NamespaceTransformer", "metadata": {"name": "n", "namespace": "by-transformer"},
            "unsetOnly": random.chance(50),
            "setRoleBindingSubjects": random.word(&["allServiceAccounts", "defaultOnly", "none"]),
            "fieldSpecs": [{"path": "metadata/namespace", "create": true}]})
        }
        5 => json!({"kind": "ImageTagTransformer", "imageTag": {"name": "nginx", "newTag": "t"},
            "fieldSpecs": [{"path": "spec/template/spec/containers[]/image"}]}),
        6 => json!({"kind": "PatchTransformer", "target": {"kind": kind, "name": name},
            "patch": "[{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {\"patched\": \"yes\"}}]"}),
        7 => {
            json!({"kind": "ConfigMapGenerator", "metadata": {"name": "made"}, "literals": ["a=b"]})
        }
        _ => json!({"kind": "ReplicaCountTransformer", "replica": {"name": name, "count": 3},
            "fieldSpecs": [{"kind": kind, "path": "spec/replicas", "create": true}]}),
    };
    let mut spec = spec;
    spec["apiVersion"] = json!("builtin");
    if spec.get("metadata").is_none() {
        spec["metadata"] = json!({ "name": "it" });
    }
    let field = if spec["kind"] == "ConfigMapGenerator" { "generators" } else { "transformers" };
    let text = sluice_yaml::from_json(&spec);
    let entry =
        if random.chance(50) { text } else { layer.add_file(request, "sluice-plugin", text) };
    layer.append(request, field, json!(entry))
}

/// Says of the generators of a layer how they name and mark what they make.
pub(crate) fn generator_options(
    request: &mut Request,
    world: &World,
    random: &mut Random,
) -> Option<()> {
    let mut options = json!({});
    if random.chance(50) {
        options["disableNameSuffixHash"] = json!(random.chance(70));
    }
    if random.chance(40) {
        options["labels"] = json!({ "made": "here" });
    }
    if random.chance(40) {
        options["annotations"] = json!({ "note": "1" });
    }
    if random.chance(20) {
        options["immutable"] = json!(true);
    }
    world.layer(random)?.change(request, |fields| {
        fields.insert("generatorOptions".to_owned(), options);
    })
}

/// Makes a ConfigMap or a Secret, or changes one that a generator below made.
pub(crate) fn generator(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let field = random.word(&["configMapGenerator", "secretGenerator"]);
    let made: Vec<(String, Value)> = world
        .layers
        .iter()
        .filter_map(|layer| layer.fields.get(field)?.as_array())
        .flatten()
        .filter_map(|entry| Some((entry.get("name")?.as_str()?.to_owned(), entry.clone())))
        .collect();
    let layer = if random.chance(60) { world.layers.first()? } else { world.layer(random)? };
    let mut entry = json!({ "name": random.word(&["settings", "made", "config"]) });
    if let Some((name, like)) = random.pick(&made).filter(|_| random.chance(60)) {
        entry = json!({ "name": name, "behavior": random.word(&["merge", "replace", "merge"]) });
        if let Some(namespace) = like.get("namespace") {
            entry["namespace"] = namespace.clone();
        }
    } else if random.chance(10) {
        entry["namespace"] = json!("elsewhere");
    }
    let literals = [
        "a=b",
        "empty=",
        "quoted=\"x\"",
        "n=1",
        "url=http://a/?b=c&d=<e>",
        "multi=a\nb",
        "key.with-dots=v",
    ];
    let mut literals: Vec<&str> = literals.into_iter().filter(|_| random.chance(30)).collect();
    if literals.is_empty() {
        literals.push("only=one");
    }
    entry["literals"] = json!(literals);
    if random.chance(25) {
        let text = "# a file\nfirst=1\n second=two words\nthird=\n\nfourth=a=b\n".to_owned();
        entry["envs"] = json!([layer.add_file(request, "sluice-env", text)]);
    }
    if random.chance(25) {
        let text = random.word(&["some\ntext\n", "", "a: b\n", "tab\there \n trailing\n"]);
        let name = layer.add_file(request, "sluice-file", text.to_owned());
        entry["files"] = json!([if random.chance(50) { name } else { format!("key={name}") }]);
    }
    if random.chance(20) {
        entry["options"] =
            json!({"labels": {"local": "x"}, "disableNameSuffixHash": random.chance(50)});
    }
    if field == "secretGenerator" && random.chance(20) {
        entry["type"] = json!("kubernetes.io/basic-auth");
    }
    layer.change(request, |fields| append(fields, field, entry))
}
