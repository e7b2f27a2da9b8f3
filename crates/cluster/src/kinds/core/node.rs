//! Node.

use std::borrow::Cow;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::kinds::pod_spec::{quantity_value, taint_effect};
use crate::validation::{Errors, addresses, labels, names};
use crate::value::{at, entries, flag, list, present, set, text, texts};

/// The hooks of Node.
pub(super) struct Node;

impl Kind for Node {
    fn default(&self, object: &mut Value) {
        if !present(object, "status.allocatable") && present(object, "status.capacity") {
            let capacity = at(object, "status.capacity").clone();
            set(object, "status.allocatable", capacity);
        }
        // `podCIDR` is the first of `podCIDRs`; each fills in the other.
        let one = text(object, "spec.podCIDR").to_owned();
        let many = texts(object, "spec.podCIDRs");
        if !one.is_empty() && many.first() != Some(&one.as_str()) {
            set(object, "spec.podCIDRs", vec![Value::from(one)]);
        } else if let Some(first) = many.first().map(|first| (*first).to_owned())
            && one.is_empty()
        {
            set(object, "spec.podCIDR", first);
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = taints(object);
        errors.extend(resources(object));
        let ranges = texts(object, "spec.podCIDRs");
        let path = Path::new("spec").child("podCIDRs");
        for (index, range) in ranges.iter().enumerate() {
            errors.extend(addresses::network(range, &path.index(index)));
        }
        let is_v6 = |range: &str| {
            addresses::parse_network(range).is_some_and(|(address, _)| address.is_ipv6())
        };
        let one_family =
            ranges.len() > 1 && ranges.iter().all(|range| is_v6(range) == is_v6(ranges[0]));
        if one_family || ranges.len() > 2 {
            let detail = "may specify no more than one CIDR for each IP family";
            errors.push(FieldError::invalid(&path, at(object, "spec.podCIDRs").clone(), detail));
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = self.validate(context, object);
        errors.extend(changes(object, old));
        errors
    }

    fn validate_status_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        self.validate_update(context, object, old)
    }

    fn keeps_status_on_create(&self) -> bool {
        true
    }

    fn has_status(&self) -> bool {
        true
    }

    fn selectable_fields(&self, object: &Value) -> Vec<(Cow<'static, str>, String)> {
        vec![("spec.unschedulable".into(), flag(object, "spec.unschedulable").to_string())]
    }
}

/// Validates the fields that may not change.
fn changes(object: &Value, old: &Value) -> Errors {
    let path = Path::new("spec");
    let mut errors = resources(object);
    let before = texts(old, "spec.podCIDRs");
    if !before.is_empty() && before != texts(object, "spec.podCIDRs") {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        errors.push(FieldError::forbidden(&path.child("podCIDRs"), detail));
    }
    let before = text(old, "spec.providerID");
    if !before.is_empty() && before != text(object, "spec.providerID") {
        let detail = "node updates may not change providerID except from \"\" to valid";
        errors.push(FieldError::forbidden(&path.child("providerID"), detail));
    }
    errors.extend(taints(object));
    errors
}

fn resources(object: &Value) -> Errors {
    let mut errors = Vec::new();
    for list in ["capacity", "allocatable"] {
        for (name, amount) in entries(object, &format!("status.{list}")) {
            let path = Path::new("status").child(list).child(name);
            errors.extend(quantity_value(name, amount, &path));
        }
    }
    errors
}

fn taints(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, taint) in list(object, "spec.taints").iter().enumerate() {
        // Upstream reports taints under metadata.
        let path = Path::new("metadata").child("taints").index(index);
        let (key, effect) = (text(taint, "key"), text(taint, "effect"));
        errors.extend(labels::label_name(key, &path.child("key")));
        let wrong = names::label_value(text(taint, "value"));
        if !wrong.is_empty() {
            let value = text(taint, "value");
            errors.push(FieldError::invalid(&path.child("value"), value, wrong.join(";")));
        }
        if effect.is_empty() {
            errors.push(FieldError::required(&path.child("effect"), ""));
        } else {
            errors.extend(taint_effect(effect, &path.child("effect")));
        }
        if seen.contains(&(key, effect)) {
            let mut error = FieldError::duplicate(&path, Value::Null);
            error.value = None;
            error.detail = format!(
                "{{\"Key\":\"{key}\",\"Value\":\"{}\",\"Effect\":\"{effect}\",\"TimeAdded\":null}}: taints must be unique by key and effect pair",
                text(taint, "value")
            );
            errors.push(error);
        } else {
            seen.push((key, effect));
        }
    }
    errors
}
