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
        let merged = self.join(self.root, live, config, &mut faults);
        faults.into_result(merged.unwrap_or(Value::Null))
    }

    fn join(
        &self,
        id: TypeId,
        live: &Value,
        config: &Value,
        faults: &mut TypeFaults,
    ) -> Option<Value> {
        match self.shape(id, Some(config)) {
            Shape::Scalar(scalar) => {
                let live_fault = scalar_fault(scalar, Some(live));
                if let (Some(live_fault), Some(fault)) =
                    (live_fault, scalar_fault(scalar, Some(config)))
                {
                    faults.push(format!("lhs: {live_fault}"));
                    faults.push(format!("rhs: {fault}"));
                    return None;
                }
                Some(config.clone())
            }
            Shape::List(list) => {
                let (lives, configs) = (items(Some(live)), items(Some(config)));
                let empty = lives.is_empty() && configs.is_empty();
                if empty || matches!(list.relationship, ListRelationship::Atomic) {
                    return Some(config.clone());
                }
                self.weave(list, lives, configs, faults)
            }
            Shape::Map(map) => {
                let (lives, configs) = (entries(Some(live)), entries(Some(config)));
                let empty = lives.is_none_or(serde_json::Map::is_empty)
                    && configs.is_none_or(serde_json::Map::is_empty);
                if empty || map.atomic {
                    return Some(config.clone());
                }
                self.join_entries(map, lives, configs, faults)
            }
            Shape::Broken(type_of) => {
                faults.push(type_of.why_broken());
                None
            }
        }
    }

    fn join_entries(
        &self,
        map: &Map,
        lives: Option<&serde_json::Map<String, Value>>,
        configs: Option<&serde_json::Map<String, Value>>,
        faults: &mut TypeFaults,
    ) -> Option<Value> {
        let mut out = serde_json::Map::new();
        for (name, live) in lives.into_iter().flatten() {
            let merged = match configs.and_then(|configs| configs.get(name)) {
                None => Some(live.clone()),
                Some(config) => {
                    let start = faults.0.len();
                    let merged = self.join(entry_type(map, name), live, config, faults);
                    faults.prefix(start, || format!(".{name}"));
                    merged
                }
            };
            if let Some(merged) = merged {
                out.insert(name.clone(), merged);
            }
        }
        for (name, config) in configs.into_iter().flatten() {
            if lives.is_none_or(|lives| !lives.contains_key(name)) {
                out.insert(name.clone(), config.clone());
            }
        }
        (!out.is_empty()).then_some(Value::Object(out))
    }

    /// Both lists as one: shared and new items in the configuration's order, the items that only the
    /// live list has at their place between the shared ones.
    fn weave(
        &self,
        list: &List,
        lives: &[Value],
        configs: &[Value],
        faults: &mut TypeFaults,
    ) -> Option<Value> {
        let start = faults.0.len();
        let configs = self.index(list, configs, Repeats::Refused, faults);
        let lives = self.index(list, lives, Repeats::Nulled, faults);
        if faults.0.len() > start {
            return None;
        }
        let mut shared: VecDeque<&PathElement> =
            configs.order.iter().map(|(element, _)| element).filter(|e| lives.has(e)).collect();
        let mut next_shared = shared.pop_front();
        let mut merged = Seen::default();
        let mut out = Vec::with_capacity(lives.order.len().max(configs.order.len()));
        let mut add = |live: Option<&Value>, config: Option<&Value>| {
            let item = match (live, config) {
                // Upstream loses the faults of single items here; so do we.
                (Some(live), Some(config)) => {
                    self.join(list.element, live, config, &mut TypeFaults::default())
                }
                (live, config) => live.or(config).cloned(),
            };
            out.extend(item);
        };
        let (mut live_at, mut config_at) = (0, 0);
        loop {
            let live = lives.order.get(live_at);
            let config = configs.order.get(config_at);
            if live.is_none() && config.is_none() {
                break;
            }
            if let (Some((live, _)), Some((config, _))) = (live, config) {
                if live == config {
                    merged.insert(live.clone());
                    add(lives.get(live), configs.get(live));
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
            if let Some((live, item)) = live {
                if !configs.has(live) {
                    add(Some(item), None);
                    live_at += 1;
                    continue;
                }
                if merged.has(live) {
                    live_at += 1;
                }
            }
            if let Some((config, _)) = config {
                merged.insert(config.clone());
                add(lives.get(config), configs.get(config));
                config_at += 1;
                if next_shared == Some(config) {
                    next_shared = shared.pop_front();
                }
            }
        }
        (!out.is_empty()).then_some(Value::Array(out))
    }

    fn index<'v>(
        &self,
        list: &List,
        items: &'v [Value],
        repeats: Repeats,
        faults: &mut TypeFaults,
    ) -> Indexed<'v> {
        let mut indexed = Indexed {
            order: Vec::with_capacity(items.len()),
            named: Vec::with_capacity(items.len()),
        };
        for (index, item) in items.iter().enumerate() {
            let element = match self.item_element(list, item) {
                Ok(element) => element,
                Err(why) => {
                    faults.push(format!("element {index}: {why}"));
                    continue;
                }
            };
            match indexed.find(&element) {
                Ok(_) if repeats == Repeats::Refused => {
                    faults.push(format!("duplicate entries for key {element}"));
                    continue;
                }
                // Which of several items a configuration means is unknown: it is merged with none.
                Ok(place) => indexed.named[place].1 = &Value::Null,
                Err(place) => indexed.named.insert(place, (element.clone(), item)),
            }
            indexed.order.push((element, item));
        }
        indexed
    }
}

/// What an item with a name that was there before does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeats {
    Refused,
    Nulled,
}

/// The items of a list in order and by name.
struct Indexed<'v> {
    order: Vec<(PathElement, &'v Value)>,
    named: Vec<(PathElement, &'v Value)>,
}

impl<'v> Indexed<'v> {
    fn find(&self, element: &PathElement) -> Result<usize, usize> {
        self.named.binary_search_by(|(known, _)| known.cmp(element))
    }

    fn has(&self, element: &PathElement) -> bool {
        self.find(element).is_ok()
    }

    fn get(&self, element: &PathElement) -> Option<&'v Value> {
        self.find(element).ok().map(|place| self.named[place].1)
    }
}
