//! Quantities, durations and times against the tables that `conformance/values` recorded from Go.

use std::cmp::Ordering;

use sluice_base::duration::GoDuration;
use sluice_base::quantity::{Quantity, canonicalize};
use sluice_base::time;

/// Calls `check` with each row of a table and reports the rows for which it found a difference.
fn compare(table: &str, least: usize, check: impl Fn(&[String]) -> Option<String>) {
    let mut rows = 0;
    let mut differences = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<String> = line
            .split('\t')
            .map(|field| serde_json::from_str(field).expect("the recorder quotes like JSON"))
            .collect();
        rows += 1;
        if let Some(ours) = check(&fields) {
            differences.push(format!("{fields:?}: ours {ours}"));
        }
    }
    assert!(rows >= least, "only {rows} rows");
    assert!(
        differences.is_empty(),
        "{} of {rows} rows differ:\n{}",
        differences.len(),
        differences[..differences.len().min(20)].join("\n")
    );
}

fn outcome<E: std::fmt::Display>(result: Result<String, E>) -> (&'static str, String) {
    match result {
        Ok(text) => ("ok", text),
        Err(error) => ("error", error.to_string()),
    }
}

fn unless_same(ours: &(&str, String), theirs: &[String]) -> Option<String> {
    (ours.0 != theirs[1] || ours.1 != theirs[2]).then(|| format!("{ours:?}"))
}

#[test]
fn quantities_become_canonical_as_upstream_does_it() {
    compare(include_str!("golden/quantities.tsv"), 6000, |row| {
        unless_same(&outcome(canonicalize(&row[0])), row)
    });
}

#[test]
fn quantities_are_added_subtracted_and_compared_as_upstream_does_it() {
    compare(include_str!("golden/sums.tsv"), 2000, |row| {
        let left = Quantity::parse(&row[0]).expect("only valid quantities are recorded");
        let right = Quantity::parse(&row[1]).expect("only valid quantities are recorded");
        let text = |sum: Option<Quantity>| sum.map_or("none".to_owned(), |sum| sum.to_string());
        let order = match left.cmp(&right) {
            Ordering::Less => "-1",
            Ordering::Equal => "0",
            Ordering::Greater => "1",
        };
        let ours =
            [text(left.checked_add(&right)), text(left.checked_sub(&right)), order.to_owned()];
        (ours != row[2..]).then(|| format!("{ours:?}"))
    });
}

#[test]
fn durations_are_read_and_written_as_go_does_it() {
    compare(include_str!("golden/durations.tsv"), 3000, |row| {
        unless_same(&outcome(GoDuration::parse(&row[0]).map(|d| d.to_string())), row)
    });
}

#[test]
fn times_are_read_and_written_as_go_does_it() {
    compare(include_str!("golden/times.tsv"), 1000, |row| {
        let form = |(kind, text): (&str, String)| match kind {
            "ok" => text,
            _ => format!("error: {text}"),
        };
        let seconds = form(outcome(time::parse(&row[0]).map(time::format_seconds)));
        let micros = form(outcome(time::parse_micros(&row[0]).map(time::format_micros)));
        (seconds != row[1] || micros != row[2]).then(|| format!("{seconds:?} {micros:?}"))
    });
}
