use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    GoSchema, PatchError, duplicate_fields, json_patch, json_patch_complaints, merge_patch,
    strategic,
};
use crate::gotypes::Document;
use crate::recorded::Members;

static GOLDENS: LazyLock<Members> =
    LazyLock::new(|| Members::unpack(include_bytes!("../../tests/goldens/patch.json.gz")));

fn compare(subject: &str, apply: impl Fn(&Value) -> Result<Value, PatchError>) {
    let cases = GOLDENS.get(subject).and_then(Value::as_array).unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let got = match apply(case) {
            Ok(result) => json!({"result": result}),
            Err(error) => json!({"error": error.to_string(), "code": code(&error)}),
        };
        let mut expected = json!({});
        for name in ["result", "error", "code"] {
            if let Some(value) = case.get(name) {
                expected[name] = value.clone();
            }
        }
        if got != expected {
            failures.push(format!(
                "{}\n patch    {}\n got      {got}\n expected {expected}",
                case["original"], case["patch"]
            ));
        }
    }
    let (count, all) = (failures.len(), cases.len());
    assert_eq!(
        count,
        0,
        "{count} of {all} differ, such as\n{}",
        failures[..count.min(4)].join("\n")
    );
}

fn code(error: &PatchError) -> u16 {
    match error {
        PatchError::Malformed(_) => 400,
        PatchError::TooLarge(_) => 413,
        PatchError::NotApplicable(_) => 422,
        PatchError::Failed(_) => 500,
    }
}

#[test]
fn json_patches_apply_like_upstreams() {
    compare("json", |case| json_patch(&case["original"], &case["patch"]));
}

#[test]
fn merge_patches_apply_like_upstreams() {
    compare("merge", |case| merge_patch(&case["original"], &case["patch"]));
}

#[test]
fn strategic_merges_apply_like_upstreams() {
    compare("strategic", |case| {
        let text = |name: &str| case[name].as_str().unwrap();
        let schema = GoSchema::of(text("apiVersion"), text("kind")).unwrap();
        strategic(&case["original"], &case["patch"], &schema)
    });
}

#[test]
fn too_many_operations_and_too_much_copying_are_refused() {
    let operation = json!({"op": "add", "path": "/a", "value": 1});
    let many = Value::Array(vec![operation; 10_001]);
    assert_eq!(
        json_patch(&json!({}), &many),
        Err(PatchError::TooLarge(
            "The allowed maximum operations in a JSON patch is 10000, got 10001".to_owned()
        ))
    );
    let doubling: Vec<Value> =
        (0..64).map(|_| json!({"op": "copy", "from": "/a", "path": "/a/-"})).collect();
    let error = json_patch(&json!({"a": [1, 2, 3]}), &Value::Array(doubling)).unwrap_err();
    assert!(error.to_string().starts_with("Unable to complete the copy"), "{error}");
}

#[test]
fn field_validation_complains_about_the_patch_itself() {
    let parse = |text: &str| Document::parse(text.as_bytes()).unwrap();
    let merge = parse(r#"{"spec":{"a":1,"a":2,"b":[{"c":1,"c":2}]}}"#);
    assert_eq!(
        duplicate_fields(&merge),
        [r#"duplicate field "spec.a""#, r#"duplicate field "spec.b[0].c""#]
    );
    let operations =
        parse(r#"[{"op":"add","op":"add","path":"/a","value":{"x":1,"x":2},"foo":1}]"#);
    assert_eq!(
        json_patch_complaints(&operations).unwrap(),
        [
            r#"json patch duplicate field "[0].op""#,
            r#"json patch duplicate field "[0].value.x""#,
            r#"json patch unknown field "[0].foo""#,
        ]
    );
    let cases = [
        (
            r#"{"op":"remove"}"#,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            r#"[{"op":1}]"#,
            "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(json_patch_complaints(&parse(text)).unwrap_err().to_string(), expected);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i8>().prop_map(Value::from),
        prop::sample::select(vec!["a", "web", "delete", "replace", "/a/0"]).prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "spec",
        "containers",
        "name",
        "ports",
        "containerPort",
        "metadata",
        "finalizers",
        "$patch",
        "$setElementOrder/containers",
        "$deleteFromPrimitiveList/finalizers",
        "$retainKeys",
        "op",
        "path",
        "from",
        "value",
    ]);
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_patches_never_panic(document in any_json(), patch in any_json()) {
        let schema = GoSchema::of("v1", "Pod").unwrap();
        let _ = strategic(&document, &patch, &schema);
        let _ = merge_patch(&document, &patch);
        let _ = json_patch(&document, &patch);
    }
}
