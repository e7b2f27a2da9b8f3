//! Rules of roles, from the rights of the controllers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sluice_controllers::rights::{Place, Right, When, rights_of};

use super::plan::{Plan, Unit};

/// What the account of a unit may do at one place: one rule for each group and resource, with all verbs, in their order.
pub(super) fn rules(plan: &Plan, unit: &Unit<'_>, place: Place) -> Value {
    let mut verbs: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for right in unit.controllers.iter().flat_map(|controller| rights_of(*controller)) {
        if right.place != place || !is_granted(plan, &right) {
            continue;
        }
        for resource in right.resource_names() {
            verbs.entry((right.group, resource)).or_default().extend(right.verbs);
        }
    }
    let rule = |((group, resource), verbs)| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    verbs.into_iter().map(rule).collect()
}

fn is_granted(plan: &Plan, right: &Right) -> bool {
    match right.when {
        When::Always => true,
        When::With(controller) => plan.controllers.contains(&controller),
        When::WithTokens => plan.workload_identity,
    }
}
