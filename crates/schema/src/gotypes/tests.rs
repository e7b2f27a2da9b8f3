use serde_json::{Value, json};

use super::{DecodeError, Document, Types};
use crate::recorded::Members;

fn decode(api_version: &str, kind: &str, text: &str) -> Result<super::Decoded, DecodeError> {
    Types::recorded().decode(api_version, kind, Document::parse(text.as_bytes()).unwrap())
}

#[test]
fn generated_objects_come_out_as_from_go() {
    let members = Members::unpack(include_bytes!("../../tests/goldens/decode.json.gz"));
    let cases = members.get("cases").and_then(Value::as_array).unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let text = |name: &str| case[name].as_str().unwrap_or_default();
        let input = text("input");
        let got = match decode(text("apiVersion"), text("kind"), input) {
            Ok(decoded) => json!({"output": decoded.value, "strict": decoded.strict}),
            Err(error) => json!({"error": error.to_string()}),
        };
        let expected = match case.get("error") {
            Some(error) => json!({"error": error}),
            None => json!({
                "output": case["output"],
                "strict": case.get("strict").cloned().unwrap_or_else(|| json!([])),
            }),
        };
        if got != expected {
            failures.push(format!("{input}\n  got      {got}\n  expected {expected}"));
        }
    }
    let (count, all) = (failures.len(), cases.len());
    assert!(
        failures.is_empty(),
        "{count} of {all} differ, such as\n{}",
        failures[..count.min(4)].join("\n")
    );
}

#[test]
fn untyped_objects_are_converted_as_by_go() {
    let members = Members::unpack(include_bytes!("../../tests/goldens/decode.json.gz"));
    let cases = members.get("cases").and_then(Value::as_array).unwrap();
    let (mut failures, mut all) = (Vec::new(), 0);
    for case in cases {
        let Some(restored) = case.get("restored") else { continue };
        let text = |name: &str| case[name].as_str().unwrap_or_default();
        let object = Document::parse(text("input").as_bytes()).unwrap().into_value();
        let types = Types::recorded();
        let got = match types.restore(text("apiVersion"), text("kind"), object) {
            Ok(decoded) => json!({"output": decoded.value, "strict": decoded.strict}),
            Err(error) => json!({"error": error.to_string()}),
        };
        let expected = match restored.get("error") {
            Some(error) => json!({"error": error}),
            None => json!({
                "output": restored.get("output").unwrap_or(&case["output"]),
                "strict": restored.get("strict").cloned().unwrap_or_else(|| json!([])),
            }),
        };
        all += 1;
        if got != expected {
            failures.push(format!("{}\n  got      {got}\n  expected {expected}", text("input")));
        }
    }
    let count = failures.len();
    assert_eq!(
        count,
        0,
        "{count} of {all} differ, such as\n{}",
        failures[..count.min(4)].join("\n")
    );
}

#[test]
fn wrong_types_are_refused_in_gos_words() {
    let cases = [
        (
            r#"{"spec":{"replicas":"3"}}"#,
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            r#"{"spec":{"replicas":3.5}}"#,
            "json: cannot unmarshal number 3.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            r#"{"metadata":{"labels":{"a":1}}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            r#"{"spec":{"template":{"spec":{"volumes":[{"hostPath":"/x"}]}}}}"#,
            "json: cannot unmarshal string into Go struct field Volume.spec.template.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource",
        ),
        (
            r#"{"spec":{"strategy":{"rollingUpdate":{"maxSurge":true}}}}"#,
            "json: cannot unmarshal bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
        (
            r#"{"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}}}"#,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ("[]", "json: cannot unmarshal array into Go value of type v1.Deployment"),
    ];
    for (input, expected) in cases {
        assert_eq!(decode("apps/v1", "Deployment", input).unwrap_err().to_string(), expected);
    }
}

#[test]
fn zero_values_are_written_where_go_writes_them() {
    let decoded = decode("apps/v1", "Deployment", "{}").unwrap();
    assert_eq!(
        decoded.value,
        json!({
            "metadata": {},
            "spec": {
                "selector": null,
                "strategy": {},
                "template": {"metadata": {}, "spec": {"containers": null}},
            },
            "status": {},
        })
    );
}

#[test]
fn normalizing_what_was_decoded_changes_nothing() {
    let members = Members::unpack(include_bytes!("../../tests/goldens/decode.json.gz"));
    for case in members.get("cases").and_then(Value::as_array).unwrap() {
        // A pointer to the zero time is written as null and read back as nil.
        let Some(output) = case.get("output").filter(|output| !output.to_string().contains("null"))
        else {
            continue;
        };
        let mut value = output.clone();
        let text = |name: &str| case[name].as_str().unwrap();
        Types::recorded().normalize(text("apiVersion"), text("kind"), &mut value).unwrap();
        assert_eq!(value, *output, "{}", case["input"]);
    }
}

#[test]
fn what_cannot_be_normalized_is_left_alone() {
    let types = Types::recorded();
    let mut whole = json!({"spec": {"replicas": 3.0, "minReadySeconds": 0}});
    types.normalize("apps/v1", "Deployment", &mut whole).unwrap();
    assert_eq!(whole["spec"]["replicas"], json!(3));
    assert_eq!(whole["spec"].get("minReadySeconds"), None);
    let broken = json!({"spec": {"replicas": "three"}});
    let mut object = broken.clone();
    assert!(types.normalize("apps/v1", "Deployment", &mut object).is_err());
    assert_eq!(object, broken);
}

#[test]
fn an_unknown_kind_is_told_apart() {
    assert!(matches!(decode("apps/v1", "Nonsense", "{}"), Err(DecodeError::UnknownKind { .. })));
    assert!(Types::recorded().knows("v1", "DeleteOptions"));
    assert!(!Types::recorded().knows("v2", "Pod"));
}

#[test]
fn syntax_errors_are_in_gos_words() {
    let cases = [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("nul", "invalid character ' ' in literal null (expecting 'l')"),
        ("apiVersion: v1", "invalid character 'a' looking for beginning of value"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        ("{\"a\":1 \"b\":2}", "invalid character '\"' after object key:value pair"),
        ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("\"\\x\"", "invalid character 'x' in string escape code"),
        ("\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"),
        ("\"a\nb\"", "invalid character '\\n' in string literal"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1e+x", "invalid character 'x' in exponent of numeric literal"),
        ("01", "invalid character '1' after top-level value"),
        ("'", "invalid character '\\'' looking for beginning of value"),
    ];
    for (input, expected) in cases {
        assert_eq!(Document::parse(input.as_bytes()).unwrap_err().to_string(), expected, "{input}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(Document::parse(deep.as_bytes()).unwrap_err().to_string(), "exceeded max depth");
}
