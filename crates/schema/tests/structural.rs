//! What apiextensions-apiserver answers, step by step, compared with what we do.
//!
//! The goldens are recorded by `conformance/structural` (`record` there says how); each line is a
//! question and upstream's answer.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use sluice_base::go::regexp;
use sluice_base::names;
use sluice_schema::field::{FieldError, Path};
use sluice_schema::gotypes::Types;
use sluice_schema::metadata;
use sluice_schema::structural::object_meta::{self, Malformed};
use sluice_schema::structural::{
    Root, Schema, coercion, defaulting, definition, formats, invariants, listtype,
    normalize_numbers, pruning, validation,
};

fn goldens() -> Vec<(String, String)> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/structural/goldens");
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the goldens are in the repository") {
        let path = entry.expect("a directory entry").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        if name.starts_with("apiextensions-") && name.ends_with(".jsonl.gz") {
            let mut text = String::new();
            let file = std::fs::File::open(&path).expect("a readable golden");
            flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzipped text");
            out.push((name, text));
        }
    }
    out.sort();
    out
}

fn texts(errors: &[FieldError]) -> Value {
    let mut out: Vec<String> =
        errors.iter().map(|error| format!("{} {error}", error.kind.reason())).collect();
    out.sort();
    json!(out)
}

/// The order of upstream's handler: metadata aside, prune, drop nulls, coerce, metadata back.
fn decode(
    object: &Value,
    schema: &Schema,
    malformed: Malformed,
) -> Result<(Value, Vec<String>), String> {
    let mut object = object.clone();
    normalize_numbers(&mut object);
    let metadata = match object.get("metadata") {
        Some(metadata) => Some(object_meta::decode(metadata, malformed)?),
        None => None,
    };
    let mut unknown: Vec<String> = metadata
        .iter()
        .flat_map(|metadata| metadata.unknown.iter().map(|name| format!("metadata.{name}")))
        .collect();
    unknown.extend(pruning::prune(&mut object, Some(schema), Root::Resource));
    defaulting::prune_nulls(&mut object, schema);
    let paths =
        coercion::coerce(&mut object, Some(schema), Root::Value, malformed, &Path::default())
            .map_err(|error| error.to_string())?;
    unknown.extend(paths);
    unknown.sort();
    if let Some(metadata) = metadata {
        object["metadata"] = Value::Object(metadata.value);
    }
    Ok((object, unknown))
}

/// The object as it goes over the wire, where 1.0 is written 1.
fn wire(object: &Value) -> Value {
    serde_json::from_str(&sluice_base::gojson::to_string(object)).expect("our own JSON")
}

const DEFINITION: (&str, &str) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");

/// A definition as the server takes it: typed, defaulted, prepared, validated.
fn answer_definition(question: &Value) -> Value {
    let typed = |value: &Value| {
        let (version, kind) = DEFINITION;
        let decoded = Types::recorded().decode(version, kind, value.clone().into());
        let mut value = decoded.expect("a well-typed definition").value;
        definition::default(&mut value);
        value
    };
    let mut new = typed(&question["definition"]);
    let rule = |name: &str, prefix: bool| {
        if prefix {
            names::dns1123_subdomain(&names::as_prefix(name))
        } else {
            names::dns1123_subdomain(name)
        }
    };
    let mut errors = metadata::validate(&new["metadata"], false, &rule, &Path::new("metadata"));
    let mut formats = definition::unrecognized_formats(&new);
    if question["oldDefinition"].is_null() {
        definition::prepare_create(&mut new);
        errors.extend(definition::validate(&new, &definition::Unchecked));
    } else {
        let old = typed(&question["oldDefinition"]);
        new["status"] = old["status"].clone();
        definition::note_storage_version(&mut new);
        errors.clear();
        errors.extend(definition::validate_update(&new, &old, &definition::Unchecked));
        let before = definition::unrecognized_formats(&old);
        formats.retain(|format| !before.contains(format));
    }
    let warnings: Vec<String> =
        formats.iter().map(|format| format!("unrecognized format \"{format}\"")).collect();
    reduced(&json!({"defaulted": new, "invalid": texts(&errors), "unknown": warnings}))
}

/// An answer about a definition without what is not this crate's doing: the generation, the check
/// for a resource version; and without the order of warnings, which upstream leaves to chance.
fn reduced(answer: &Value) -> Value {
    let (version, kind) = DEFINITION;
    let mut object = answer["defaulted"].clone();
    object["apiVersion"] = version.into();
    object["kind"] = kind.into();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("generation");
    }
    Types::recorded().normalize(version, kind, &mut object).expect("a well-typed definition");
    let sorted = |key: &str| {
        let list = answer[key].as_array().cloned().unwrap_or_default();
        let mut out: Vec<String> =
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        out.retain(|text| !text.contains(" metadata.resourceVersion: "));
        out.sort();
        out
    };
    json!({"defaulted": object, "invalid": sorted("invalid"), "unknown": sorted("unknown")})
}

fn answer(question: &Value) -> Value {
    let mut out = Map::new();
    let text = question["text"].as_str().unwrap_or_default();
    if let Some(format) = question["format"].as_str() {
        return json!({"match": formats::is_known(format) && formats::matches(format, text)});
    }
    if let Some(expression) = question["pattern"].as_str() {
        return match regexp::compile(expression) {
            Ok(regex) => json!({"match": regex.is_match(text)}),
            Err(why) => json!({"error": why.to_string()}),
        };
    }
    let mut put = |key: &str, value: Value| {
        if !value.is_null() && value != json!([]) {
            out.insert(key.to_owned(), value);
        }
    };
    let schema = match Schema::parse(&question["schema"]) {
        Ok(schema) => schema,
        Err(why) => return json!({"error": why.to_string()}),
    };
    let root = Path::new("openAPIV3Schema");
    let structural = invariants::check(&schema, &root);
    if !structural.is_empty() {
        return json!({"structural": texts(&structural)});
    }
    put(
        "defaults",
        texts(&defaulting::validate(&schema, &question["schema"], &root, true, &|_| Vec::new())),
    );
    let object = &question["object"];
    if object.is_null() {
        return Value::Object(out);
    }
    if let Ok((dropped, _)) = decode(object, &schema, Malformed::Drop) {
        put("dropped", wire(&dropped));
    }
    match decode(object, &schema, Malformed::Refuse) {
        Err(why) => put("decodeError", why.into()),
        Ok((mut object, unknown)) => {
            put("unknown", json!(unknown));
            put("decoded", wire(&object));
            defaulting::default(&mut object, &schema);
            put("defaulted", wire(&object));
            let here = Path::default();
            let reading = validation::Reading::Served;
            put("invalid", texts(&validation::validate(&object, &schema, reading, &here)));
            put("meta", texts(&coercion::validate(&object, Some(&schema), Root::Value, &here)));
            put("lists", texts(&listtype::validate(&object, &schema, &here)));
            if !question["old"].is_null() {
                let (mut old, _) =
                    decode(&question["old"], &schema, Malformed::Drop).expect("a stored object");
                defaulting::default(&mut old, &schema);
                put("update", texts(&validation::validate_update(&object, &old, &schema, &here)));
            }
        }
    }
    Value::Object(out)
}

#[test]
fn every_step_is_upstreams() {
    let (mut asked, mut different) = (0, 0);
    let mut report = String::new();
    for (name, text) in goldens() {
        for line in text.lines() {
            asked += 1;
            let record: Value = serde_json::from_str(line).unwrap();
            let question = &record["question"];
            let (expected, actual) = if question["definition"].is_null() {
                (record["answer"].clone(), answer(question))
            } else {
                (reduced(&record["answer"]), answer_definition(question))
            };
            if expected == actual {
                continue;
            }
            different += 1;
            if different > 20 {
                continue;
            }
            let _ = writeln!(report, "{name}: {}", record["question"]);
            let keys = |value: &Value| value.as_object().cloned().unwrap_or_default();
            let mut both = keys(&expected);
            both.extend(keys(&actual));
            for key in both.keys() {
                if expected[key] != actual[key] {
                    let _ = writeln!(report, "  {key}: upstream {}", expected[key]);
                    let _ = writeln!(report, "  {key}: ours     {}", actual[key]);
                }
            }
        }
    }
    assert!(asked > 500, "only {asked} questions found");
    assert!(different == 0, "{different} of {asked} answers differ:\n{report}");
}
