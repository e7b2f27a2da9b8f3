//! Built-in kinds answer as a real kube-apiserver did: defaults, derived fields, errors, warnings.
//!
//! Each file below `kinds/<group>/<resource>/` is one case with the answer that
//! `conformance/kinds/record` got (`kinds/VERSION` names the server). A case that is known to
//! differ says so in `differs`; when it stops differing, the remark must go.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use regex::Regex;
use serde_json::{Map, Value, json};
use sluice_cluster::{Cluster, ClusterService};
use tower::ServiceExt as _;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of cases is there")
        .map(|entry| entry.expect("an entry can be read").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
}

async fn call(
    service: &ClusterService,
    method: Method,
    path: &str,
    body: &Value,
) -> (u16, Value, Vec<String>) {
    let kind =
        if method == Method::PATCH { "application/apply-patch+yaml" } else { "application/json" };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .body(Full::new(bytes::Bytes::from(body.to_string())))
        .expect("the request is well-formed");
    let answer = service.clone().oneshot(request).await.expect("the service answers");
    let code = answer.status().as_u16();
    let warnings = answer
        .headers()
        .get_all("warning")
        .iter()
        .map(|value| {
            let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
            let text = text.split_once('"').expect("a warning is quoted").1;
            text.rsplit_once('"').expect("a warning is quoted").0.replace("\\\"", "\"")
        })
        .filter(|warning| !warning.starts_with("v1 Endpoints is deprecated"))
        .collect();
    let bytes = answer.into_body().collect().await.expect("the body arrives").to_bytes();
    (code, serde_json::from_slice(&bytes).expect("answers are JSON"), warnings)
}

fn replaced(value: Value, texts: &[(String, &str)]) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(name, value)| (name, replaced(value, texts))).collect(),
        ),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| replaced(item, texts)).collect())
        }
        Value::String(text) => texts
            .iter()
            .filter(|(from, _)| !from.is_empty())
            .fold(without_chance(&text), |text, (from, to)| text.replace(from, to))
            .into(),
        other => other,
    }
}

/// Replaces every uid and every moment in a text.
fn without_chance(text: &str) -> String {
    static UID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
            .expect("it compiles")
    });
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").expect("it compiles")
    });
    static TOKEN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("kube-api-access-[a-z0-9]{5}").expect("it compiles"));
    let text = UID.replace_all(text, "<uid>");
    let text = TIME.replace_all(&text, "<time>");
    TOKEN.replace_all(&text, "kube-api-access-<random>").into_owned()
}

/// Replaces fields that differ from run to run, as the recorder does.
fn steady(case: &Value, mut body: Value, code: u16) -> Value {
    let asked = json!([case["input"]["spec"], case["old"]["spec"]]).to_string();
    let mut texts = Vec::new();
    for address in body["spec"]["clusterIPs"].as_array().into_iter().flatten() {
        let address = address.as_str().unwrap_or_default();
        if address != "None" && !asked.contains(address) {
            texts.push((address.to_owned(), "<address>"));
        }
    }
    if let Some(ports) = body.pointer_mut("/spec/ports").and_then(Value::as_array_mut) {
        for port in ports {
            if let Some(number) = port.get("nodePort").cloned()
                && !asked.contains(&format!("\"nodePort\":{number}"))
            {
                port["nodePort"] = json!(-1);
            }
        }
    }
    if body.pointer("/spec/healthCheckNodePort").is_some() && !asked.contains("healthCheckNodePort")
    {
        body["spec"]["healthCheckNodePort"] = json!(-1);
    }
    if let Some(meta) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["uid", "creationTimestamp", "resourceVersion", "managedFields"] {
            meta.remove(field);
        }
    }
    if code >= 400 {
        body = json!({
            "reason": body["reason"],
            "message": body["message"],
            "causes": body["details"]["causes"],
        });
    } else {
        forget_admission(case, &mut body);
    }
    replaced(body, &texts)
}

/// Removes fields that admission adds, not the kind.
fn forget_admission(case: &Value, body: &mut Value) {
    let asked = &case["input"]["spec"];
    let kind = body["kind"].as_str().unwrap_or_default().to_owned();
    if ["PersistentVolume", "PersistentVolumeClaim", "VolumeAttributesClass"].contains(&&*kind)
        && case["input"]["metadata"].get("finalizers").is_none()
        && let Some(meta) = body["metadata"].as_object_mut()
    {
        meta.remove("finalizers");
    }
    let Some(spec) = body.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if kind == "Node" && asked.get("taints").is_none() {
        spec.remove("taints");
    }
    if kind != "Pod" {
        return;
    }
    for field in ["tolerations", "priority", "preemptionPolicy"] {
        if asked.get(field).is_none() {
            spec.remove(field);
        }
    }
    if let (Some(asked), Some(found)) = (
        asked.get("tolerations").and_then(Value::as_array),
        spec.get_mut("tolerations").and_then(Value::as_array_mut),
    ) {
        found.retain(|toleration| {
            let key = toleration["key"].as_str().unwrap_or_default();
            !key.starts_with("node.kubernetes.io/") || asked.contains(toleration)
        });
    }
}

async fn fresh() -> ClusterService {
    let service = Cluster::builder().seed(1).build().service();
    let namespace = json!({"metadata": {"name": "kinds"}});
    call(&service, Method::POST, "/api/v1/namespaces", &namespace).await;
    let account = json!({"metadata": {"name": "default"}});
    call(&service, Method::POST, "/api/v1/namespaces/kinds/serviceaccounts", &account).await;
    service
}

async fn answer(case: &Value, service: &ClusterService) -> Value {
    let base = case["path"].as_str().expect("a case has a path");
    let name = case["input"]["metadata"]["name"].as_str().unwrap_or_default();
    let (code, body, warnings) = if let Some(old) = case.get("old") {
        let path = format!("{base}?fieldManager=t");
        let (code, mut made, _) = call(service, Method::POST, &path, old).await;
        if code != 201 {
            return json!({"old": made});
        }
        if let Some(status) = case.get("oldStatus") {
            made["status"] = status.clone();
            let path = format!("{base}/{name}/status?fieldManager=t");
            let (code, changed, _) = call(service, Method::PUT, &path, &made).await;
            if code != 200 {
                return json!({"oldStatus": changed});
            }
        }
        let below = match case.get("subresource").and_then(Value::as_str) {
            Some(subresource) => format!("/{subresource}"),
            None => String::new(),
        };
        let path = format!("{base}/{name}{below}?dryRun=All&fieldManager=t");
        call(service, Method::PUT, &path, &case["input"]).await
    } else {
        let path = format!("{base}?dryRun=All&fieldManager=t");
        call(service, Method::POST, &path, &case["input"]).await
    };
    json!({"code": code, "body": steady(case, body, code), "warnings": warnings})
}

/// Deletes what a case has created; false if it remains.
async fn clean(case: &Value, service: &ClusterService) -> bool {
    if case.get("old").is_none() {
        return true;
    }
    let name = case["input"]["metadata"]["name"].as_str().unwrap_or_default();
    let path = format!("{}/{name}", case["path"].as_str().unwrap_or_default());
    call(service, Method::DELETE, &path, &json!({"gracePeriodSeconds": 0})).await;
    call(service, Method::GET, &path, &Value::Null).await.0 == 404
}

/// The differences of two values, one line each.
fn differences(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(left), Value::Object(right)) => {
            let none = Value::Null;
            let names: Map<String, Value> =
                left.iter().chain(right).map(|(name, _)| (name.clone(), Value::Null)).collect();
            for name in names.keys() {
                let (left, right) = (left.get(name), right.get(name));
                if left.is_none() != right.is_none()
                    || left.unwrap_or(&none) != right.unwrap_or(&none)
                {
                    let path = format!("{path}.{name}");
                    differences(&path, left.unwrap_or(&none), right.unwrap_or(&none), found);
                }
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("  {path}\n    ours   {ours}\n    theirs {theirs}")),
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn built_in_kinds_answer_as_the_recorded_server_did() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kinds");
    let mut cases = Vec::new();
    files(&root, &mut cases);
    let only = option_env!("KINDS_ONLY").unwrap_or_default();
    let mut service = fresh().await;
    let mut problems = Vec::new();
    let mut passed = 0;
    for path in cases.iter().filter(|path| path.to_string_lossy().contains(only)) {
        let case: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let mut found = Vec::new();
        differences("", &answer(&case, &service).await, &case["answer"], &mut found);
        if !clean(&case, &service).await {
            service = fresh().await;
        }
        let shown = path.strip_prefix(&root).unwrap().display();
        match (found.is_empty(), case.get("differs")) {
            (true, None) => passed += 1,
            (false, Some(_)) => {}
            (true, Some(_)) => problems.push(format!("{shown}: no longer differs")),
            (false, None) => problems.push(format!("{shown}\n{}", found.join("\n"))),
        }
    }
    assert!(problems.is_empty(), "{} of {} passed\n{}", passed, cases.len(), problems.join("\n"));
    assert!(cases.len() >= 250, "only {} cases were found", cases.len());
}

/// What a case's input becomes when it is sent for real and then once more as a dry run.
async fn sent_twice(case: &Value, service: &ClusterService, apply: bool) -> (Value, Value) {
    let base = case["path"].as_str().expect("a case has a path");
    let name = case["input"]["metadata"]["name"].as_str().unwrap_or_default();
    let object = format!("{base}/{name}");
    if apply {
        let input = &case["input"];
        let path = format!("{object}?fieldManager=t&force=true");
        let (_, made, _) = call(service, Method::PATCH, &path, input).await;
        let path = format!("{path}&dryRun=All");
        let (_, again, _) = call(service, Method::PATCH, &path, input).await;
        return (made, again);
    }
    let (_, made, _) = call(service, Method::POST, base, &case["input"]).await;
    let path = format!("{object}?dryRun=All");
    let (_, again, _) = call(service, Method::PUT, &path, &made).await;
    (made, again)
}

/// Without this every reconciliation would report drift.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_object_sent_again_as_it_is_changes_nothing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kinds");
    let mut cases = Vec::new();
    files(&root, &mut cases);
    let mut problems = Vec::new();
    let mut seen = 0;
    let mut service = fresh().await;
    for path in cases {
        let mut case: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        if case["answer"]["code"] != 201 {
            continue;
        }
        case["old"] = Value::Null;
        for apply in [false, true] {
            let (made, again) = sent_twice(&case, &service, apply).await;
            // As upstream: a configuration with only a name owns nothing, and keys that were merged
            // into a selector are gone from what is applied next.
            let drifts = made["metadata"].get("managedFields").is_none()
                || case["input"].to_string().contains("matchLabelKeys");
            if made["kind"] != "Status" && !(apply && drifts) {
                seen += 1;
                let mut found = Vec::new();
                differences("", &again, &made, &mut found);
                if !found.is_empty() {
                    let way = if apply { "applied" } else { "put back" };
                    problems.push(format!("{} {way}\n{}", path.display(), found.join("\n")));
                }
            }
            if !clean(&case, &service).await {
                service = fresh().await;
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(seen > 200, "only {seen} objects were sent");
}
