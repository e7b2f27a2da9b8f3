//! Aggregated cluster roles: their rules are collected by label.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::control::{Actor, Control};
use super::{Controller, Key, Next, Reconcile};
use crate::metadata;
use crate::selector::LabelSelector;
use crate::store::{Change, Event, GroupResource};
use crate::value::{list, present, same};

const ACTOR: Actor = Actor {
    user: "system:serviceaccount:kube-system:clusterrole-aggregation-controller",
    manager: "clusterrole-aggregation-controller",
};
const GROUP: &str = "rbac.authorization.k8s.io";
const RESOURCE: &str = "clusterroles";

/// The controller of aggregated cluster roles.
#[derive(Default)]
pub(super) struct ClusterRoleAggregation {
    /// The selectors of every aggregated role, by its name; maintained from events.
    sums: Mutex<BTreeMap<String, Vec<LabelSelector>>>,
}

impl Controller for ClusterRoleAggregation {
    /// A change of a role queues every aggregated role with a selector that matches it now or matched it before.
    fn wakes(&self, _: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        if resource.resource != RESOURCE || resource.group != GROUP {
            return Vec::new();
        }
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let role = &event.object.value;
        if event.change != Change::Deleted && present(role, "aggregationRule") {
            sums.insert(event.key.to_string(), selectors(role));
        } else {
            sums.remove(&*event.key);
        }
        let states = [Some(&event.object), event.previous.as_ref()];
        let concerns = |selector: &LabelSelector| {
            states.iter().flatten().any(|state| selector.matches(&state.value))
        };
        sums.iter()
            .filter(|(name, selectors)| **name == *event.key || selectors.iter().any(concerns))
            .map(|(name, _)| Key::new(GROUP, RESOURCE, "", name))
            .collect()
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(sum) = control.get(key).filter(|sum| present(sum, "aggregationRule")) else {
                return Next::Wait;
            };
            let rules = gathered(control, &sum);
            if same(&rules, &sum["rules"]) {
                return Next::Wait;
            }
            let wanted = json!({"metadata": {"name": key.name}, "rules": rules});
            match control.apply(ACTOR, key, wanted).await {
                Ok(_) => Next::Wait,
                Err(status) if status.code == 404 => Next::Wait,
                Err(status) => {
                    tracing::debug!(%status, role = key.name, "not aggregated");
                    Next::After(Duration::from_secs(1))
                }
            }
        })
    }
}

fn selectors(sum: &Value) -> Vec<LabelSelector> {
    let selectors = list(sum, "aggregationRule.clusterRoleSelectors").iter();
    selectors.filter_map(LabelSelector::from_object).collect()
}

/// The rules of all roles that the selectors of `sum` match, each once.
fn gathered(control: &Control, sum: &Value) -> Value {
    let resource = GroupResource::new(GROUP, RESOURCE);
    let listing = control.state.store.list(&resource, "", None, None);
    let roles = listing.map(|listing| listing.items).unwrap_or_default();
    let mut rules: Vec<Value> = Vec::new();
    for selector in selectors(sum) {
        let parts = roles
            .iter()
            .map(|(_, role)| &role.value)
            .filter(|role| metadata::name(role) != metadata::name(sum) && selector.matches(role));
        for rule in parts.flat_map(|part| list(part, "rules")) {
            if !rules.iter().any(|known| same(known, rule)) {
                rules.push(rule.clone());
            }
        }
    }
    rules.into()
}
