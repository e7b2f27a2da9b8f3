use serde_json::json;

use super::*;

fn rules(paths: &[&str], kind: Option<&str>, label_selector: Option<&str>) -> IgnoreRules {
    let target = (kind.is_some() || label_selector.is_some()).then(|| Selector {
        kind: kind.map(str::to_owned),
        label_selector: label_selector.map(str::to_owned),
        ..Selector::default()
    });
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    IgnoreRules::compile(&[IgnoreRule { paths, target, ..IgnoreRule::default() }])
        .expect("the rule is good")
}

fn deployment(replicas: i64, managers: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "a", "labels": {"tier": "web"}, "managedFields": managers},
        "spec": {
            "replicas": replicas,
            "template": {"spec": {"containers": [{"name": "a", "image": format!("i:{replicas}")}]}},
        },
    })
}

fn applied(manager: &str, fields: &Value) -> Value {
    json!({"manager": manager, "operation": "Apply", "fieldsV1": fields})
}

#[test]
fn rules_hold_for_what_their_target_matches() {
    let object = deployment(1, &json!([]));
    for (kind, labels, holds) in [
        (None, None, true),
        (Some("Deploy.*"), None, true),
        (Some("Deploy"), None, false),
        (None, Some("tier in (web, db), !x"), true),
        (None, Some("tier!=web"), false),
        (Some("StatefulSet"), Some("tier=web"), false),
    ] {
        let found = rules(&["/spec/replicas"], kind, labels).paths(&object).len();
        assert_eq!(found == 1, holds, "{kind:?} {labels:?}");
    }
}

#[test]
fn a_field_that_another_applies_is_no_longer_applied() {
    let other = applied("hpa", &json!({"f:spec": {"f:replicas": {}}}));
    let live = deployment(5, &json!([other]));
    let merged = deployment(1, &json!([]));
    let mut payload = deployment(1, &json!([]));
    rules(&["/spec/replicas"], None, None).adapt(&mut payload, &live, &merged, "us");
    assert!(payload["spec"].get("replicas").is_none());
}

#[test]
fn a_field_that_only_we_apply_keeps_the_value_in_the_cluster() {
    let ours = applied("us", &json!({"f:spec": {"f:replicas": {}}}));
    let live = deployment(5, &json!([ours]));
    let merged = deployment(1, &json!([]));
    let mut payload = deployment(1, &json!([]));
    rules(&["/spec/replicas"], None, None).adapt(&mut payload, &live, &merged, "us");
    assert_eq!(payload["spec"]["replicas"], 5);
}

#[test]
fn items_of_lists_are_found_by_their_keys() {
    let path = "/spec/template/spec/containers/0/image";
    let fields = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {
        "k:{\"name\":\"a\"}": {"f:image": {}},
    }}}}});
    let live = deployment(5, &json!([applied("updater", &fields)]));
    assert!(ownership::is_applied_by_another(&live, path, "us"));
    assert!(!ownership::is_applied_by_another(&live, path, "updater"));
    assert!(!ownership::is_applied_by_another(&live, "/spec/replicas", "us"));
}
