//! Merging a configuration into a live value: the configuration's leaves win, nothing is removed, and
//! lists keep an order that both sides recognise.

use std::collections::VecDeque;

use serde_json::Value;

use super::element::PathElement;
use super::model::{List, ListRelationship, Map, Shape, TypeId, TypeRef};
use super::typed::{Seen, TypeFaults, entries, entry_type, items, scalar_fault};

impl TypeRef {
    /// `live` with the values of `config`. Both must be valid; `config` without duplicate items.
    pub fn merge(&self, live: &Value, config: &Value) -> Result<Value, TypeFaults> {
        let mut faults = TypeFaults::default();
        let mut merged = live.clone();
        if self.overlay(self.root, &mut merged, config, &mut faults) == Outcome::Nothing {
            merged = Value::Null;
        }
        faults.into_result(merged)
    }

    fn overlay(
        &self,
        id: TypeId,
        live: &mut Value,
        config: &Value,
        faults: &mut TypeFaults,
    ) -> Outcome {
        match self.shape(id, Some(config)) {
            Shape::Scalar(scalar) => {
                let live_fault = scalar_fault(scalar, Some(live));
                if let (Some(live_fault), Some(fault)) =
                    (live_fault, scalar_fault(scalar, Some(config)))
                {
                    faults.push(format!("lhs: {live_fault}"));
                    faults.push(format!("rhs: {fault}"));
                    return Outcome::Nothing;
                }
            }
            Shape::List(list) => {
                let empty = items(Some(live)).is_empty() && items(Some(config)).is_empty();
                if !empty && !matches!(list.relationship, ListRelationship::Atomic) {
                    return self.weave(list, live, items(Some(config)), faults);
                }
            }
            Shape::Map(map) => {
                let none = |value| entries(Some(value)).is_none_or(serde_json::Map::is_empty);
                let empty = none(live) && none(config);
                if !empty && !map.atomic {
                    return self.overlay_entries(map, live, config, faults);
                }
            }
            Shape::Broken(type_of) => {
                faults.push(type_of.why_broken());
                return Outcome::Nothing;
            }
        }
        live.clone_from(config);
        Outcome::Something
    }

    fn overlay_entries(
        &self,
        map: &Map,
        live: &mut Value,
        config: &Value,
        faults: &mut TypeFaults,
    ) -> Outcome {
        if !live.is_object() {
            *live = Value::Object(serde_json::Map::new());
        }
        let Value::Object(lives) = live else { return Outcome::Nothing };
        for (name, config) in entries(Some(config)).into_iter().flatten() {
            let Some(entry) = lives.get_mut(name) else {
                lives.insert(name.clone(), config.clone());
                continue;
            };
            let start = faults.0.len();
            let outcome = self.overlay(entry_type(map, name), entry, config, faults);
            faults.prefix(start, || format!(".{name}"));
            if outcome == Outcome::Nothing {
                lives.remove(name);
            }
        }
        if lives.is_empty() { Outcome::Nothing } else { Outcome::Something }
    }

    /// Both lists as one: shared and new items in the configuration's order, the items that only the
    /// live list has at their place between the shared ones.
    fn weave(
        &self,
        list: &List,
        live: &mut Value,
        config_items: &[Value],
        faults: &mut TypeFaults,
    ) -> Outcome {
        let start = faults.0.len();
        let mut live_items = match live.take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        let configs = self.index(list, config_items, Repeats::Refused, faults);
        let lives = self.index(list, &live_items, Repeats::Nulled, faults);
        if faults.0.len() > start {
            return Outcome::Nothing;
        }
        let mut shared: VecDeque<&PathElement> =
            configs.order.iter().map(|(element, _)| element).filter(|e| lives.has(e)).collect();
        let mut next_shared = shared.pop_front();
        let mut merged = Seen::default();
        let mut out = Vec::with_capacity(live_items.len().max(config_items.len()));
        // Every live item is taken once at most, so that it can be moved.
        let mut add = |live: Option<Found>, config: Option<&Value>| {
            let mut item = match live {
                Some(Found::At(place)) => live_items.get_mut(place).map(Value::take),
                Some(Found::Repeated) => Some(Value::Null),
                None => None,
            };
            match (&mut item, config) {
                (Some(item), Some(config)) => {
                    // Upstream loses the faults of single items here; so do we.
                    let lost = &mut TypeFaults::default();
                    if self.overlay(list.element, item, config, lost) == Outcome::Nothing {
                        return;
                    }
                }
                (None, Some(config)) => item = Some(config.clone()),
                _ => {}
            }
            out.extend(item);
        };
        let (mut live_at, mut config_at) = (0, 0);
        loop {
            let live = lives.order.get(live_at);
            let config = configs.order.get(config_at);
            if live.is_none() && config.is_none() {
                break;
            }
            if let (Some((live, _)), Some((config, place))) = (live, config) {
                if live == config {
                    merged.insert(live.clone());
                    add(lives.get(live), config_items.get(*place));
                    live_at += 1;
                    config_at += 1;
                    next_shared = shared.pop_front();
                    continue;
                }
                if configs.has(live) && next_shared.is_some_and(|next| next != live) {
                    // Shared, but its turn comes later.
                    live_at += 1;
                    continue;
                }
            }
            if let Some((live, place)) = live {
                if !configs.has(live) {
                    add(Some(Found::At(*place)), None);
                    live_at += 1;
                    continue;
                }
                if merged.has(live) {
                    live_at += 1;
                }
            }
            if let Some((config, place)) = config {
                merged.insert(config.clone());
                add(lives.get(config), config_items.get(*place));
                config_at += 1;
                if next_shared == Some(config) {
                    next_shared = shared.pop_front();
                }
            }
        }
        if out.is_empty() {
            return Outcome::Nothing;
        }
        *live = Value::Array(out);
        Outcome::Something
    }

    fn index(
        &self,
        list: &List,
        items: &[Value],
        repeats: Repeats,
        faults: &mut TypeFaults,
    ) -> Indexed {
        let mut indexed = Indexed {
            order: Vec::with_capacity(items.len()),
            named: Vec::with_capacity(items.len()),
        };
        for (place, item) in items.iter().enumerate() {
            let element = match self.item_element(list, item) {
                Ok(element) => element,
                Err(why) => {
                    faults.push(format!("element {place}: {why}"));
                    continue;
                }
            };
            match indexed.find(&element) {
                Ok(_) if repeats == Repeats::Refused => {
                    faults.push(format!("duplicate entries for key {element}"));
                    continue;
                }
                // Which of several items a configuration means is unknown: it is merged with none.
                Ok(known) => indexed.named[known].1 = Found::Repeated,
                Err(new) => indexed.named.insert(new, (element.clone(), Found::At(place))),
            }
            indexed.order.push((element, place));
        }
        indexed
    }
}

/// Whether a merge leaves a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Something,
    Nothing,
}

/// What an item with a name that was there before does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeats {
    Refused,
    Nulled,
}

/// Where the item of a name is.
#[derive(Clone, Copy)]
enum Found {
    At(usize),
    /// There are several.
    Repeated,
}

/// The items of a list in order and by name, as places in it.
struct Indexed {
    order: Vec<(PathElement, usize)>,
    named: Vec<(PathElement, Found)>,
}

impl Indexed {
    fn find(&self, element: &PathElement) -> Result<usize, usize> {
        self.named.binary_search_by(|(known, _)| known.cmp(element))
    }

    fn has(&self, element: &PathElement) -> bool {
        self.find(element).is_ok()
    }

    fn get(&self, element: &PathElement) -> Option<Found> {
        self.find(element).ok().map(|place| self.named[place].1)
    }
}
