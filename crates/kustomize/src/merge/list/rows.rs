//! The key values of the items of both lists.

use std::collections::{HashMap, HashSet};

use super::Lists;
use crate::merge::ListIncrease;
use crate::merge::elements::{Place, Store};
use crate::merge::facts::{Kind, field, field_text, is_null, is_null_or_empty_map, kind, raw};

/// The values of an item's keys.
pub(super) type Row = Vec<String>;

/// The rows of both lists, each once: those of the first list, then the rest of the other.
pub(super) struct Rows<'k> {
    pub(super) all: Vec<Row>,
    /// The keys that any item has, with their columns; all keys if no item has any.
    pub(super) keys: Vec<&'k str>,
    pub(super) columns: Vec<usize>,
    /// For lists where every item has all keys and a unique row, the item of each row.
    regular: Option<(ByRow, ByRow)>,
}

/// The item of each row of a list.
type ByRow = HashMap<Row, Place>;

impl<'k> Rows<'k> {
    pub(super) fn of(lists: &Lists, keys: &[&'k str], increase: ListIncrease) -> Self {
        let patch = lists.patch.as_deref().unwrap_or_default();
        let read = |list: &[Place]| -> Vec<Row> {
            list.iter().map(|place| row(&lists.store, *place, keys)).collect()
        };
        let of_target = read(&lists.target);
        let of_patch = read(patch);
        let has_value = |column: &usize| {
            let mut rows = of_target.iter().chain(&of_patch);
            rows.any(|row| row.get(*column).is_some_and(|value| !value.is_empty()))
        };
        let mut columns: Vec<usize> = (0..keys.len()).filter(has_value).collect();
        let any = !columns.is_empty();
        if !any {
            columns.extend(0..keys.len());
        }
        let keys: Vec<&str> = columns.iter().filter_map(|at| keys.get(*at).copied()).collect();
        let mut items = lists.target.iter().chain(patch);
        let regular = (any && items.all(|place| has_keys(&lists.store, *place, &keys)))
            .then(|| Some((by_row(&of_target, &lists.target)?, by_row(&of_patch, patch)?)))
            .flatten();
        let ordered = match increase {
            ListIncrease::Prepend => [of_patch, of_target],
            ListIncrease::Append => [of_target, of_patch],
        };
        let mut seen: HashSet<Row> = HashSet::new();
        let all = ordered.into_iter().flatten().filter(|row| seen.insert(row.clone())).collect();
        Self { all, keys, columns, regular }
    }

    /// The item of each row in the target and in the patch, for lists that allow it.
    pub(super) fn by_row(&self) -> Option<&(ByRow, ByRow)> {
        self.regular.as_ref()
    }
}

fn row(store: &Store, place: Place, keys: &[&str]) -> Row {
    let node = store.get(place);
    keys.iter()
        .map(|key| if key.is_empty() { raw(node) } else { field_text(node, key) }.to_owned())
        .collect()
}

/// Whether an item has a string for each key.
fn has_keys(store: &Store, place: Place, keys: &[&str]) -> bool {
    let node = store.get(place);
    let is_text = |node: &sluice_yaml::Node| {
        kind(node) == Kind::Scalar && !is_null(node) && !raw(node).is_empty()
    };
    keys.iter().all(|key| {
        if key.is_empty() {
            is_text(node)
        } else {
            !is_null_or_empty_map(node) && field(node, key).is_some_and(is_text)
        }
    })
}

/// `None` if two items share a row.
fn by_row(rows: &[Row], list: &[Place]) -> Option<ByRow> {
    let index: ByRow = rows.iter().cloned().zip(list.iter().copied()).collect();
    (index.len() == list.len()).then_some(index)
}
