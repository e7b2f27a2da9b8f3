//! HorizontalPodAutoscaler.

use serde_json::{Value, json};
use sluice_schema::field::{FieldError, Path};

use super::{conversion, metrics};
use crate::kind::{Context, Kind};
use crate::validation::{Errors, named, names, non_negative_fields, one_of_or_unset, quantity};
use crate::value::{at, fill, fill_absent, int, is_zero, list, number, present, set, text};

/// The hooks of HorizontalPodAutoscaler.
pub(super) struct HorizontalPodAutoscaler;

impl Kind for HorizontalPodAutoscaler {
    fn default(&self, object: &mut Value) {
        fill(object, "spec.minReplicas", 1);
        if text(object, "apiVersion") == "autoscaling/v1" {
            if list(&conversion::to_v2(object), "spec.metrics").is_empty() {
                set(object, "spec.targetCPUUtilizationPercentage", 80);
            }
            return;
        }
        if list(object, "spec.metrics").is_empty() {
            let target = json!({"type": "Utilization", "averageUtilization": 80});
            let metric =
                json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
            set(object, "spec.metrics", metric);
        }
        if present(object, "spec.behavior") {
            let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
            let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
            let up = "spec.behavior.scaleUp";
            fill(object, &format!("{up}.stabilizationWindowSeconds"), 0);
            rules(object, up, json!([pods, percent.clone()]));
            rules(object, "spec.behavior.scaleDown", json!([percent]));
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let object = conversion::to_v2(object);
        let spec = at(&object, "spec");
        let mut errors = Vec::new();
        let (least, most) = (int(spec, "minReplicas"), number(spec, "maxReplicas"));
        if let Some(least) = least.filter(|least| *least < 1) {
            let detail = "must be greater than or equal to 1";
            errors.push(FieldError::invalid(&path.child("minReplicas"), least, detail));
        }
        let place = path.child("maxReplicas");
        if most < 1 {
            errors.push(FieldError::invalid(&place, most, "must be greater than 0"));
        }
        if least.is_some_and(|least| most < least) {
            let detail = "must be greater than or equal to `minReplicas`";
            errors.push(FieldError::invalid(&place, most, detail));
        }
        let target = at(spec, "scaleTargetRef");
        errors.extend(reference(target, &path.child("scaleTargetRef")));
        let version = text(target, "apiVersion");
        if version.split_once('/').is_none_or(|(group, _)| group.is_empty()) {
            let place = path.child("scaleTargetRef").child("apiVersion");
            let detail = "apiVersion must specify API group";
            errors.push(FieldError::invalid(&place, version, detail));
        }
        for (index, metric) in list(spec, "metrics").iter().enumerate() {
            errors.extend(metrics::metric(metric, &path.child("metrics").index(index)));
        }
        let outside = |metric: &Value| ["Object", "External"].contains(&text(metric, "type"));
        if least == Some(0) && !list(spec, "metrics").iter().any(outside) {
            let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
            errors.push(FieldError::forbidden(&path.child("metrics"), detail));
        }
        for name in ["scaleUp", "scaleDown"] {
            let rules = at(spec, &format!("behavior.{name}"));
            if !rules.is_null() {
                errors.extend(scaling_rules(rules, &path.child("behavior").child(name)));
            }
        }
        errors
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        _old: &Value,
    ) -> Errors {
        let counts = ["currentReplicas", "desiredReplicas"];
        non_negative_fields(at(object, "status"), &counts, &Path::new("status"))
    }

    fn has_status(&self) -> bool {
        true
    }
}

fn rules(object: &mut Value, path: &str, policies: Value) {
    fill_absent(object, &format!("{path}.selectPolicy"), "Max");
    if is_zero(at(object, &format!("{path}.policies"))) {
        set(object, &format!("{path}.policies"), policies);
    }
}

/// Validates a reference to something that scales.
pub(super) fn reference(reference: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    for name in ["kind", "name"] {
        let value = text(reference, name);
        if value.is_empty() {
            errors.push(FieldError::required(&path.child(name), ""));
        } else {
            errors.extend(named(names::path_segment, value, &path.child(name)));
        }
    }
    let version = text(reference, "apiVersion");
    if version.matches('/').count() > 1 {
        let detail = format!("unexpected GroupVersion string: {version}");
        errors.push(FieldError::invalid(&path.child("apiVersion"), version, detail));
    }
    errors
}

fn scaling_rules(rules: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let place = path.child("stabilizationWindowSeconds");
    match int(rules, "stabilizationWindowSeconds") {
        Some(seconds) if seconds < 0 => {
            let detail = "must be greater than or equal to zero";
            errors.push(FieldError::invalid(&place, seconds, detail));
        }
        Some(seconds) if seconds > 3600 => {
            let detail = "must be less than or equal to 3600";
            errors.push(FieldError::invalid(&place, seconds, detail));
        }
        _ => {}
    }
    let choices = ["Disabled", "Max", "Min"];
    errors.extend(one_of_or_unset(rules, "selectPolicy", &choices, path));
    if list(rules, "policies").is_empty() {
        let detail = "must specify at least one Policy";
        errors.push(FieldError::required(&path.child("policies"), detail));
    }
    for (index, policy) in list(rules, "policies").iter().enumerate() {
        let path = path.child("policies").index(index);
        let kinds = ["Percent", "Pods"];
        if !kinds.contains(&text(policy, "type")) {
            let path = path.child("type");
            errors.push(FieldError::not_supported(&path, text(policy, "type"), &kinds));
        }
        for name in ["value", "periodSeconds"] {
            let value = number(policy, name);
            if value <= 0 {
                let path = path.child(name);
                errors.push(FieldError::invalid(&path, value, "must be greater than zero"));
            }
        }
        let period = number(policy, "periodSeconds");
        if period > 1800 {
            let detail = "must be less than or equal to 1800";
            errors.push(FieldError::invalid(&path.child("periodSeconds"), period, detail));
        }
    }
    let tolerance = at(rules, "tolerance");
    if quantity::nanos(tolerance).unwrap_or_default() < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(&path.child("tolerance"), tolerance.clone(), detail));
    }
    errors
}
