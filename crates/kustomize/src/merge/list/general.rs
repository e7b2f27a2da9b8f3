//! Associative lists where items lack keys or share them: kyaml's steps, one by one.
//!
//! Example: `ports` have the keys `containerPort` and `protocol`. The target has `{8080, TCP, name: a}` and
//! `{9090, name: z}`, the patch has `{7070, name: n}` and `{8080, name: b}`. [`unite`] turns the row `[8080, ""]` into
//! `[8080, TCP]`. The patch's item has no protocol, so a lookup by that row finds only the target's item, and the name
//! stays `a`: a patch has to repeat the protocol. The result is `{7070, n}`, `{8080, TCP, a}`, `{9090, z}`. That is
//! kustomize's behaviour, and so it is ours.

use std::collections::HashMap;

use super::Lists;
use super::rows::{Row, Rows};
use crate::failure::Result;
use crate::merge::elements::{Place, Store};
use crate::merge::facts::{Kind, field, is_null, kind, raw, wrong_kind};
use crate::merge::{ListIncrease, Walker};
use crate::openapi::SchemaRef;

impl<'s> Walker<'s> {
    /// Merges row by row; returns the items of the result.
    pub(super) fn merge_general(
        &self,
        lists: &mut Lists,
        rows: &Rows<'_>,
        several_keys: bool,
        schema: Option<&SchemaRef<'s>>,
    ) -> Result<Vec<Place>> {
        let Rows { keys, columns, .. } = rows;
        let mut rows = rows.all.clone();
        if several_keys {
            unite(&mut rows);
        }
        let mut merged = Vec::new();
        for row in rows {
            let row: Row = columns.iter().filter_map(|at| row.get(*at).cloned()).collect();
            // The item is looked up by the keys that have a value.
            let (named, values): (Vec<&str>, Vec<&str>) = keys
                .iter()
                .zip(&row)
                .filter(|(_, value)| !value.is_empty())
                .map(|(key, value)| (*key, value.as_str()))
                .unzip();
            let find = |list: &[Place]| {
                if named.is_empty() {
                    let values: Vec<&str> = row.iter().map(String::as_str).collect();
                    lists.store.find(list, keys, &values)
                } else {
                    lists.store.find(list, &named, &values)
                }
            };
            let target = find(&lists.target);
            let patch = lists.patch.as_deref().and_then(find);
            match self.element(lists, target, patch, schema)? {
                None => lists.store.set(&mut lists.target, None, keys, &row)?,
                Some(place) => {
                    for (key, value) in keys.iter().zip(&row) {
                        lists.store.set_key(place, key, value)?;
                    }
                    lists.store.set(&mut merged, Some(place), keys, &row)?;
                }
            }
        }
        let (mut list, more) = match self.increase {
            ListIncrease::Prepend => (merged, &lists.target),
            ListIncrease::Append => (std::mem::take(&mut lists.target), &merged),
        };
        append(&lists.store, &mut list, more, keys)?;
        Ok(list)
    }
}

/// Adds the items of `more` to `list`: replaces the item with the same keys, or appends. As in kyaml, an item that lacks
/// keys is appended once for each missing key, before it is set by the others.
fn append(store: &Store, list: &mut Vec<Place>, more: &[Place], keys: &[&str]) -> Result<()> {
    for &place in more {
        let node = store.get(place);
        if let ["", ..] = keys {
            store.set(list, Some(place), &[""], &[raw(node).to_owned()])?;
            continue;
        }
        let mut values: Row = Vec::new();
        for key in keys {
            if !is_null(node) && kind(node) != Kind::Mapping {
                return Err(wrong_kind(Kind::Mapping, node));
            }
            match field(node, key) {
                Some(value) => values.push(raw(value).to_owned()),
                None => list.push(place),
            }
        }
        if keys.len() > 1 {
            store.set(list, None, keys, &values)?;
        }
        store.set(list, Some(place), keys, &values)?;
    }
    Ok(())
}

/// Unites rows that share a value and differ only where one of them is empty, such as a port with and without its
/// protocol: `[8080, TCP]` and `[8080, ""]` both become `[8080, TCP]`.
fn unite(rows: &mut [Row]) {
    // Only rows with the same first value, or without one, can be united.
    let mut same_first: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        same_first.entry(row.first().cloned().unwrap_or_default()).or_default().push(at);
    }
    let blank = same_first.remove("").unwrap_or_default();
    for at in 0..rows.len() {
        let one = rows[at].clone();
        let candidates: Vec<usize> = if blank.binary_search(&at).is_ok() {
            (0..rows.len()).collect()
        } else {
            let same = one.first().and_then(|first| same_first.get(first));
            let mut both = [same.map(Vec::as_slice).unwrap_or_default(), &blank].concat();
            both.sort_unstable();
            both
        };
        for other in candidates {
            if let Some(united) = union(&one, &rows[other]) {
                rows[at].clone_from(&united);
                rows[other] = united;
            }
        }
    }
}

fn union(one: &Row, other: &Row) -> Option<Row> {
    let mut common = false;
    let mut united = Row::with_capacity(one.len());
    for (one, other) in one.iter().zip(other) {
        if one == other {
            common = true;
        } else if !one.is_empty() && !other.is_empty() {
            return None;
        }
        united.push(if one.is_empty() { other } else { one }.clone());
    }
    common.then_some(united)
}
