//! Node affinity, pod affinity and topology spread.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fit::{Machine, Machines, tolerates};
use super::load::repelled;
use crate::selector::LabelSelector;
use crate::{metadata, value};

/// Whether the node matches `nodeSelector` and the required node affinity.
pub(in crate::controllers) fn node_matches(pod: &Value, node: &Value) -> bool {
    let selected = value::entries(pod, "spec.nodeSelector").iter().all(|(key, wanted)| {
        metadata::entry(node, "labels", key) == Some(wanted.as_str().unwrap_or_default())
    });
    if !selected {
        return false;
    }
    let required =
        value::at(pod, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
    if required.is_null() {
        return true;
    }
    value::list(required, "nodeSelectorTerms").iter().any(|term| term_matches(term, node))
}

fn term_matches(term: &Value, node: &Value) -> bool {
    let expressions = value::list(term, "matchExpressions");
    let fields = value::list(term, "matchFields");
    if expressions.is_empty() && fields.is_empty() {
        return false;
    }
    let by_label = expressions.iter().all(|expression| {
        holds(expression, metadata::entry(node, "labels", value::text(expression, "key")))
    });
    by_label && fields.iter().all(|expression| holds(expression, Some(metadata::name(node))))
}

fn holds(expression: &Value, found: Option<&str>) -> bool {
    let values = value::texts(expression, "values");
    let compare = |test: fn(&i64, &i64) -> bool| {
        let found = found.and_then(|found| found.parse::<i64>().ok());
        let bound = values.first().and_then(|bound| bound.parse::<i64>().ok());
        found.zip(bound).is_some_and(|(found, bound)| test(&found, &bound))
    };
    match value::text(expression, "operator") {
        "In" => found.is_some_and(|found| values.contains(&found)),
        "NotIn" => found.is_none_or(|found| !values.contains(&found)),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        "Gt" => compare(i64::gt),
        "Lt" => compare(i64::lt),
        _ => false,
    }
}

/// The sum of the weights of preferences that a node does not meet.
pub(super) fn penalty(pod: &Value, machine: &Machine<'_>) -> i64 {
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let nodes = value::list(value::at(pod, "spec.affinity.nodeAffinity"), preferred)
        .iter()
        .filter(|term| !term_matches(&term["preference"], &machine.node))
        .map(|term| value::number(term, "weight"))
        .sum::<i64>();
    let repelled = value::list(&machine.node, "spec.taints")
        .iter()
        .filter(|taint| taint["effect"] == "PreferNoSchedule" && !tolerates(pod, taint))
        .count();
    nodes + 100 * i64::try_from(repelled).unwrap_or_default()
}

/// Whether one of the pods in the same topology domain matches a term.
fn beside(pod: &Value, term: &Value, machine: &Machine<'_>, all: &Machines<'_>) -> bool {
    let key = value::text(term, "topologyKey");
    let Some(domain) = metadata::entry(&machine.node, "labels", key) else { return false };
    all.list
        .iter()
        .filter(|other| metadata::entry(&other.node, "labels", key) == Some(domain))
        .flat_map(|other| other.load.pods())
        .any(|other| term_selects(pod, term, other))
}

fn term_selects(pod: &Value, term: &Value, other: &Value) -> bool {
    let namespaces = value::texts(term, "namespaces");
    let here = if namespaces.is_empty() && term["namespaceSelector"].is_null() {
        metadata::namespace(other) == metadata::namespace(pod)
    } else {
        namespaces.is_empty() || namespaces.contains(&metadata::namespace(other))
    };
    here && LabelSelector::from_object(&term["labelSelector"])
        .is_some_and(|selector| selector.matches(other))
}

/// Why pod affinity excludes a node, and whether preemption would help.
pub(super) fn pods_forbid(
    pod: &Value,
    machine: &Machine<'_>,
    all: &Machines<'_>,
) -> Option<(&'static str, bool)> {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let near = value::list(value::at(pod, "spec.affinity.podAffinity"), required);
    let alone = near.iter().any(|term| {
        // The first pod of a group with affinity to itself may go anywhere.
        let mut others = all.list.iter().flat_map(|other| other.load.pods());
        let anywhere = others.any(|other| term_selects(pod, term, other));
        let first = !anywhere && term_selects(pod, term, pod);
        !first && !beside(pod, term, machine, all)
    });
    if alone {
        return Some(("node(s) didn't match pod affinity rules", false));
    }
    if repelled(pod).iter().any(|term| beside(pod, term, machine, all)) {
        return Some(("node(s) didn't match pod anti-affinity rules", true));
    }
    let shunned = all.load.repelling().any(|(node, neighbour)| {
        repelled(neighbour).iter().any(|term| {
            let key = value::text(term, "topologyKey");
            let domain = metadata::entry(&machine.node, "labels", key);
            domain.is_some() && all.label(node, key) == domain && term_selects(neighbour, term, pod)
        })
    });
    shunned.then_some(("node(s) didn't satisfy existing pods anti-affinity rules", true))
}

/// Whether one more pod on this node keeps within the hard spread constraints.
pub(super) fn spread_allows(pod: &Value, machine: &Machine<'_>, all: &Machines<'_>) -> bool {
    value::list(pod, "spec.topologySpreadConstraints")
        .iter()
        .filter(|constraint| value::text(constraint, "whenUnsatisfiable") != "ScheduleAnyway")
        .all(|constraint| {
            let key = value::text(constraint, "topologyKey");
            let Some(here) = metadata::entry(&machine.node, "labels", key) else { return false };
            let selector = LabelSelector::from_object(&constraint["labelSelector"])
                .or_else(|| LabelSelector::from_object(&json!({})));
            let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
            for other in all.list.iter().filter(|other| node_matches(pod, &other.node)) {
                let Some(domain) = metadata::entry(&other.node, "labels", key) else { continue };
                let count = other
                    .load
                    .pods()
                    .filter(|neighbour| {
                        metadata::namespace(neighbour) == metadata::namespace(pod)
                            && !metadata::is_terminating(neighbour)
                            && selector.as_ref().is_some_and(|found| found.matches(neighbour))
                    })
                    .count();
                *counts.entry(domain).or_default() += i64::try_from(count).unwrap_or_default();
            }
            let least = counts.values().min().copied().unwrap_or_default();
            let this = counts.get(here).copied().unwrap_or_default();
            let own = selector.as_ref().is_some_and(|found| found.matches(pod));
            this + i64::from(own) - least <= value::number(constraint, "maxSkew").max(1)
        })
}
