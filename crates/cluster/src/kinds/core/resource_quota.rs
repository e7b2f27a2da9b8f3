//! ResourceQuota.

use std::collections::BTreeSet;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::kinds::pod_spec::{quantity_value, resource_name};
use crate::kinds::resource_list;
use crate::validation::{Errors, IMMUTABLE, quantity};
use crate::value::{at, entries, list, text, texts};

const COMPUTE: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];

const OTHERS: &[&str] = &[
    "requests.storage",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

const SCOPES: &[&str] = &[
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];

/// The hooks of ResourceQuota.
pub(super) struct ResourceQuota;

impl Kind for ResourceQuota {
    fn default(&self, object: &mut Value) {
        resource_list::round_up(object, &["spec.hard", "status.hard", "status.used"]);
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = Vec::new();
        for (name, amount) in entries(spec, "hard") {
            let path = path.child("hard").key(name);
            errors.extend(resource_name(name, &path));
            if !name.contains('/') && !is_standard(name) {
                let detail = "must be a standard resource for quota";
                errors.push(FieldError::invalid(&path, name.as_str(), detail));
            }
            errors.extend(quantity_value(name, amount, &path));
        }
        errors.extend(scopes(spec, &path.child("scopes")));
        errors.extend(selector(spec, &path.child("scopeSelector").child("matchExpressions")));
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = self.validate(context, object);
        let set = |object| texts(object, "spec.scopes").into_iter().collect::<BTreeSet<_>>();
        if set(object) != set(old) {
            let path = Path::new("spec").child("scopes");
            errors.push(FieldError::invalid(&path, at(object, "spec.scopes").clone(), IMMUTABLE));
        }
        errors
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        let hard = entries(object, "spec.hard");
        for name in ["cpu", "memory", "ephemeral-storage"] {
            let long = format!("requests.{name}");
            let request = hard
                .get_key_value(&long)
                .or_else(|| hard.get_key_value(name).filter(|_| name != "ephemeral-storage"));
            let limit = hard.get_key_value(&format!("limits.{name}"));
            if let (Some((request, low)), Some((limit, high))) = (request, limit)
                && old.is_none()
                && quantity::compare(low, high).is_gt()
            {
                warnings.push(format!(
                    "ResourceQuota {request} ({}) should be less than {limit} ({})",
                    low.as_str().unwrap_or_default(),
                    high.as_str().unwrap_or_default()
                ));
            }
        }
        warnings
    }

    fn has_status(&self) -> bool {
        true
    }
}

fn is_standard(name: &str) -> bool {
    COMPUTE.contains(&name)
        || OTHERS.contains(&name)
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
}

fn scope_fits(scope: &str, name: &str) -> bool {
    match scope {
        "BestEffort" => name == "pods",
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => {
            COMPUTE.contains(&name)
                || name.starts_with("hugepages-")
                || name.starts_with("requests.hugepages-")
        }
        "VolumeAttributesClass" => ["persistentvolumeclaims", "requests.storage"].contains(&name),
        _ => true,
    }
}

fn misfits(spec: &Value, scope: &str) -> usize {
    let names = entries(spec, "hard").keys();
    names.filter(|name| is_standard(name) && !scope_fits(scope, name)).count()
}

fn conflicts(scopes: &[&str]) -> usize {
    [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]]
        .iter()
        .filter(|pair| pair.iter().all(|scope| scopes.contains(scope)))
        .count()
}

fn scopes(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let scopes = texts(spec, "scopes");
    let mut wrong = |detail: &str| {
        errors.push(FieldError::invalid(path, at(spec, "scopes").clone(), detail));
    };
    for scope in &scopes {
        if !SCOPES.contains(scope) {
            wrong("unsupported scope");
        }
        for _ in 0..misfits(spec, scope) {
            wrong("unsupported scope applied to resource");
        }
    }
    for _ in 0..conflicts(&scopes) {
        wrong("conflicting scopes");
    }
    errors
}

fn selector(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    for requirement in list(spec, "scopeSelector.matchExpressions") {
        let scope = text(requirement, "scopeName");
        let (operator, values) = (text(requirement, "operator"), texts(requirement, "values"));
        if !SCOPES.contains(&scope) {
            let path = path.child("scopeName");
            errors.push(FieldError::invalid(&path, scope, "unsupported scope"));
        }
        let plain = !["PriorityClass", "VolumeAttributesClass"].contains(&scope);
        if SCOPES.contains(&scope) && plain && operator != "Exists" {
            errors.push(FieldError::invalid(
                &path.child("operator"),
                operator,
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            ));
        }
        match operator {
            "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                &path.child("values"),
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::invalid(
                &path.child("values"),
                at(requirement, "values").clone(),
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(FieldError::invalid(
                &path.child("operator"),
                operator,
                "not a valid selector operator",
            )),
        }
    }
    errors
}
