//! What recorded cases do not cover: objects, and the cost of long lists.

use std::fmt::Write as _;

use sluice_yaml::{Node, SequenceIndent, parse};

use super::strategic;
use crate::openapi::Schema;

fn node(text: &str) -> Node {
    parse(text.as_bytes()).expect("a document").remove(0).root
}

fn merged(patch: &str, target: &str) -> Option<String> {
    let result = strategic(&node(patch), node(target), &Schema::builtin()).expect("a merge");
    result.map(|node| node.to_yaml(SequenceIndent::Compact))
}

#[test]
fn an_object_can_be_deleted_but_not_replaced() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n";
    assert_eq!(merged("$patch: delete\n", pod), None);
    assert_eq!(merged("$patch: replace\nmetadata: {name: b}\n", pod).as_deref(), Some(pod));
}

#[test]
fn a_patch_can_be_used_again() {
    let patch = node("metadata: {labels: {$patch: replace, a: b}}");
    let schema = Schema::builtin();
    for _ in 0..2 {
        let target = node("metadata: {labels: {c: d}}");
        let result = strategic(&patch, target, &schema).expect("a merge").expect("an object");
        assert_eq!(result.to_yaml(SequenceIndent::Compact), "metadata: {labels: {a: b}}\n");
    }
}

#[test]
fn a_failure_names_its_place() {
    let wrong = strategic(&node("a:\n  b: 1\n"), node("a: [1]\n"), &Schema::builtin());
    let wrong = wrong.expect_err("a list and a mapping");
    let place = wrong.diagnostics().next().and_then(|cause| cause.position);
    assert_eq!(place.map(|place| (place.line, place.column)), Some((2, 3)));
}

/// Each step of kyaml scans the whole list; 20,000 items would take it minutes.
#[test]
fn long_lists_are_merged_in_one_pass() {
    let list = |from: usize| {
        let mut text = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n".to_owned();
        for number in from..from + 20_000 {
            let _ = writeln!(text, "  - name: c{number}\n    image: i{from}");
        }
        text
    };
    let result = merged(&list(10_000), &list(0)).expect("an object");
    assert_eq!(result.lines().filter(|line| line.contains("image: i10000")).count(), 20_000);
    assert_eq!(result.lines().filter(|line| line.contains("image: i0")).count(), 10_000);
}
