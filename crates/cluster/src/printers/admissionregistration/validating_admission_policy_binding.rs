//! ValidatingAdmissionPolicyBindings: policy and parameters.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, or};
use crate::value::{at, entries, list, text, texts};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string(
        "PolicyName",
        Literal("PolicyName indicates the policy definition which the policy binding binded to"),
    ),
    Column::string(
        "ParamRef",
        Literal("ParamRef indicates the param resource which sets the configuration param"),
    ),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let policy = text(object, "spec.policyName");
    cells![metadata::name(object), policy, parameters(object), age(object, now)]
}

fn parameters(object: &Value) -> String {
    let reference = at(object, "spec.paramRef");
    let (namespace, name) = (text(reference, "namespace"), text(reference, "name"));
    if !name.is_empty() {
        // Whether the parameter kind is namespaced is not known here.
        return format!("{}/{name}", or(namespace, "*"));
    }
    match at(reference, "selector") {
        Value::Null => "<unset>".to_owned(),
        given => go_selector(given),
    }
}

/// A label selector as Go prints the type.
fn go_selector(selector: &Value) -> String {
    let mut labels = String::new();
    for (key, value) in entries(selector, "matchLabels") {
        let _ = write!(labels, "{key}: {},", value.as_str().unwrap_or_default());
    }
    let mut expressions = String::new();
    for item in list(selector, "matchExpressions") {
        let _ = write!(
            expressions,
            "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
            text(item, "key"),
            text(item, "operator"),
            texts(item, "values").join(" "),
        );
    }
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_a_name_or_a_selector() {
        let cases = [
            (Value::Null, "<unset>"),
            (json!({"name": "a", "namespace": "b"}), "b/a"),
            (json!({"name": "a"}), "*/a"),
            (
                json!({"selector": {
                    "matchLabels": {"a": "b"},
                    "matchExpressions": [{"key": "c", "operator": "In", "values": ["d", "e"]}],
                }}),
                "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:c,Operator:In,Values:[d e],},},}",
            ),
        ];
        for (reference, expected) in cases {
            assert_eq!(parameters(&json!({"spec": {"paramRef": reference}})), expected);
        }
    }
}
