//! The flowcontrol.apiserver.k8s.io group.

use std::sync::Arc;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::validation::{Errors, named, names, range_message};
use crate::value::{at, at_mut, fill, fill_zero, list, number, present, text};

/// The hooks of a resource of the flow control group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    Some(match resource {
        "flowschemas" => Arc::new(FlowSchema),
        "prioritylevelconfigurations" => Arc::new(PriorityLevel),
        _ => return None,
    })
}

struct FlowSchema;

impl Kind for FlowSchema {
    fn default(&self, object: &mut Value) {
        fill_zero(object, "spec.matchingPrecedence", 1000);
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = Vec::new();
        let precedence = number(spec, "matchingPrecedence");
        let place = path.child("matchingPrecedence");
        if precedence <= 0 {
            let detail = "must be a positive value";
            errors.push(FieldError::invalid(&place, precedence, detail));
        }
        if precedence > 10_000 {
            let detail = "must not be greater than 10000";
            errors.push(FieldError::invalid(&place, precedence, detail));
        }
        if precedence == 1 && text(object, "metadata.name") != "exempt" {
            let detail = "only the schema named 'exempt' may have matchingPrecedence 1";
            errors.push(FieldError::invalid(&place, precedence, detail));
        }
        if let Some(kind) = at(spec, "distinguisherMethod.type").as_str()
            && !["ByNamespace", "ByUser"].contains(&kind)
        {
            let known = ["ByNamespace", "ByUser"];
            let place = path.child("distinguisherMethod").child("type");
            errors.push(FieldError::not_supported(&place, kind, &known));
        }
        let level = text(spec, "priorityLevelConfiguration.name");
        let place = path.child("priorityLevelConfiguration").child("name");
        if level.is_empty() {
            let detail = "must reference a priority level";
            errors.push(FieldError::required(&place, detail));
        } else {
            errors.extend(named(names::dns_subdomain, level, &place));
        }
        for (index, rule) in list(spec, "rules").iter().enumerate() {
            let path = path.child("rules").index(index);
            if list(rule, "subjects").is_empty() {
                let detail = "subjects must contain at least one value";
                errors.push(FieldError::required(&path.child("subjects"), detail));
            }
            if list(rule, "resourceRules").is_empty() && list(rule, "nonResourceRules").is_empty() {
                let detail =
                    "at least one of resourceRules and nonResourceRules has to be non-empty";
                errors.push(FieldError::required(&path, detail));
            }
        }
        errors
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }
}

struct PriorityLevel;

impl Kind for PriorityLevel {
    fn default(&self, object: &mut Value) {
        if let Some(exempt) = at_mut(object, "spec.exempt") {
            fill(exempt, "nominalConcurrencyShares", 0);
            fill(exempt, "lendablePercent", 0);
        }
        if let Some(limited) = at_mut(object, "spec.limited") {
            fill(limited, "nominalConcurrencyShares", 30);
            fill(limited, "lendablePercent", 0);
            if let Some(queuing) = at_mut(limited, "limitResponse.queuing") {
                fill_zero(queuing, "handSize", 8);
                fill_zero(queuing, "queues", 64);
                fill_zero(queuing, "queueLengthLimit", 50);
            }
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = Vec::new();
        let kind = text(spec, "type");
        if (text(object, "metadata.name") == "exempt") != (kind == "Exempt") {
            let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
            errors.push(FieldError::invalid(&path.child("type"), kind, detail));
        }
        let limited = path.child("limited");
        match kind {
            "Exempt" if present(spec, "limited") => {
                let detail = "must be nil if the type is not Limited";
                errors.push(FieldError::forbidden(&limited, detail));
            }
            "Exempt" => errors.extend(shares(at(spec, "exempt"), &path.child("exempt"))),
            "Limited" => {
                if present(spec, "exempt") {
                    let detail = "must be nil if the type is Limited";
                    errors.push(FieldError::forbidden(&path.child("exempt"), detail));
                }
                if present(spec, "limited") {
                    errors.extend(limit_response(spec, &limited));
                    errors.extend(shares(at(spec, "limited"), &limited));
                } else {
                    let detail = "must not be empty when type is Limited";
                    errors.push(FieldError::required(&limited, detail));
                }
            }
            _ => {
                let kinds = ["Exempt", "Limited"];
                errors.push(FieldError::not_supported(&path.child("type"), kind, &kinds));
            }
        }
        errors
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }
}

fn shares(level: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let shares = number(level, "nominalConcurrencyShares");
    if shares < 0 {
        let path = path.child("nominalConcurrencyShares");
        errors.push(FieldError::invalid(&path, shares, "must be a non-negative integer"));
    }
    let lendable = number(level, "lendablePercent");
    if !(0..=100).contains(&lendable) {
        let path = path.child("lendablePercent");
        errors.push(FieldError::invalid(&path, lendable, range_message(0, 100)));
    }
    let borrowing = number(level, "borrowingLimitPercent");
    if borrowing < 0 {
        let detail = "if specified, must be a non-negative integer";
        errors.push(FieldError::invalid(&path.child("borrowingLimitPercent"), borrowing, detail));
    }
    errors
}

fn limit_response(spec: &Value, path: &Path) -> Errors {
    let path = path.child("limitResponse");
    let response = at(spec, "limited.limitResponse");
    let queuing = at(response, "queuing");
    let place = path.child("queuing");
    match text(response, "type") {
        "Reject" if queuing.is_null() => Vec::new(),
        "Reject" => {
            let detail = "must be nil if limited.limitResponse.type is not Limited";
            vec![FieldError::forbidden(&place, detail)]
        }
        "Queue" if queuing.is_null() => {
            let detail = "must not be empty if limited.limitResponse.type is Limited";
            vec![FieldError::required(&place, detail)]
        }
        "Queue" => self::queuing(queuing, &place),
        other => {
            let kinds = ["Queue", "Reject"];
            vec![FieldError::not_supported(&path.child("type"), other, &kinds)]
        }
    }
}

fn queuing(queuing: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let (queues, hand) = (number(queuing, "queues"), number(queuing, "handSize"));
    for name in ["queueLengthLimit", "queues", "handSize"] {
        let value = number(queuing, name);
        if value <= 0 {
            errors.push(FieldError::invalid(&path.child(name), value, "must be positive"));
        }
    }
    if queues > 10_000_000 {
        let detail = "must not be greater than 10000000";
        errors.push(FieldError::invalid(&path.child("queues"), queues, detail));
    }
    if hand > queues {
        let detail = format!("should not be greater than queues ({queues})");
        errors.push(FieldError::invalid(&path.child("handSize"), hand, detail));
    }
    errors
}
