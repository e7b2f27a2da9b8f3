//! SelfSubjectRulesReview: everything that the user may do in a namespace.

use serde_json::{Value, json};

use crate::auth::{Rule, aggregate};
use crate::call::Call;
use crate::status::Status;
use crate::value::text;

pub(super) fn serve(call: &Call, review: &Value) -> Result<Value, Status> {
    let namespace = text(review, "spec.namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let state = &call.state;
    let (rules, unresolved) = state.authorizer.rules_of(&state.store, &call.user, namespace);
    let resource_rules: Vec<Value> =
        rules.iter().filter(|rule| !rule.resources.is_empty()).map(resource_rule).collect();
    let path_rules: Vec<Value> = rules
        .iter()
        .filter(|rule| !rule.urls.is_empty())
        .map(|rule| json!({"verbs": rule.verbs, "nonResourceURLs": rule.urls}))
        .collect();
    let mut status = json!({
        "resourceRules": resource_rules,
        "nonResourceRules": path_rules,
        "incomplete": false,
    });
    if let Some(why) = aggregate(unresolved.iter().map(ToString::to_string)) {
        status["evaluationError"] = why.into();
    }
    Ok(json!({"metadata": {}, "spec": {}, "status": status}))
}

fn resource_rule(rule: &Rule) -> Value {
    let mut out =
        json!({"verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources});
    if !rule.names.is_empty() {
        out["resourceNames"] = rule.names.clone().into();
    }
    out
}
