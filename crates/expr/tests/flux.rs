//! Health checks as Flux evaluates them.

use serde_json::{Value as Json, json};
use sluice_expr::Type;
use sluice_expr::flux::{Expression, Health, HealthCheck};

const CURRENT: &str = "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')";
const FAILED: &str = "status.conditions.exists(c, c.type == 'Ready' && c.status == 'False')";
const PROGRESS: &str = "status.conditions.exists(c, c.type == 'Ready' && c.status == 'Unknown')";

fn object(generation: i64, observed: Option<i64>, ready: &str) -> Json {
    let mut object = json!({
        "metadata": {"generation": generation},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    });
    if let Some(observed) = observed {
        object["status"]["observedGeneration"] = json!(observed);
    }
    object
}

#[test]
fn health_follows_generation_then_progress_then_failure_then_currency() {
    let check = HealthCheck::new(CURRENT, PROGRESS, FAILED).unwrap();
    let cases = [
        (object(2, Some(1), "True"), Health::InProgress),
        (object(2, Some(2), "True"), Health::Current),
        (object(2, None, "True"), Health::Current),
        (object(2, None, "False"), Health::Failed),
        (object(2, None, "Unknown"), Health::InProgress),
        (object(2, None, "Other"), Health::InProgress),
    ];
    for (object, health) in cases {
        assert_eq!(check.evaluate(&object), Ok(health), "{object}");
    }
    let only = HealthCheck::new(CURRENT, "", "").unwrap();
    assert_eq!(only.evaluate(&object(1, None, "False")), Ok(Health::InProgress));
}

#[test]
fn errors_are_worded_as_flux_words_them() {
    let check = HealthCheck::new("status.ready", "", "").unwrap();
    let error = |object: Json| check.evaluate(&object).unwrap_err().to_string();
    assert_eq!(
        error(json!({"status": {}})),
        "failed to evaluate the CEL expression 'status.ready': no such key: ready"
    );
    assert_eq!(
        error(json!({})),
        "failed to evaluate the CEL expression 'status.ready': no such attribute(s): status.ready"
    );
    assert_eq!(
        error(json!({"status": {"ready": "yes"}})),
        "failed to evaluate CEL expression as boolean: 'status.ready'"
    );
    let refused = |current: &str| HealthCheck::new(current, "", "").unwrap_err().to_string();
    assert_eq!(refused(""), "expression Current not specified");
    assert_eq!(
        refused("a ="),
        "failed to parse the expression Current: failed to parse the CEL expression 'a =': ERROR: \
         <input>:1:3: Syntax error: token recognition error at: '='\n | a =\n | ..^"
    );
    let mismatch = Expression::compile("self.x + 'y'", &["self"], Some(&Type::Bool)).unwrap_err();
    assert_eq!(
        mismatch.to_string(),
        "CEL expression output type mismatch: expected bool, got string"
    );
}

#[test]
fn a_dependency_is_ready_when_its_expression_says_so() {
    let text = "dep.status.version == self.spec.version";
    let expression = Expression::compile(text, &["self", "dep"], Some(&Type::Bool)).unwrap();
    let (one, two) = (json!({"spec": {"version": 2}}), json!({"status": {"version": 2}}));
    let with = |dep: &Json| {
        expression.is_true_with(&std::collections::BTreeMap::from([("self", &one), ("dep", dep)]))
    };
    assert_eq!(with(&two), Ok(true));
    assert_eq!(with(&json!({"status": {"version": 1}})), Ok(false));
    assert!(with(&json!({})).is_err());
}
