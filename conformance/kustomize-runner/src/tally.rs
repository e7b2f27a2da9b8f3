//! Counts per kind of case.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::compare::Level;

/// How the cases of one kind came out.
#[derive(Clone, Debug, Default)]
struct Count {
    all: usize,
    /// The original builds them.
    succeed: usize,
    /// By the worst level they differ at.
    differ: BTreeMap<&'static str, usize>,
}

/// The counts of all kinds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(BTreeMap<String, Count>);

impl Tally {
    /// Counts a case under a kind.
    pub(crate) fn add(&mut self, kind: &str, succeeds: bool, level: Option<Level>) {
        let count = self.0.entry(kind.to_owned()).or_default();
        count.all += 1;
        count.succeed += usize::from(succeeds);
        if let Some(level) = level {
            *count.differ.entry(level.name()).or_default() += 1;
        }
    }

    /// Adds another's counts.
    pub(crate) fn merge(&mut self, other: Self) {
        for (kind, theirs) in other.0 {
            let count = self.0.entry(kind).or_default();
            count.all += theirs.all;
            count.succeed += theirs.succeed;
            for (level, number) in theirs.differ {
                *count.differ.entry(level).or_default() += number;
            }
        }
    }

    /// How many cases of a kind there are, and how many the original builds.
    pub(crate) fn sum(&self, kind: &str) -> (usize, usize) {
        self.0.get(kind).map_or((0, 0), |count| (count.all, count.succeed))
    }

    /// A table to be read.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{:<24}{:>7}{:>9}{:>7}", "kind", "cases", "succeed", "equal");
        for level in Level::ALL {
            let _written = write!(text, "{:>9}", level.name());
        }
        text.push('\n');
        for (kind, count) in &self.0 {
            let differ: usize = count.differ.values().sum();
            let equal = count.all - differ;
            let _written = write!(text, "{kind:<24}{:>7}{:>9}{equal:>7}", count.all, count.succeed);
            for level in Level::ALL {
                let number = count.differ.get(level.name()).copied().unwrap_or_default();
                let _written = write!(text, "{number:>9}");
            }
            text.push('\n');
        }
        text
    }

    /// The same for machines.
    pub(crate) fn to_json(&self) -> Value {
        let counts = self.0.iter().map(|(kind, count)| {
            let value = json!({
                "cases": count.all, "succeed": count.succeed,
                "equal": count.all - count.differ.values().sum::<usize>(), "differ": count.differ,
            });
            (kind.clone(), value)
        });
        Value::Object(counts.collect())
    }
}
