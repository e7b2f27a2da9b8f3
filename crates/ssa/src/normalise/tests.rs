use serde_json::json;

use super::*;

fn normalised(mut object: Value) -> Value {
    normalise(&mut object);
    object
}

#[test]
fn built_in_kinds_go_through_their_type() {
    let object = normalised(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"unknown": 1, "template": {"spec": {"containers": [
            {"name": "c", "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
             "resources": {"limits": {"cpu": "1000m"}}},
        ]}}},
        "status": {"replicas": 3},
    }));
    let container = &object["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["ports"][0]["protocol"], "TCP");
    assert_eq!(container["ports"][1]["protocol"], "UDP");
    assert_eq!(container["resources"]["limits"]["cpu"], "1");
    assert!(object["spec"].get("unknown").is_none());
    assert!(object.get("status").is_none());
    assert!(object["metadata"]["creationTimestamp"].is_null());
}

#[test]
fn secrets_keep_their_texts_as_data() {
    let object = normalised(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
        "data": {"a": "YQ==", "b": "Yg=="}, "stringData": {"b": "two", "c": ""},
    }));
    assert_eq!(object["data"], json!({"a": "YQ==", "b": "dHdv", "c": ""}));
    assert!(object.get("stringData").is_none());
}

#[test]
fn other_kinds_lose_only_their_status() {
    let custom = json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
        "spec": {"x": {}}, "status": {"y": 1},
    });
    let object = normalised(custom);
    assert_eq!(
        object,
        json!({
            "apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "a", "creationTimestamp": null}, "spec": {"x": {}},
        })
    );
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "a"}, "rules": null,
    });
    assert_eq!(normalised(role.clone()), role);
}

#[test]
fn a_bundle_that_is_none_is_dropped() {
    let definition = |bundle: &str| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle, "url": "u"}}}},
        })
    };
    for (bundle, kept) in [("", true), ("Cg==", false), ("no base64!", false)] {
        let mut object = definition(bundle);
        drop_invalid_bundle(&mut object);
        let config = &object["spec"]["conversion"]["webhook"]["clientConfig"];
        assert_eq!(config.get("caBundle").is_some(), kept, "{bundle}");
        assert_eq!(config["url"], "u");
    }
}

#[test]
fn secrets_that_are_still_encrypted_are_refused() {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b"},
        "sops": {"mac": "x"},
    });
    let failure = still_encrypted(&secret).expect("it is encrypted");
    assert!(failure.message.starts_with("Secret/b/a is SOPS encrypted, "));
}
