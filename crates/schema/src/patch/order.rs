//! The order of merged lists: items of the patch in the patch's order, the others in the order of
//! the live list, woven together as close to the live list as both orders allow.

use std::collections::HashMap;

use serde_json::Value;

use super::PatchError;
use super::strategic::{DIRECTIVE, missing_key, wrong_type};

/// The identity of items: a merge key, or the item itself.
#[derive(Clone, Copy)]
pub(super) struct Identity<'a> {
    /// Empty for lists of scalars.
    pub(super) merge_key: &'a str,
    /// Whether the items are objects.
    pub(super) objects: bool,
}

impl Identity<'_> {
    /// The text under which an item is looked up.
    fn of(&self, item: &Value) -> String {
        let value =
            if self.objects { item.get(self.merge_key).unwrap_or(&Value::Null) } else { item };
        value.to_string()
    }

    fn places(&self, list: &[Value]) -> HashMap<String, usize> {
        let mut places = HashMap::with_capacity(list.len());
        for (index, item) in list.iter().enumerate() {
            places.entry(self.of(item)).or_insert(index);
        }
        places
    }
}

/// Splits `items` into those that `by` names and the others.
pub(super) fn partition(
    items: Vec<Value>,
    by: &[Value],
    merge_key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let identity = Identity { merge_key, objects: !merge_key.is_empty() };
    let mut named = HashMap::new();
    for (index, item) in by.iter().enumerate() {
        // An item without the key matches nothing, not even another one without it.
        if !identity.objects || item.get(merge_key).is_some() {
            named.entry(identity.of(item)).or_insert(index);
        }
    }
    // Upstream searches from the front and trips over an item that is no object.
    let broken = by.iter().position(|item| identity.objects && !item.is_object());
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for item in items {
        if identity.objects {
            check_key(&item, merge_key)?;
        }
        match (named.get(&identity.of(&item)), broken) {
            (Some(at), broken) if broken.is_none_or(|broken| *at < broken) => inside.push(item),
            (_, Some(broken)) => {
                return Err(PatchError::Failed(format!("value for key {broken} is not a map")));
            }
            (_, None) => outside.push(item),
        }
    }
    Ok((inside, outside))
}

/// Puts both parts of a list into order and weaves them.
pub(super) fn weave(
    patched: Vec<Value>,
    live_only: Vec<Value>,
    patch_order: &[Value],
    live_order: &[Value],
    identity: Identity<'_>,
) -> Result<Vec<Value>, PatchError> {
    let patched = sort(patched, patch_order, identity)?;
    let live_only = sort(live_only, live_order, identity)?;
    let live = identity.places(live_order);
    let mut out = Vec::with_capacity(patched.len() + live_only.len());
    let mut right = patched.into_iter().peekable();
    for left in live_only {
        let at = live.get(&identity.of(&left));
        while let Some(candidate) = right.peek() {
            let comes_first = match (at, live.get(&identity.of(candidate))) {
                (Some(left), Some(right)) => left < right,
                _ => false,
            };
            if comes_first {
                break;
            }
            out.extend(right.next());
        }
        out.push(left);
    }
    out.extend(right);
    Ok(out)
}

fn sort(
    items: Vec<Value>,
    order: &[Value],
    identity: Identity<'_>,
) -> Result<Vec<Value>, PatchError> {
    let mut deletions = Vec::new();
    let mut items = items;
    if identity.objects {
        for item in items.iter().chain(order) {
            check_key(item, identity.merge_key)?;
        }
        let is_deletion =
            |item: &Value| item.get(DIRECTIVE).is_some_and(|directive| directive == "delete");
        (deletions, items) = items.into_iter().partition(is_deletion);
    }
    let places = identity.places(order);
    let mut placed: Vec<(Option<usize>, Value)> =
        items.into_iter().map(|item| (places.get(&identity.of(&item)).copied(), item)).collect();
    if placed.iter().all(|(place, _)| place.is_some()) {
        placed.sort_by_key(|(place, _)| *place);
    } else {
        // Upstream's comparison says "less" for whatever it does not find. The outcome then hangs on
        // the sorting algorithm, which for short lists is this one.
        for end in 1..placed.len() {
            let mut at = end;
            while at > 0 && comes_before(placed[at].0, placed[at - 1].0) {
                placed.swap(at, at - 1);
                at -= 1;
            }
        }
    }
    let mut out: Vec<Value> = placed.into_iter().map(|(_, item)| item).collect();
    out.append(&mut deletions);
    Ok(out)
}

fn comes_before(left: Option<usize>, right: Option<usize>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left < right,
        _ => true,
    }
}

fn check_key(item: &Value, merge_key: &str) -> Result<(), PatchError> {
    match item {
        Value::Object(members) if members.contains_key(merge_key) => Ok(()),
        Value::Object(_) => Err(missing_key(item, merge_key)),
        other => Err(wrong_type("map[string]interface {}", other)),
    }
}
