//! Indexed Jobs: the completed indexes, as text such as `0-2,5`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::INDEX;
use crate::controllers::control::Object;
use crate::{metadata, value};

/// The indexes of a Job.
pub(super) struct Indexes {
    total: Option<i64>,
    done: BTreeSet<i64>,
}

impl Indexes {
    /// The completed indexes of a Job's status; empty for Jobs that are not indexed.
    pub(super) fn of(job: &Value) -> Self {
        let used = value::text(job, "spec.completionMode") == "Indexed";
        let total = value::int(job, "spec.completions").filter(|_| used);
        let done = parse(value::text(job, "status.completedIndexes"), total.unwrap_or(0));
        Self { total, done }
    }

    pub(super) fn is_used(&self) -> bool {
        self.total.is_some()
    }

    pub(super) fn is_full(&self) -> bool {
        self.total.is_some_and(|total| (0..total).all(|index| self.done.contains(&index)))
    }

    /// Adds the indexes of succeeded pods.
    pub(super) fn take(&mut self, pods: &[Object]) {
        self.done.extend(pods.iter().filter_map(|pod| index_of(pod)));
    }

    /// Writes the completed indexes into a status.
    pub(super) fn write(&self, status: &mut Value) {
        if self.done.is_empty() {
            return;
        }
        status["completedIndexes"] = print(&self.done).into();
        status["succeeded"] = self.done.len().into();
    }

    /// The first indexes without an active or succeeded pod.
    pub(super) fn free(&self, active: &[Object], count: usize) -> Vec<i64> {
        let busy: BTreeSet<i64> = active.iter().filter_map(|pod| index_of(pod)).collect();
        (0..self.total.unwrap_or(0))
            .filter(|index| !self.done.contains(index) && !busy.contains(index))
            .take(count)
            .collect()
    }
}

fn index_of(pod: &Value) -> Option<i64> {
    metadata::entry(pod, "annotations", INDEX)?.parse().ok()
}

/// Sets a pod's index: annotation, label, and a variable in each container.
pub(super) fn mark(pod: &mut Value, key: &str, index: i64) {
    for map in ["annotations", "labels"] {
        if !pod["metadata"][map].is_object() {
            pod["metadata"][map] = json!({});
        }
        pod["metadata"][map][key] = index.to_string().into();
    }
    let variable = json!({
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": format!("metadata.labels['{key}']")}},
    });
    for list in ["spec.initContainers", "spec.containers"] {
        for container in value::list_mut(pod, list) {
            let mut variables = value::list(container, "env").to_vec();
            if variables.iter().all(|known| known["name"] != variable["name"]) {
                variables.push(variable.clone());
                container["env"] = variables.into();
            }
        }
    }
}

/// The indexes below `total` that a text names.
fn parse(text: &str, total: i64) -> BTreeSet<i64> {
    let ranges = text.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
        Some(first.max(0)..(last.saturating_add(1)).min(total))
    });
    ranges.flatten().collect()
}

fn print(indexes: &BTreeSet<i64>) -> String {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for index in indexes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => ranges.push((*index, *index)),
        }
    }
    let texts: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first},{last}"),
            _ => format!("{first}-{last}"),
        })
        .collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_printed_as_ranges_of_three_and_more() {
        let set: BTreeSet<i64> = [0, 1, 2, 4, 6, 7].into();
        assert_eq!(print(&set), "0-2,4,6,7");
        assert_eq!(parse("0-2,4,6,7-9", 8), set);
        assert!(parse("", 8).is_empty());
    }
}
