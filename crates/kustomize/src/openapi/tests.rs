use std::collections::BTreeMap;

use sluice_yaml::parse;

use super::Schema;

fn field(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}

const CUSTOM: &str = r##"
definitions:
  v1.Widget:
    properties:
      parts:
        type: array
        items: {$ref: "#/definitions/v1.Part"}
        x-kubernetes-patch-merge-key: id
        x-kubernetes-patch-strategy: merge
    x-kubernetes-group-version-kind: [{group: example.com, kind: Widget, version: v1}]
  v1.Part:
    properties: {ports: {type: array, x-kubernetes-patch-strategy: merge, x-kubernetes-list-map-keys: [a, b]}}
paths:
  /apis/example.com/v1/widgets:
    get: {x-kubernetes-group-version-kind: {group: example.com, kind: Widget, version: v1}}
"##;

#[test]
fn the_recorded_schema_is_that_of_kubernetes() {
    let schema = Schema::builtin();
    let deployment = schema.of("apps/v1", "Deployment").expect("a known kind");
    let at = |path: &[&str]| {
        path.iter().try_fold(deployment.clone(), |at, step| match *step {
            "[]" => at.elements(),
            name => at.field(name),
        })
    };
    let containers = at(&["spec", "template", "spec", "containers"]).expect("containers");
    assert_eq!((containers.patch_strategy(), containers.merge_keys()), ("merge", vec!["name"]));
    let ports = at(&["spec", "template", "spec", "containers", "[]", "ports"]).expect("ports");
    assert_eq!(ports.merge_keys(), ["containerPort", "protocol"]);
    let volumes = at(&["spec", "template", "spec", "volumes"]).expect("volumes");
    assert!(volumes.is_merged() && volumes.patch_strategy() == "merge,retainKeys");
    let labels = at(&["metadata", "labels", "anything"]).expect("values of a map");
    assert!(labels.field("more").is_none() && labels.elements().is_none());
    assert!(at(&["spec", "nothing"]).is_none());
    assert!(schema.of("apps/v1", "Nothing").is_none());
    assert!(schema.of("kustomize.config.k8s.io/v1beta1", "Kustomization").is_some());
}

#[test]
fn scopes_are_known_for_known_kinds() {
    let schema = Schema::builtin();
    assert!(schema.is_certainly_cluster_scoped("v1", "Namespace"));
    assert_eq!(schema.namespaced("apps/v1", "Deployment"), Some(true));
    assert_eq!(schema.namespaced("example.com/v1", "Widget"), None);
    assert_eq!(schema.namespaced("v1", "Status"), None);
}

#[test]
fn a_chosen_schema_takes_the_place_of_one_that_was_not_needed_yet() {
    let mut schema = Schema::builtin();
    schema.set(&field("path", "s.yaml"), Some(CUSTOM.as_bytes()), true).unwrap();
    let parts = schema.of("example.com/v1", "Widget").unwrap().field("parts").unwrap();
    assert_eq!(parts.merge_keys(), ["id"]);
    let ports = parts.elements().unwrap().field("ports").unwrap();
    assert_eq!(ports.merge_keys(), ["a", "b"]);
    assert!(schema.is_certainly_cluster_scoped("example.com/v1", "Widget"));
    assert!(schema.is_certainly_cluster_scoped("v1", "Namespace"));
    assert!(schema.of("apps/v1", "Deployment").is_none());
    // Only the first choice counts.
    schema.set(&field("version", "v1.21.2"), None, false).unwrap();
    assert!(schema.of("apps/v1", "Deployment").is_none());
}

#[test]
fn a_schema_that_was_needed_before_stays() {
    for needed in [
        (|schema| assert!(schema.namespaced("example.com/v1", "Other").is_none())) as fn(&Schema),
        |schema| assert!(schema.of("v1", "Pod").is_some()),
    ] {
        let mut schema = Schema::builtin();
        needed(&schema);
        schema.set(&field("path", "s.yaml"), Some(CUSTOM.as_bytes()), false).unwrap();
        assert!(schema.of("apps/v1", "Deployment").is_some());
        assert!(schema.of("example.com/v1", "Widget").is_some());
    }
}

#[test]
fn a_choice_that_cannot_be_is_an_error() {
    let mut schema = Schema::builtin();
    let wrong = schema.set(&field("version", "v1.30.0"), None, true).unwrap_err();
    assert_eq!(wrong.to_string(), "the specified OpenAPI version is not built in");
    let wrong = schema.set(&field("version", "v1.21.2"), Some(b"{}"), true).unwrap_err();
    assert!(wrong.to_string().contains("cannot use both"));
    for bad in ["", "{", "[]", "a: [", r#"{"definitions": 1}"#, r#"{"definitions": {"a": 1}}"#] {
        let wrong = schema.set(&field("path", "s"), Some(bad.as_bytes()), true).unwrap_err();
        assert!(wrong.to_string().starts_with("invalid schema file: "), "{bad}: {wrong}");
    }
}

#[test]
fn merge_keys_can_be_read_from_definitions() {
    let crd = "
spec:
  group: example.com
  names: {kind: Gadget}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [id]
                items: {properties: {id: {type: string}}}
";
    let mut schema = Schema::builtin();
    schema.add_crd(&parse(crd.as_bytes()).unwrap()[0].root);
    let parts = schema.of("example.com/v1", "Gadget").unwrap().field("spec").unwrap();
    let parts = parts.field("parts").unwrap();
    assert!(parts.is_merged());
    assert_eq!(parts.merge_keys(), ["id"]);
    assert!(parts.elements().unwrap().field("id").is_some());
}

#[test]
fn a_comment_can_hold_a_schema() {
    let schema = Schema::builtin();
    let comment =
        |text: &str| schema.in_comment(text).map(|found| found.patch_strategy().to_owned());
    let merged = r#"# {"type":"array","x-kubernetes-patch-strategy":"merge"}"#;
    assert_eq!(comment(merged).as_deref(), Some("merge"));
    assert_eq!(comment(&format!("{merged}\n# more")).as_deref(), Some("merge"));
    assert_eq!(comment(r#"# {"$openapi":"replicas"}"#).as_deref(), Some(""));
    for text in ["# words", "# {}", "# {\"a\":", "# 5"] {
        assert_eq!(comment(text), None, "{text}");
    }
    let pod = schema.in_comment(r##"# {"$ref":"#/definitions/io.k8s.api.core.v1.PodSpec"}"##);
    assert!(pod.and_then(|pod| pod.field("containers")).is_some_and(|list| list.is_merged()));
}
