//! The flowcontrol.apiserver.k8s.io group.

use std::sync::Arc;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::validation::{Errors, named, names, one_of_or_unset, range_message};
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
        match text(spec, "type") {
            "Exempt" if present(spec, "limited") => errors.push(FieldError::forbidden(
                &path.child("limited"),
                "must be nil if the type is not Limited",
            )),
            "Limited" if present(spec, "exempt") => errors.push(FieldError::forbidden(
                &path.child("exempt"),
                "must be nil if the type is Limited",
            )),
            "Limited" if !present(spec, "limited") => errors.push(FieldError::required(
                &path.child("limited"),
                "must not be empty when type is Limited",
            )),
            _ => {
                errors.extend(one_of_or_unset(spec, "type", &["Exempt", "Limited"], &path));
            }
        }
        let lendable = number(spec, "limited.lendablePercent");
        if !(0..=100).contains(&lendable) {
            let place = path.child("limited").child("lendablePercent");
            errors.push(FieldError::invalid(&place, lendable, range_message(0, 100)));
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
