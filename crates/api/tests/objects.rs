//! Objects read into their types and written again.

use kube_core::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sluice_api::crd::CustomResource;
use sluice_api::source::gitrepository::GitProvider;

/// Calls a function with each kind.
macro_rules! for_each_kind {
    ($function:ident) => {{
        use sluice_api as api;
        $function::<api::Alert>();
        $function::<api::ArtifactGenerator>();
        $function::<api::Bucket>();
        $function::<api::ExternalArtifact>();
        $function::<api::FluxInstance>();
        $function::<api::FluxReport>();
        $function::<api::GitRepository>();
        $function::<api::HelmChart>();
        $function::<api::HelmRelease>();
        $function::<api::HelmRepository>();
        $function::<api::ImagePolicy>();
        $function::<api::ImageRepository>();
        $function::<api::ImageUpdateAutomation>();
        $function::<api::Kustomization>();
        $function::<api::OCIRepository>();
        $function::<api::Provider>();
        $function::<api::Receiver>();
        $function::<api::ResourceSet>();
        $function::<api::ResourceSetInputProvider>();
    }};
}

trait Kind: CustomResource + Resource<DynamicType = ()> + Serialize + DeserializeOwned {}

impl<K> Kind for K where
    K: CustomResource + Resource<DynamicType = ()> + Serialize + DeserializeOwned
{
}

/// A value with every field that the schema knows, and at every level one that it does not.
fn sample(schema: &Value, with_unknown: bool) -> Value {
    if let Some(properties) = schema["properties"].as_object() {
        let mut object: Map<String, Value> = properties
            .iter()
            .map(|(name, schema)| (name.clone(), sample(schema, with_unknown)))
            .collect();
        if with_unknown {
            object.insert("fromTheFuture".into(), json!({"kept": [1, 2.5, "three", null]}));
        }
        return object.into();
    }
    if schema["additionalProperties"].is_object() {
        return json!({"key": sample(&schema["additionalProperties"], with_unknown)});
    }
    match schema["type"].as_str() {
        Some("array") => json!([sample(&schema["items"], with_unknown)]),
        Some("boolean") => json!(true),
        Some("integer") => json!(7),
        Some("string") if schema["format"] == "date-time" => json!("2026-01-02T03:04:05Z"),
        // A text that is a duration in Go's form is also any other text.
        Some("string") => schema["enum"].get(0).cloned().unwrap_or_else(|| json!("1m0s")),
        _ => json!({"anything": ["goes", {"here": 1}]}),
    }
}

fn object<K: Kind>(with_unknown: bool) -> Value {
    let mut object = sample(&K::schema(), with_unknown);
    object["apiVersion"] = K::DEFINITION.api_version().into();
    object["kind"] = K::DEFINITION.kind.into();
    object["metadata"] = json!({
        "annotations": {"a": "b"},
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "deletionGracePeriodSeconds": 0,
        "deletionTimestamp": "2026-01-02T03:04:06Z",
        "finalizers": ["finalizers.fluxcd.io"],
        "generateName": "web-",
        "generation": 3,
        "labels": {"a": "b"},
        "managedFields": [{
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:interval": {}}},
            "manager": "flux",
            "operation": "Apply",
            "subresource": "status",
            "time": "2026-01-02T03:04:05Z",
        }],
        "name": "web",
        "namespace": "apps",
        "ownerReferences": [{
            "apiVersion": "v1",
            "blockOwnerDeletion": true,
            "controller": true,
            "kind": "ConfigMap",
            "name": "owner",
            "uid": "1",
        }],
        "resourceVersion": "7",
        "uid": "2",
    });
    object
}

#[test]
fn fields_known_or_not_survive_reading_and_writing_at_every_level() {
    fn check<K: Kind>() {
        for with_unknown in [false, true] {
            let before = object::<K>(with_unknown);
            let typed: K = serde_json::from_value(before.clone()).expect(K::DEFINITION.kind);
            assert_eq!(serde_json::to_value(&typed).unwrap(), before);
        }
    }
    for_each_kind!(check);
}

/// The JSON pointers of all single values that a type reads, but for `metadata`.
fn leaves(schema: &Value, pointer: &str, found: &mut Vec<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (name, schema) in properties {
            leaves(schema, &format!("{pointer}/{name}"), found);
        }
    } else if schema["additionalProperties"].is_object() {
        leaves(&schema["additionalProperties"], &format!("{pointer}/key"), found);
    } else if schema["type"] == "array" {
        leaves(&schema["items"], &format!("{pointer}/0"), found);
    } else if schema["x-kubernetes-preserve-unknown-fields"] != true && pointer != "/metadata" {
        found.push(pointer.to_owned());
    }
}

#[test]
fn every_field_of_the_schema_is_a_field_of_the_type() {
    fn check<K: Kind>() {
        let mut pointers = Vec::new();
        leaves(&K::schema(), "", &mut pointers);
        let object = object::<K>(false);
        for pointer in pointers {
            let mut wrong = object.clone();
            // Only a field that the type reads can refuse this; an unknown one would be kept.
            *wrong.pointer_mut(&pointer).expect("the sample has every field") = json!([{}]);
            let read: Result<K, _> = serde_json::from_value(wrong);
            assert!(read.is_err(), "{} does not read {pointer}", K::DEFINITION.kind);
        }
    }
    for_each_kind!(check);
}

#[test]
fn an_object_without_anything_is_read_and_knows_its_kind() {
    fn check<K: Kind>() {
        let typed: K = serde_json::from_value(json!({})).unwrap();
        let written = serde_json::to_value(&typed).unwrap();
        assert_eq!(written["kind"], K::DEFINITION.kind);
        assert_eq!(written["apiVersion"], K::DEFINITION.api_version());
        assert!(written.get("status").is_none());
    }
    for_each_kind!(check);
}

#[test]
fn clients_find_the_kinds() {
    fn check<K: Kind>() {
        let definition = K::DEFINITION;
        assert_eq!(
            K::url_path(&(), Some("apps")),
            format!("/apis/{}/namespaces/apps/{}", definition.api_version(), definition.plural)
        );
        assert_eq!(K::kind(&()), definition.kind);
    }
    for_each_kind!(check);
}

#[test]
fn a_word_that_is_not_on_the_list_is_kept() {
    let before = json!({"spec": {"provider": "oracle"}});
    let typed: sluice_api::GitRepository = serde_json::from_value(before).unwrap();
    assert_eq!(typed.spec.provider.as_ref().map(GitProvider::as_str), Some("oracle"));
    assert_eq!(serde_json::to_value(&typed).unwrap()["spec"]["provider"], "oracle");
}

#[test]
fn durations_are_written_in_go_form_and_refused_in_the_words_of_go() {
    let before = json!({"spec": {"interval": "1.5h", "timeout": "90s"}});
    let typed: sluice_api::GitRepository = serde_json::from_value(before).unwrap();
    let written = serde_json::to_value(&typed).unwrap();
    assert_eq!(written["spec"]["interval"], "1h30m0s");
    assert_eq!(written["spec"]["timeout"], "1m30s");
    let wrong = json!({"spec": {"interval": "soon"}});
    let error = serde_json::from_value::<sluice_api::GitRepository>(wrong).unwrap_err();
    assert_eq!(error.to_string(), r#"time: invalid duration "soon""#);
}
