//! Strategic merge as the API server does it: objects merge field by field, lists by the strategy
//! and the merge key of their field, and the patch may carry directives.
//!
//! - `$patch: replace | delete` in an object or among the items of a list,
//! - `$deleteFromPrimitiveList/FIELD` removes scalars,
//! - `$setElementOrder/FIELD` says in which order items stand,
//! - `$retainKeys` removes every other field,
//! - `null` removes a field.

use serde_json::{Map, Value};
use sluice_base::go::value;

use super::order::{Identity, partition, weave};
use super::print::{go_text, go_type};
use super::{FieldPatch, PatchError, PatchSchema};

pub(super) const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

type Members = Map<String, Value>;

/// Applies the strategic merge patch `patch` to the object `original`.
pub fn strategic<S: PatchSchema>(
    original: &Value,
    patch: &Value,
    schema: &S,
) -> Result<Value, PatchError> {
    let malformed = |found: &Value| {
        PatchError::Malformed(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            super::strict::go_kind(found)
        ))
    };
    let empty = Members::new();
    let members = |value: &Value| match value {
        Value::Object(members) => Ok(members.clone()),
        Value::Null => Ok(empty.clone()),
        other => Err(malformed(other)),
    };
    merge_objects(members(original)?, members(patch)?, schema).map(Value::Object)
}

fn merge_objects<S: PatchSchema>(
    mut original: Members,
    mut patch: Members,
    schema: &S,
) -> Result<Members, PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Members::new()),
            _ => Err(unknown_directive(&directive.clone(), &Value::Object(patch))),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    merge_ordered_lists(&mut original, &mut patch, schema)?;
    for (name, value) in patch {
        let deletes = name.starts_with(DELETE_FROM_LIST);
        let key = if deletes { field_of(&name, DELETE_FROM_LIST)?.to_owned() } else { name };
        if value.is_null() {
            original.remove(&key);
            continue;
        }
        let merged = match (original.remove(&key), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) => {
                let (place, patch) = schema.object(&key).map_err(PatchError::Failed)?;
                Some(Value::Object(if strategy(&patch)? == "replace" {
                    theirs
                } else {
                    merge_objects(ours, theirs, &place)?
                }))
            }
            (Some(Value::Array(ours)), Value::Array(theirs)) => {
                let (place, patch) = schema.items(&key).map_err(PatchError::Failed)?;
                let merged = merge_lists(ours, theirs, &place, &patch, deletes)?;
                Some(Value::Array(merged.items))
            }
            (present, _) if deletes => present,
            (_, Value::Object(mut theirs)) => {
                discard_nulls(&mut theirs);
                without_directives(Value::Object(theirs))
            }
            (_, Value::Array(mut theirs)) => {
                discard_item_nulls(&mut theirs);
                without_directives(Value::Array(theirs))
            }
            (_, scalar) => Some(scalar),
        };
        if let Some(merged) = merged {
            original.insert(key, merged);
        }
    }
    Ok(original)
}

/// Removes the fields that `$retainKeys` does not name.
fn retain_keys(original: &mut Members, patch: &mut Members) -> Result<(), PatchError> {
    let bad = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let keys = keys.as_array().ok_or_else(bad)?;
    let named = |key: &str| keys.iter().any(|known| known.as_str() == Some(key));
    for (key, value) in &*patch {
        let exempt =
            value.is_null() || key.starts_with(DELETE_FROM_LIST) || key.starts_with(SET_ORDER);
        if !exempt && !named(key) {
            return Err(bad());
        }
    }
    original.retain(|key, _| named(key));
    Ok(())
}

/// Merges the lists for which the patch has a `$setElementOrder`, and takes them from the patch.
fn merge_ordered_lists<S: PatchSchema>(
    original: &mut Members,
    patch: &mut Members,
    schema: &S,
) -> Result<(), PatchError> {
    let names: Vec<String> =
        patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for name in names {
        let order = match patch.remove(&name) {
            Some(Value::Array(order)) => order,
            other => return Err(wrong_type("[]interface {}", &other.unwrap_or_default())),
        };
        let key = field_of(&name, SET_ORDER)?;
        let list = |value: Option<&Value>| match value {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.clone())),
            Some(other) => Err(wrong_type("[]interface {}", other)),
        };
        let live = list(original.get(key))?;
        let changes = list(patch.get(key))?;
        let (place, field) = schema.items(key).map_err(PatchError::Failed)?;
        strategy(&field)?;
        check_order(changes.as_deref().unwrap_or_default(), &order, &field.merge_key)?;
        let mut live_view = live.clone().unwrap_or_default();
        let merged = match (&live, &changes) {
            (None, None) => continue,
            (Some(live), None) => live.clone(),
            (None, Some(changes)) => {
                changes.iter().cloned().filter_map(without_directives).collect()
            }
            (Some(live), Some(changes)) => {
                let merged = merge_lists(live.clone(), changes.clone(), &place, &field, false)?;
                if let Some(view) = merged.live_view {
                    live_view = view;
                }
                merged.items
            }
        };
        let (patched, live_only) = partition(merged, &order, &field.merge_key)?;
        let objects = items_are_objects(&[&live_view, changes.as_deref().unwrap_or_default()])?;
        let identity = Identity { merge_key: &field.merge_key, objects };
        let both = weave(patched, live_only, &order, &live_view, identity)?;
        original.insert(key.to_owned(), Value::Array(both));
        patch.remove(key);
    }
    Ok(())
}

/// The items of the patch must stand in the order that the patch itself demands.
fn check_order(changes: &[Value], order: &[Value], merge_key: &str) -> Result<(), PatchError> {
    if changes.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut left: Vec<&Value> = Vec::new();
    for item in changes {
        if merge_key.is_empty() {
            left.push(item);
        } else if !item.is_object() {
            return Err(wrong_type("map[string]interface {}", item));
        } else if item.get(DIRECTIVE).is_none_or(|directive| directive != "delete") {
            left.push(item);
        }
    }
    let mut left = left.into_iter().peekable();
    let mut places = order.iter();
    let mut place = places.next();
    while let (Some(item), Some(wanted)) = (left.peek(), place) {
        if item.get(DIRECTIVE).is_some() {
            left.next();
            continue;
        }
        let same = if merge_key.is_empty() {
            *item == wanted
        } else {
            merge_key_of(item, merge_key)? == merge_key_of(wanted, merge_key)?
        };
        if same {
            left.next();
        }
        place = places.next();
    }
    if left.peek().is_some() && place.is_none() {
        let print = |list: &[Value]| value::plain(&Value::Array(list.to_vec()));
        return Err(PatchError::Failed(format!(
            "The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n",
            print(changes),
            print(order)
        )));
    }
    Ok(())
}

fn merge_key_of<'a>(item: &'a Value, merge_key: &str) -> Result<&'a Value, PatchError> {
    match item {
        Value::Object(members) => {
            members.get(merge_key).ok_or_else(|| missing_key(item, merge_key))
        }
        other => Err(wrong_type("map[string]interface {}", other)),
    }
}

/// A merged list.
struct Merged {
    items: Vec<Value>,
    /// What upstream's array behind the live list holds afterwards: deletions move items down in it
    /// and additions take the freed places, which the final order can show.
    live_view: Option<Vec<Value>>,
}

fn merge_lists<S: PatchSchema>(
    live: Vec<Value>,
    changes: Vec<Value>,
    place: &S,
    field: &FieldPatch,
    deletes: bool,
) -> Result<Merged, PatchError> {
    let plain = |items: Vec<Value>| Merged { items, live_view: None };
    if strategy(field)? != "merge" && !deletes {
        return Ok(plain(changes));
    }
    if live.is_empty() && changes.is_empty() {
        return Ok(plain(live));
    }
    let objects = items_are_objects(&[&live, &changes])?;
    if !objects {
        if deletes {
            return Ok(plain(live.into_iter().filter(|item| !changes.contains(item)).collect()));
        }
        let both = deduplicate(live.iter().chain(&changes).cloned().collect());
        let (patched, live_only) = partition(both, &changes, &field.merge_key)?;
        let identity = Identity { merge_key: &field.merge_key, objects };
        return weave(patched, live_only, &changes, &live, identity).map(plain);
    }
    let merge_key = field.merge_key.as_str();
    if merge_key.is_empty() {
        return Err(PatchError::Failed(format!(
            "cannot merge lists without merge key for {}",
            place.name()
        )));
    }
    let mut list = LiveList::new(live, merge_key);
    let (changes, replaced) = list.take_directives(changes)?;
    if replaced {
        // Nothing is left of the live list: the patch stands for it.
        let (patched, live_only) = partition(changes.clone(), &[], merge_key)?;
        let items = weave(patched, live_only, &[], &changes, Identity { merge_key, objects })?;
        return Ok(Merged { items, live_view: Some(list.view) });
    }
    let live_order = list.items.clone();
    list.merge(&changes, place)?;
    let view = list.view;
    let (patched, live_only) = partition(list.items, &changes, merge_key)?;
    let identity = Identity { merge_key, objects };
    let items = weave(patched, live_only, &changes, &live_order, identity)?;
    Ok(Merged { items, live_view: Some(view) })
}

/// A list of objects that is being merged, with upstream's array behind it.
struct LiveList<'a> {
    items: Vec<Value>,
    view: Vec<Value>,
    /// Whether additions still go to the same array.
    shares: bool,
    merge_key: &'a str,
}

impl<'a> LiveList<'a> {
    fn new(items: Vec<Value>, merge_key: &'a str) -> Self {
        Self { view: items.clone(), items, shares: true, merge_key }
    }

    /// Acts on the items that are directives; returns the others, and whether they replace the list.
    fn take_directives(&mut self, changes: Vec<Value>) -> Result<(Vec<Value>, bool), PatchError> {
        let mut others = Vec::new();
        let mut replaced = false;
        for item in changes {
            let Some(directive) = item.get(DIRECTIVE) else {
                others.push(item);
                continue;
            };
            match directive.as_str() {
                Some("delete") => {
                    let key = item.get(self.merge_key);
                    let key = key.ok_or_else(|| missing_key(&item, self.merge_key))?;
                    while let Some(at) = self.find(key)? {
                        self.items.remove(at);
                        self.view[at..=self.items.len()].rotate_left(1);
                        let stale = self.items.len().checked_sub(1);
                        if let Some(last) = stale.filter(|last| *last >= at) {
                            self.view[self.items.len()] = self.view[last].clone();
                        }
                    }
                }
                Some("replace") => replaced = true,
                Some("merge") => {
                    return Err(PatchError::Failed(
                        "merging lists cannot yet be specified in the patch".to_owned(),
                    ));
                }
                _ => return Err(unknown_directive(directive, &item)),
            }
        }
        Ok((others, replaced))
    }

    fn merge<S: PatchSchema>(&mut self, changes: &[Value], place: &S) -> Result<(), PatchError> {
        for change in changes {
            let Value::Object(theirs) = change else {
                return Err(wrong_type("map[string]interface {}", change));
            };
            let key = theirs.get(self.merge_key);
            let key = key.ok_or_else(|| missing_key(change, self.merge_key))?;
            let found = self.find(key)?;
            if let Some(at) = found {
                let Value::Object(ours) = self.items[at].take() else { continue };
                let merged = Value::Object(merge_objects(ours, theirs.clone(), place)?);
                if self.shares {
                    self.view[at] = merged.clone();
                }
                self.items[at] = merged;
            } else {
                self.shares = self.shares && self.items.len() < self.view.len();
                if self.shares {
                    self.view[self.items.len()] = change.clone();
                }
                self.items.push(change.clone());
            }
        }
        Ok(())
    }

    fn find(&self, key: &Value) -> Result<Option<usize>, PatchError> {
        for (index, item) in self.items.iter().enumerate() {
            match item {
                Value::Object(members) if members.get(self.merge_key) == Some(key) => {
                    return Ok(Some(index));
                }
                Value::Object(_) => {}
                _ => return Err(PatchError::Failed(format!("value for key {index} is not a map"))),
            }
        }
        Ok(None)
    }
}

/// Whether the lists hold objects; all items must be of one type.
fn items_are_objects(lists: &[&[Value]]) -> Result<bool, PatchError> {
    let mut first: Option<&Value> = None;
    for item in lists.iter().copied().flatten() {
        match first {
            None if item.is_array() => {
                return Err(PatchError::NotApplicable(
                    "lists of lists are not supported".to_owned(),
                ));
            }
            None => first = Some(item),
            Some(known) if go_type(known) != go_type(item) => {
                let all: Vec<Value> =
                    lists.iter().map(|list| Value::Array(list.to_vec())).collect();
                return Err(PatchError::Failed(format!(
                    "list element types are not identical: {}",
                    value::plain(&Value::Array(all))
                )));
            }
            Some(_) => {}
        }
    }
    match first {
        // Upstream panics for a list of nulls.
        None | Some(Value::Null) => {
            Err(PatchError::Failed("no elements in any of the given slices".to_owned()))
        }
        Some(first) => Ok(first.is_object()),
    }
}

/// Drops repeated scalars like upstream, which fills the gap with the last item.
fn deduplicate(mut items: Vec<Value>) -> Vec<Value> {
    let mut at = 0;
    while at + 1 < items.len() {
        let mut other = at + 1;
        while other < items.len() {
            if items[at] == items[other] {
                items.swap_remove(other);
            } else {
                other += 1;
            }
        }
        at += 1;
    }
    items
}

/// Takes away every object that carries a directive.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(members) if members.contains_key(DIRECTIVE) => None,
        Value::Object(members) => Some(Value::Object(
            members
                .into_iter()
                .filter_map(|(key, member)| Some((key, without_directives(member)?)))
                .collect(),
        )),
        Value::Array(items) => {
            Some(Value::Array(items.into_iter().filter_map(without_directives).collect()))
        }
        other => Some(other),
    }
}

fn discard_nulls(members: &mut Members) {
    members.retain(|_, member| !member.is_null());
    for member in members.values_mut() {
        match member {
            Value::Object(inner) => discard_nulls(inner),
            Value::Array(items) => discard_item_nulls(items),
            _ => {}
        }
    }
}

fn discard_item_nulls(items: &mut [Value]) {
    for item in items {
        match item {
            Value::Object(inner) => discard_nulls(inner),
            Value::Array(items) => discard_item_nulls(items),
            _ => {}
        }
    }
}

/// The field that a directive such as `$setElementOrder/ports` speaks of.
fn field_of<'a>(name: &'a str, prefix: &str) -> Result<&'a str, PatchError> {
    match name.split_once('/') {
        Some((found, key)) if found == prefix => Ok(key),
        _ => Err(PatchError::Malformed(
            if prefix == SET_ORDER {
                "invalid patch format of setElementOrder list"
            } else {
                "invalid patch format of primitive list"
            }
            .to_owned(),
        )),
    }
}

/// The strategy of a field without `retainKeys`, which only matters for making patches.
fn strategy(field: &FieldPatch) -> Result<&str, PatchError> {
    let parts: Vec<&str> = field.strategy.split(',').collect();
    match parts.as_slice() {
        ["retainKeys"] => Ok(""),
        [single] => Ok(single),
        ["retainKeys", other] | [other, "retainKeys"] => Ok(other),
        other => {
            Err(PatchError::Failed(format!("unexpected patch strategy: [{}]", other.join(" "))))
        }
    }
}

fn unknown_directive(directive: &Value, map: &Value) -> PatchError {
    PatchError::Failed(format!(
        "unknown patch type: {} in map: {}",
        go_text(directive),
        value::plain(map)
    ))
}

pub(super) fn missing_key(item: &Value, merge_key: &str) -> PatchError {
    PatchError::Failed(format!(
        "map: {} does not contain declared merge key: {merge_key}",
        value::plain(item)
    ))
}

pub(super) fn wrong_type(wanted: &str, found: &Value) -> PatchError {
    PatchError::Failed(format!("expected a {wanted}, but received a {}", go_type(found)))
}
