//! Stories that the real fluxcd/pkg/ssa played on a real API server, played by us on the embedded
//! one: the same change sets, the same errors, the same objects with the same managed fields.

use std::fs::File;
use std::io::{BufRead as _, BufReader};

use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};
use sluice_api::shared::kustomize::{IgnoreRule, Selector};
use sluice_ssa::{ApplyOptions, DeleteOptions, IgnoreRules, ObjectKey, Owner};

use crate::ground::{Ground, owned};

fn list(value: &Value) -> Option<Vec<Value>> {
    value.as_array().cloned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect()
}

fn options(step: &Value) -> ApplyOptions {
    let mut options = ApplyOptions::kustomize(&Owner::kustomize(), &texts(&step["override"]));
    options.force = step["force"] == json!(true);
    let rules: Vec<IgnoreRule> = step["ignore"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|rule| IgnoreRule {
            paths: texts(&rule["paths"]),
            target: Some(Selector {
                kind: rule["kind"].as_str().map(str::to_owned),
                ..Selector::default()
            }),
            ..IgnoreRule::default()
        })
        .collect();
    options.ignore = IgnoreRules::compile(&rules).unwrap();
    options
}

/// What a step comes to.
async fn play(ground: &Ground, step: &Value) -> Value {
    if let Some(objects) = list(&step["apply"]) {
        let objects = owned(objects);
        let normal: Vec<&Value> = objects.iter().map(|desired| &desired.object).collect();
        assert_eq!(json!(normal), step["normal"], "normalised");
        return match ground.applier.apply(objects, &options(step)).await {
            Ok(changes) => json!({"changes": changes.to_string()}),
            Err(error) => json!({
                "changes": error.changes.to_string(),
                // Flux reports the first failure only.
                "error": error.failures.first().unwrap().to_string(),
            }),
        };
    }
    if let Some(objects) = list(&step["diff"]) {
        let planned = ground.applier.plan(owned(objects), &options(step)).await;
        let mut lines: Vec<String> = planned
            .into_iter()
            .map(|planned| match planned {
                Ok(planned) => planned.change.to_string(),
                Err(failure) => failure.to_string(),
            })
            .collect();
        lines.sort();
        return json!({"diff": lines});
    }
    if let Some(objects) = list(&step["delete"]) {
        let keys = objects.iter().map(ObjectKey::of).collect();
        let pruning = DeleteOptions::kustomize(&Owner::kustomize(), "apps", "flux-system");
        return match ground.applier.delete(keys, &pruning).await {
            Ok(changes) => json!({"changes": changes.to_string()}),
            Err(error) => {
                json!({"changes": error.changes.to_string(), "error": error.to_string()})
            }
        };
    }
    let send = &step["send"];
    let text = |field: &str| send[field].as_str().unwrap_or_default();
    json!({"code": ground.code(text("method"), text("path"), text("type"), &send["body"]).await})
}

/// Flux forgets, when it has deleted an object to make it anew, that there is nothing left whose
/// managers could be cleaned up. We do not; what follows in such a story cannot be compared.
fn is_defect(result: &Value) -> bool {
    let error = result["error"].as_str().unwrap_or_default();
    error.contains("metadata.managedFields cleanup failed") && error.ends_with("not found")
        // Nor does it look whether an ignored field is there before it puts a value in its place.
        || error.starts_with("replace operation does not apply")
}

/// The same with all uids alike.
fn anonymous(value: &Value) -> Value {
    let uid = regex::Regex::new("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap();
    serde_json::from_str(&uid.replace_all(&value.to_string(), "UID")).unwrap()
}

/// An object without what differs from run to run.
fn plain(mut object: Value) -> Value {
    let remove = |fields: Option<&mut Map<String, Value>>, names: &[&str]| {
        if let Some(fields) = fields {
            for name in names {
                fields.remove(*name);
            }
        }
    };
    let run = ["uid", "resourceVersion", "creationTimestamp", "selfLink"];
    remove(object["metadata"].as_object_mut(), &run);
    for entry in object
        .pointer_mut("/metadata/managedFields")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        remove(entry.as_object_mut(), &["time"]);
    }
    // Their order is that of their times, which is not part of the story.
    if let Some(Value::Array(entries)) = object.pointer_mut("/metadata/managedFields") {
        entries.sort_by_key(|entry| {
            ["manager", "operation", "subresource"].map(|field| entry[field].to_string())
        });
    }
    remove(object.as_object_mut(), &["status"]);
    let given = ["clusterIP", "clusterIPs", "healthCheckNodePort"];
    remove(object.get_mut("spec").and_then(Value::as_object_mut), &given);
    object
}

async fn differences(ground: &Ground, story: &Value) -> (usize, Vec<String>) {
    let name = story["namespace"].as_str().unwrap_or_default();
    let mut out = Vec::new();
    let mut steps = 0;
    for (number, step) in story["steps"].as_array().into_iter().flatten().enumerate() {
        steps += 1;
        if is_defect(&step["result"]) {
            break;
        }
        let (have, want) = (anonymous(&play(ground, step).await), anonymous(&step["result"]));
        // With an error we also list what was done in the stage that failed.
        let same =
            if want["error"].is_string() { have["error"] == want["error"] } else { have == want };
        if !same {
            out.push(format!("{name} step {number}: want {want}\n  have {have}"));
        }
        // Where something is refused Flux has cleaned up objects that come before it. We have not.
        if want["error"].is_string() {
            break;
        }
        let mut objects = Map::new();
        for path in texts(&story["watched"]) {
            if let Some(object) = ground.get(&path).await {
                objects.insert(path, plain(object));
            }
        }
        let recorded = step["objects"].as_object().into_iter().flatten();
        let want = recorded.map(|(path, object)| (path.clone(), plain(object.clone()))).collect();
        let (have, want) = (anonymous(&Value::Object(objects)), anonymous(&Value::Object(want)));
        let found = sluice_ssa::differences(&want, &have);
        if !found.is_empty() {
            out.push(format!("{name} step {number}:\n{}", sluice_ssa::render(&found)));
        }
        if !out.is_empty() {
            break;
        }
    }
    (steps, out)
}

async fn play_all(ground: &Ground) {
    let recording = std::env::var("SSA_RECORDING").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/flux-ssa-0.76.2.jsonl.gz").to_owned()
    });
    let file = File::open(&recording).expect("the recording is there");
    let (mut stories, mut steps, mut wrong) = (0, 0, Vec::new());
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let story: Value = serde_json::from_str(&line.unwrap()).expect("a story is JSON");
        // Each story has a namespace of its own.
        let (played, found) = differences(ground, &story).await;
        stories += 1;
        steps += played;
        wrong.extend(found);
    }
    let shown = wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    let count = wrong.len();
    assert!(count == 0, "{count} of {stories} stories differ ({steps} steps):\n{shown}");
    assert!(steps > 500, "only {steps} steps");
}

#[tokio::test(start_paused = true)]
async fn every_story_comes_to_what_flux_makes_of_it() {
    play_all(&Ground::still()).await;
}

/// The same on a real server, fresh from `conformance/peers/up`, if there is one.
#[tokio::test]
async fn every_story_comes_to_the_same_on_a_real_server() {
    if let Ok(kubeconfig) = std::env::var("SSA_KUBECONFIG") {
        play_all(&Ground::real(&kubeconfig).await).await;
    }
}
