//! Custom resources: definitions are established; objects are pruned, defaulted, validated,
//! selected, printed and converted.

use http::{Method, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use sluice_cluster::Cluster;
use tower::ServiceExt as _;

/// A cluster and the requests made to it.
struct Server(Cluster);

/// What came back.
struct Answer {
    code: u16,
    body: Value,
    warnings: Vec<String>,
}

impl Server {
    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        self.ask_for(method, path, body, "application/json").await
    }

    async fn ask_for(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        accept: &str,
    ) -> Answer {
        let text = body.map(|body| body.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("accept", accept)
            .header("content-type", "application/json")
            .body(http_body_util::Full::new(bytes::Bytes::from(text)))
            .expect("a well-formed request");
        let response = self.0.service().oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a whole body").to_bytes();
        let warnings = parts.headers.get_all("warning").iter();
        Answer {
            code: parts.status.as_u16(),
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
            warnings: warnings.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect(),
        }
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, None).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::POST, path, Some(body)).await
    }

    /// Waits in virtual time until `wanted` holds for what is at `path`.
    async fn until(&self, path: &str, wanted: impl Fn(&Answer) -> bool) -> Answer {
        for _ in 0..200 {
            let answer = self.get(path).await;
            if wanted(&answer) {
                return answer;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        let last = self.get(path).await.body;
        panic!("{path} never became what was wanted: {last}");
    }
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
            "versions": [
                {
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "selectableFields": [{"jsonPath": ".spec.color"}],
                    "subresources": {
                        "status": {},
                        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                    },
                    "additionalPrinterColumns": [
                        {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
                        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                    ],
                    "schema": {"openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["color"],
                                "properties": {
                                    "color": {"type": "string", "enum": ["red", "green"]},
                                    "size": {"type": "integer", "default": 3, "maximum": 10},
                                    "replicas": {"type": "integer"},
                                },
                            },
                            "status": {
                                "type": "object",
                                "default": {"phase": "New"},
                                "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}},
                            },
                        },
                    }},
                },
                {
                    "name": "v1alpha1",
                    "served": true,
                    "storage": false,
                    "deprecated": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                },
            ],
        },
    })
}

fn widget(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

fn is_established(answer: &Answer) -> bool {
    let conditions = answer.body["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|c| c["type"] == "Established" && c["status"] == "True")
}

async fn with_widgets() -> Server {
    let server = Server(Cluster::builder().seed(5).build());
    let made = server.post(DEFINITIONS, definition()).await;
    assert_eq!(made.code, 201, "{}", made.body);
    server.until(&format!("{DEFINITIONS}/widgets.example.com"), is_established).await;
    server
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_definition_is_defaulted_and_established() {
    let server = with_widgets().await;
    let found = server.get(&format!("{DEFINITIONS}/widgets.example.com")).await.body;
    assert_eq!(found["spec"]["names"]["singular"], "widget");
    assert_eq!(found["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(found["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(found["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(found["status"]["acceptedNames"], found["spec"]["names"]);
    let reasons: Vec<&Value> = found["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|condition| &condition["reason"])
        .collect();
    assert_eq!(reasons, ["NoConflicts", "InitialNamesAccepted"]);
    let list = server.get("/apis/example.com/v1").await.body;
    let names: Vec<&Value> =
        list["resources"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(names, ["widgets", "widgets/status", "widgets/scale"]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn objects_are_pruned_defaulted_and_validated() {
    let server = with_widgets().await;
    let made = server.post(WIDGETS, widget("a", &json!({"color": "red", "x": 1}))).await;
    assert_eq!(made.code, 201, "{}", made.body);
    assert_eq!(made.body["spec"], json!({"color": "red", "size": 3}));
    assert_eq!(made.body["metadata"]["generation"], 1);
    assert_eq!(made.warnings, [r#"299 - "unknown field \"spec.x\"""#]);
    let strict = format!("{WIDGETS}?fieldValidation=Strict");
    let refused = server.post(&strict, widget("b", &json!({"color": "red", "x": 1}))).await;
    assert_eq!(refused.code, 400);
    assert_eq!(
        refused.body["message"],
        r#"Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.x""#
    );
    let invalid = server.post(WIDGETS, widget("b", &json!({"color": "blue", "size": 11}))).await;
    assert_eq!(invalid.code, 422);
    assert_eq!(
        invalid.body["message"],
        r#"Widget.example.com "b" is invalid: [spec.color: Unsupported value: "blue": supported values: "red", "green", spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10]"#
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn objects_are_served_in_every_version_and_kept_in_one() {
    let server = with_widgets().await;
    server.post(WIDGETS, widget("a", &json!({"color": "red"}))).await;
    let path = "/apis/example.com/v1alpha1/namespaces/default/widgets/a";
    let other = server.get(path).await;
    assert_eq!(other.body["apiVersion"], "example.com/v1alpha1");
    assert_eq!(
        other.warnings,
        [r#"299 - "example.com/v1alpha1 Widget is deprecated; use example.com/v1 Widget""#]
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn objects_are_selected_by_fields_and_printed_in_columns() {
    let server = with_widgets().await;
    server.post(WIDGETS, widget("a", &json!({"color": "red"}))).await;
    server.post(WIDGETS, widget("b", &json!({"color": "green"}))).await;
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let path = format!("{WIDGETS}?fieldSelector=spec.color%3Dgreen");
    let answer = server.ask_for(Method::GET, &path, None, table).await.body;
    let columns: Vec<&Value> =
        answer["columnDefinitions"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(columns, ["Name", "Color", "Age"]);
    assert_eq!(answer["rows"].as_array().unwrap().len(), 1);
    assert_eq!(answer["rows"][0]["cells"], json!(["b", "green", "0s"]));
    let refused = server.get(&format!("{WIDGETS}?fieldSelector=spec.size%3D3")).await;
    assert_eq!(refused.code, 400);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_status_is_another_endpoint() {
    let server = with_widgets().await;
    let mut object = widget("a", &json!({"color": "red"}));
    object["status"] = json!({"replicas": 1});
    let made = server.post(WIDGETS, object).await.body;
    assert_eq!(made["status"], json!({"phase": "New"}));
    let mut changed = made.clone();
    changed["status"] = json!({"replicas": 2, "unknown": true});
    changed["spec"]["color"] = "green".into();
    changed["metadata"]["labels"] = json!({"a": "b"});
    let path = format!("{WIDGETS}/a/status");
    let written = server.ask(Method::PUT, &path, Some(changed)).await;
    assert_eq!(written.code, 200, "{}", written.body);
    assert_eq!(written.body["status"], json!({"replicas": 2}));
    assert_eq!(written.body["spec"]["color"], "red");
    assert_eq!(written.body["metadata"].get("labels"), None);
    assert_eq!(written.body["metadata"]["generation"], 1);
    let mut wrong = written.body.clone();
    wrong["status"]["replicas"] = "x".into();
    let refused = server.ask(Method::PUT, &path, Some(wrong)).await;
    assert_eq!(
        refused.body["details"]["causes"][0],
        json!({
            "reason": "FieldValueTypeInvalid",
            "message": r#"Invalid value: "string": replicas in body must be of type integer: "string""#,
            "field": "status.replicas",
        })
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_scale_reads_and_writes_the_paths_of_the_definition() {
    let server = with_widgets().await;
    server.post(WIDGETS, widget("a", &json!({"color": "red", "replicas": 2}))).await;
    let path = format!("{WIDGETS}/a/scale");
    let mut scale = server.get(&path).await.body;
    assert_eq!(
        (&scale["spec"], &scale["status"]),
        (&json!({"replicas": 2}), &json!({"replicas": 0}))
    );
    scale["spec"]["replicas"] = 7.into();
    assert_eq!(server.ask(Method::PUT, &path, Some(scale)).await.code, 200);
    let found = server.get(&format!("{WIDGETS}/a")).await.body;
    assert_eq!(
        (&found["spec"]["replicas"], &found["metadata"]["generation"]),
        (&json!(7), &json!(2))
    );
    server.post(WIDGETS, widget("b", &json!({"color": "red"}))).await;
    let absent = server.get(&format!("{WIDGETS}/b/scale")).await;
    assert_eq!(absent.code, 500);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_changed_schema_holds_for_the_next_request() {
    let server = with_widgets().await;
    server.post(WIDGETS, widget("a", &json!({"color": "red"}))).await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let mut changed = server.get(&path).await.body;
    let schema = &mut changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["properties"]["shape"] =
        json!({"type": "string", "default": "round"});
    let written = server.ask(Method::PUT, &path, Some(changed)).await;
    assert_eq!((written.code, &written.body["metadata"]["generation"]), (200, &json!(2)));
    let found = server.get(&format!("{WIDGETS}/a")).await.body;
    assert_eq!(found["spec"]["shape"], "round");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_deleted_definition_takes_its_objects_along() {
    let server = with_widgets().await;
    server.post(WIDGETS, widget("a", &json!({"color": "red"}))).await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let deleted = server.ask(Method::DELETE, &path, None).await;
    assert_eq!(deleted.code, 200, "{}", deleted.body);
    assert_eq!(deleted.body["metadata"]["generation"], 1);
    assert_eq!(
        deleted.body["metadata"]["finalizers"],
        json!(["customresourcecleanup.apiextensions.k8s.io"])
    );
    let refused = server.post(WIDGETS, widget("b", &json!({"color": "red"}))).await;
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.body["message"],
        r#"widgets.example.com "b" is forbidden: create not allowed while custom resource definition is terminating"#
    );
    server.until(&path, |answer| answer.code == 404).await;
    assert_eq!(server.get(WIDGETS).await.code, 404);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_name_that_is_taken_is_refused_until_it_is_free() {
    let server = with_widgets().await;
    let mut other = definition();
    other["metadata"]["name"] = "gadgets.example.com".into();
    other["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget", "shortNames": ["wd"]});
    assert_eq!(server.post(DEFINITIONS, other).await.code, 201);
    let path = format!("{DEFINITIONS}/gadgets.example.com");
    let has = |answer: &Answer, kind: &str, reason: &str| {
        let conditions = answer.body["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|c| c["type"] == kind && c["reason"] == reason)
    };
    let found = server.until(&path, |answer| has(answer, "Established", "NotAccepted")).await;
    assert!(has(&found, "NamesAccepted", "ListKindConflict"), "{}", found.body["status"]);
    server.ask(Method::DELETE, &format!("{DEFINITIONS}/widgets.example.com"), None).await;
    server.until(&path, is_established).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn clients_find_the_parameters_and_schemas_they_look_for() {
    let server = with_widgets().await;
    let index = server.get("/openapi/v3").await.body;
    let url = index["paths"]["apis/example.com/v1"]["serverRelativeURL"].as_str().unwrap();
    let document = server.get(url).await.body;
    let patch =
        &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"];
    let parameters: Vec<&Value> =
        patch["parameters"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(parameters, ["dryRun", "fieldManager", "fieldValidation", "force"]);
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "example.com", "version": "v1", "kind": "Widget"})
    );
    let schema = &document["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(schema["properties"]["spec"]["properties"]["size"]["default"], 3);
    assert!(
        document["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]
            .is_object()
    );
}

/// The definitions of Flux as its release has them.
fn flux_definitions() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/crds");
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the recorded definitions") {
        let path = entry.expect("a directory entry").path();
        if path.extension().is_some_and(|extension| extension == "gz") {
            let file = std::fs::File::open(&path).expect("a readable file");
            let document: Value =
                serde_json::from_reader(flate2::read::GzDecoder::new(file)).expect("JSON");
            let found = match &document["crds"] {
                Value::Object(named) => named.values().cloned().collect(),
                Value::Array(list) => list.clone(),
                _ => Vec::new(),
            };
            out.extend(found);
        }
    }
    out
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_definitions_of_flux_are_established() {
    let server = Server(Cluster::builder().seed(6).build());
    let definitions = flux_definitions();
    assert!(definitions.len() > 10, "only {} definitions found", definitions.len());
    for definition in &definitions {
        let made = server.post(DEFINITIONS, definition.clone()).await;
        assert_eq!(made.code, 201, "{}", made.body["message"]);
    }
    for definition in &definitions {
        let name = definition["metadata"]["name"].as_str().expect("a name");
        server.until(&format!("{DEFINITIONS}/{name}"), is_established).await;
    }
    let index = server.get("/openapi/v3").await.body;
    assert!(index["paths"]["apis/kustomize.toolkit.fluxcd.io/v1"].is_object());
}
