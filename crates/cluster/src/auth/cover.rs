//! The rights that a user needs to grant rules.

use std::collections::{BTreeMap, BTreeSet};

use super::rule::{ALL, Rule, url_covers};

/// The parts of `wanted` that `held` does not cover, one line each; empty where all is covered.
pub(crate) fn missing(held: &[Rule], wanted: &[Rule]) -> BTreeSet<String> {
    let mut uncovered: Vec<Rule> = wanted.iter().flat_map(atoms).collect();
    uncovered.retain(|atom| !held.iter().any(|rule| covers(rule, atom)));
    compacted(uncovered).iter().map(Rule::describe).collect()
}

/// The rule split into rules with one item in each list, so that one held rule covers each of them
/// wholly or not at all.
fn atoms(rule: &Rule) -> Vec<Rule> {
    let one = |item: &String| vec![item.clone()];
    let mut out = Vec::new();
    for group in &rule.groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let atom = Rule {
                    verbs: one(verb),
                    groups: one(group),
                    resources: one(resource),
                    ..Rule::default()
                };
                if rule.names.is_empty() {
                    out.push(atom);
                } else {
                    let named = |name| Rule { names: one(name), ..atom.clone() };
                    out.extend(rule.names.iter().map(named));
                }
            }
        }
    }
    for url in &rule.urls {
        for verb in &rule.verbs {
            out.push(Rule { verbs: one(verb), urls: one(url), ..Rule::default() });
        }
    }
    out
}

fn covers(held: &Rule, atom: &Rule) -> bool {
    covers_all(&held.verbs, &atom.verbs)
        && covers_all(&held.groups, &atom.groups)
        && atom.resources.iter().all(|resource| covers_resource(&held.resources, resource))
        && atom.urls.iter().all(|path| held.urls.iter().any(|url| url_covers(url, path)))
        && (held.names.is_empty()
            || (!atom.names.is_empty() && atom.names.iter().all(|name| held.names.contains(name))))
}

fn covers_all(held: &[String], wanted: &[String]) -> bool {
    held.iter().any(|item| item == ALL) || wanted.iter().all(|item| held.contains(item))
}

fn covers_resource(held: &[String], wanted: &str) -> bool {
    held.iter().any(|item| {
        item == ALL
            || item == wanted
            || wanted.split_once('/').is_some_and(|(_, subresource)| {
                item.strip_prefix("*/").is_some_and(|item| item == subresource)
            })
    })
}

/// Joins rules for the same resource and name into one with all their verbs.
fn compacted(rules: Vec<Rule>) -> Vec<Rule> {
    let mut out = Vec::new();
    let mut by_resource: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    for mut rule in rules {
        if rule.urls.is_empty() {
            let verbs = std::mem::take(&mut rule.verbs);
            by_resource.entry(rule).or_default().extend(verbs);
        } else {
            out.push(rule);
        }
    }
    out.extend(by_resource.into_iter().map(|(rule, verbs)| Rule { verbs, ..rule }));
    out
}
