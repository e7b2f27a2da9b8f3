//! Associative lists: kyaml's way to find, set and delete items by keys.
//!
//! A list consists of positions in a [`Store`], because in kyaml lists share their items: an item of the target that a
//! patch changed is in the result by reference, sometimes twice.

use sluice_yaml::Node;

use super::facts::{
    Kind, field, is_null, is_null_or_empty_map, kind, quote_if_special, raw, take_style, untagged,
    wrong_kind,
};
use crate::failure::Result;

/// The items of all lists of one merge.
#[derive(Default)]
pub(super) struct Store {
    nodes: Vec<Node>,
}

/// The position of an item.
pub(super) type Place = usize;

impl Store {
    /// Adds items.
    pub(super) fn extend(&mut self, items: Vec<Node>) -> Vec<Place> {
        let start = self.nodes.len();
        self.nodes.extend(items);
        (start..self.nodes.len()).collect()
    }

    pub(super) fn push(&mut self, node: Node) -> Place {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    pub(super) fn get(&self, place: Place) -> &Node {
        self.nodes.get(place).expect("places come from the store")
    }

    pub(super) fn get_mut(&mut self, place: Place) -> &mut Node {
        self.nodes.get_mut(place).expect("places come from the store")
    }

    /// Two distinct items.
    pub(super) fn pair_mut(&mut self, first: Place, second: Place) -> (&mut Node, &mut Node) {
        let [first, second] =
            self.nodes.get_disjoint_mut([first, second]).expect("places differ and are stored");
        (first, second)
    }

    /// The items of a list; an item that occurs more than once is copied.
    pub(super) fn take(mut self, list: &[Place]) -> Vec<Node> {
        let mut uses = vec![0_usize; self.nodes.len()];
        for place in list {
            uses[*place] += 1;
        }
        let mut items = Vec::with_capacity(list.len());
        for place in list {
            uses[*place] -= 1;
            let node = self.get_mut(*place);
            items.push(if uses[*place] == 0 { std::mem::take(node) } else { node.clone() });
        }
        items
    }

    /// The first item of `list` with these `values` in the fields `keys`; with an empty key, the first item that is this
    /// scalar.
    pub(super) fn find(&self, list: &[Place], keys: &[&str], values: &[&str]) -> Option<Place> {
        let is_it = |place: &&Place| {
            let node = self.get(**place);
            match keys {
                ["", ..] => values.first().is_some_and(|value| raw(node) == *value),
                _ => {
                    !is_null(node)
                        && kind(node) == Kind::Mapping
                        && keys.iter().zip(values).all(|(key, value)| {
                            field(node, key).is_some_and(|found| raw(found) == *value)
                        })
                }
            }
        };
        list.iter().find(is_it).copied()
    }

    /// Replaces the matching items by `element`, or adds it; without one, deletes them. Empty items are dropped on the way.
    /// Without values all items are dropped: kyaml matches every item then.
    pub(super) fn set(
        &self,
        list: &mut Vec<Place>,
        element: Option<Place>,
        keys: &[&str],
        values: &[String],
    ) -> Result<()> {
        let wants_mapping = keys.first().is_some_and(|key| !key.is_empty())
            && values.first().is_some_and(|value| !value.is_empty());
        let mut found_one = false;
        let mut kept = Vec::with_capacity(list.len() + 1);
        for &place in list.iter() {
            let node = self.get(place);
            if is_null_or_empty_map(node) {
                continue;
            }
            if wants_mapping && kind(node) != Kind::Mapping {
                kept.push(place);
                continue;
            }
            if !matches(node, keys, values)? {
                if !values.is_empty() {
                    kept.push(place);
                }
                continue;
            }
            found_one = true;
            kept.extend(element);
        }
        *list = kept;
        if let Some(element) = element
            && !found_one
            && !is_null(self.get(element))
        {
            list.push(element);
        }
        Ok(())
    }

    /// Sets a missing key field of an item.
    pub(super) fn set_key(&mut self, place: Place, key: &str, value: &str) -> Result<()> {
        let node = self.get_mut(place);
        if field(node, key).is_some() || value.is_empty() {
            return Ok(());
        }
        let mut scalar = untagged(value);
        if key.is_empty() {
            if kind(node) != Kind::Scalar {
                return Err(wrong_kind(Kind::Scalar, node));
            }
            take_style(&mut scalar, node);
            *node = scalar;
            return Ok(());
        }
        quote_if_special(&mut scalar);
        match node.fields_mut() {
            Some(fields) => fields.push((untagged(key), scalar)),
            None => return Err(wrong_kind(Kind::Mapping, node)),
        }
        Ok(())
    }
}

/// Whether an item that is not null has these fields. An empty value matches any; with fewer values than keys, the last
/// comparison counts for the rest.
pub(super) fn matches(node: &Node, keys: &[&str], values: &[String]) -> Result<bool> {
    let mut matched = false;
    for (index, key) in keys.iter().enumerate() {
        if let Some(value) = values.get(index) {
            matched = if key.is_empty() {
                if kind(node) != Kind::Scalar {
                    return Err(wrong_kind(Kind::Scalar, node));
                }
                raw(node) == value
            } else {
                if kind(node) != Kind::Mapping {
                    return Err(wrong_kind(Kind::Mapping, node));
                }
                field(node, key).is_some_and(|found| value.is_empty() || raw(found) == value)
            };
        }
        if !matched {
            return Ok(false);
        }
    }
    Ok(matched)
}
