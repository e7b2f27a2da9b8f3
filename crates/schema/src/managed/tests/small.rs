//! What neither recording shows: printing, times that do not count, filters.

use serde_json::{Value, json};

use super::super::{list_json, object_json, reset_filters, revert_times, validate_entries};
use crate::smd::{FieldSet, Filter, TypeRef, Unknown, from_fields_v1, write_fields_v1};

fn entry(fields: &Value, time: &str) -> Value {
    json!({"manager": "m", "operation": "Update", "apiVersion": "v1", "time": time,
           "fieldsType": "FieldsV1", "fieldsV1": fields})
}

#[test]
fn list_items_are_printed_in_the_order_of_their_values() {
    let fields = json!({"f:ports": {".": {}, "k:{\"port\":9}": {}, "k:{\"port\":10}": {}},
                        "f:set": {"v:\"b\"": {}, "v:10": {}, "v:9": {}}, "i:2": {}, "f:z<": {}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {
        "managedFields": [entry(&fields, "2024-01-01T00:00:00Z")]}});
    let by_set = concat!(
        r#""fieldsV1":{"f:ports":{".":{},"k:{\"port\":9}":{},"k:{\"port\":10}":{}},"#,
        r#""f:set":{"v:9":{},"v:10":{},"v:\"b\"":{}},"f:z\u003c":{},"i:2":{}}"#
    );
    let text = object_json(&json!({"kind": "List", "apiVersion": "v1", "items": [service]}));
    assert!(text.contains(by_set), "{text}");

    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {
        "managedFields": [entry(&fields, "2024-01-01T00:00:00Z")]}});
    let by_key = r#""f:ports":{".":{},"k:{\"port\":10}":{},"k:{\"port\":9}":{}}"#;
    let text = object_json(&json!({"type": "ADDED", "object": widget}));
    assert!(text.contains(by_key), "{text}");
}

#[test]
fn a_list_is_printed_as_if_its_items_were_in_it() {
    let fields = json!({"f:ports": {"k:{\"port\":9}": {}, "k:{\"port\":10}": {}}});
    for (api_version, kind) in [("v1", "Service"), ("example.com/v1", "Widget")] {
        let item = |name: &str| {
            json!({"apiVersion": api_version, "kind": kind, "metadata": {
                "name": name, "managedFields": [entry(&fields, "2024-01-01T00:00:00Z")]}})
        };
        let items = [item("a"), item("b")];
        let mut list = json!({"apiVersion": api_version, "kind": format!("{kind}List"),
                              "items": items, "metadata": {"resourceVersion": "7"}});
        let head = list.as_object().cloned().unwrap_or_default();
        assert_eq!(list_json(&head, &items, false), object_json(&list));
        for item in list["items"].as_array_mut().into_iter().flatten() {
            item.as_object_mut().expect("an object").retain(|name, _| name == "metadata");
        }
        assert_eq!(list_json(&head, &items, true), object_json(&list), "named by the list");
    }
}

#[test]
fn a_write_that_only_moves_times_is_none() {
    let object = |data: &str, fields: Value, time: &str| {
        json!({"metadata": {"name": "x", "managedFields": [entry(&fields, time)]},
               "data": {"a": data}})
    };
    let (early, late) = ("2024-01-01T00:00:00Z", "2024-01-01T00:00:05Z");
    let fields = || json!({"f:data": {}});
    let old = object("1", fields(), early);
    let cases = [
        ("times alone", object("1", fields(), late), early),
        ("data too", object("2", fields(), late), late),
        ("ownership too", object("1", json!({"f:data": {"f:a": {}}}), late), late),
    ];
    for (name, mut new, expected) in cases {
        revert_times(&old, &mut new);
        assert_eq!(new["metadata"]["managedFields"][0]["time"], expected, "{name}");
    }
}

#[test]
fn entries_that_cannot_be_read_are_named() {
    let cases = [
        (json!({"operation": "Delete"}), "operation must be `Apply` or `Update`"),
        (json!({"operation": "Apply"}), "apiVersion must not be empty"),
        (
            json!({"operation": "Apply", "apiVersion": "v1"}),
            "missing fieldsType in managed fields entry 0",
        ),
        (
            json!({"operation": "Apply", "apiVersion": "v1", "fieldsType": "V2"}),
            "invalid fieldsType \"V2\" in managed fields entry 0",
        ),
    ];
    for (entry, expected) in cases {
        assert_eq!(validate_entries(&[entry]), Err(expected.to_owned()));
    }
    assert_eq!(validate_entries(&[entry(&json!({}), "")]), Ok(()));
}

#[test]
fn endpoints_reset_what_upstream_resets() {
    let all = json!({
        "f:metadata": {"f:labels": {"f:a": {}}, "f:ownerReferences": {}},
        "f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:resources": {"f:limits": {}}}},
                   "f:ephemeralContainers": {}},
        "f:status": {"f:phase": {}}
    });
    let all = from_fields_v1(&all).expect("a set");
    let cases = [
        (
            "",
            "Pod",
            "",
            r#"{"f:metadata":{"f:labels":{"f:a":{}},"f:ownerReferences":{}},"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},"f:resources":{"f:limits":{}}}},"f:ephemeralContainers":{}}}"#,
        ),
        (
            "",
            "Pod",
            "status",
            r#"{"f:metadata":{"f:labels":{"f:a":{}}},"f:status":{"f:phase":{}}}"#,
        ),
        (
            "",
            "Pod",
            "resize",
            r#"{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:resources":{"f:limits":{}}}}}}"#,
        ),
        ("", "Pod", "ephemeralcontainers", r#"{"f:spec":{"f:ephemeralContainers":{}}}"#),
        ("", "ConfigMap", "", ""),
    ];
    for (group, kind, subresource, expected) in cases {
        let filters = reset_filters(group, kind, subresource);
        let left = filters.get("v1").map(|filter| write_fields_v1(&filter.apply(&all)));
        assert_eq!(left.unwrap_or_default(), expected, "{kind}/{subresource}");
    }
    let hpa = reset_filters("autoscaling", "HorizontalPodAutoscaler", "");
    assert_eq!(hpa.keys().collect::<Vec<_>>(), ["autoscaling/v1", "autoscaling/v2"]);
    assert_eq!(hpa["autoscaling/v2"], Filter::Without(FieldSet::of_fields(&[&["status"]])));
}

#[test]
fn every_recorded_kind_has_a_type() {
    let openapi = crate::recorded::openapi();
    let mut kinds = 0;
    for name in openapi.schema_names() {
        if openapi
            .schema(name)
            .is_some_and(|schema| schema.get("x-kubernetes-group-version-kind").is_some())
        {
            kinds += 1;
            let types = TypeRef::from_openapi(name, |name| openapi.schema(name));
            assert!(types.is_ok(), "{name}: {types:?}");
        }
    }
    assert!(kinds > 100, "{kinds} kinds");
}

#[test]
fn only_the_items_of_a_set_are_extracted() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "string"}, "b": {"type": "string"},
        "all": {"type": "array", "items": {"type": "string"}},
        "names": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}}});
    let types = TypeRef::from_crd(Some(&schema), Unknown::Refused).expect("a schema");
    let object =
        json!({"kind": "W", "spec": {"a": "1", "b": "2", "all": ["x"], "names": ["m", "n"]}});
    let set =
        from_fields_v1(&json!({"f:spec": {"f:a": {}, "f:all": {}, "f:names": {"v:\"n\"": {}}}}));
    let extracted = types.extract_items(&object, &set.expect("a set"));
    assert_eq!(extracted, json!({"spec": {"a": "1", "all": ["x"], "names": ["n"]}}));
}

#[test]
fn leaves_are_paths_with_nothing_below() {
    let set = json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}});
    let leaves = from_fields_v1(&set).expect("a set").leaves();
    assert_eq!(write_fields_v1(&leaves), r#"{"f:a":{"f:b":{}},"f:c":{}}"#);
}

/// Field sets that structured-merge-diff ships for its own tests come out as they went in.
#[test]
fn upstreams_field_sets_survive_reading_and_writing() {
    let home = std::env::var("GOPATH").or_else(|_| std::env::var("HOME").map(|home| home + "/go"));
    let folder = format!(
        "{}/pkg/mod/sigs.k8s.io/structured-merge-diff/v6@v6.3.0/internal/testdata",
        home.unwrap_or_default()
    );
    for name in ["podset", "nodeset", "endpointsset", "prometheus-crdset"] {
        let Ok(text) = std::fs::read_to_string(format!("{folder}/{name}.json")) else {
            println!("skipped: {name}.json is not in the module cache");
            continue;
        };
        let set = from_fields_v1(&serde_json::from_str(&text).expect("JSON")).expect("a set");
        assert!(!set.is_empty(), "{name}");
        assert_eq!(write_fields_v1(&set), text.trim(), "{name}");
    }
}
