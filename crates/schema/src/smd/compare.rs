//! What changed between two values of one type: fields added, modified and removed.

use serde_json::Value;

use super::element::PathElement;
use super::model::{List, ListRelationship, Map, Shape, TypeId, TypeRef, form};
use super::set::FieldSet;
use super::typed::{TypeFaults, entries, entry_type, field_element, items, scalar_fault};
use super::values;

/// The fields that differ between two values; no path is in two of the sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Only in the first value.
    pub removed: FieldSet,
    /// In both, with different values.
    pub modified: FieldSet,
    /// Only in the second value.
    pub added: FieldSet,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }
}

/// What differs at and below one place.
#[derive(Default)]
struct Level {
    removed: bool,
    modified: bool,
    added: bool,
    below: Comparison,
}

/// Whether the place was compared as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaf {
    Yes,
    No,
}

impl TypeRef {
    /// Compares two values of this type.
    pub fn compare(&self, left: &Value, right: &Value) -> Result<Comparison, TypeFaults> {
        let mut faults = TypeFaults::default();
        let level = self.differ(self.root, Some(left), Some(right), &mut faults);
        faults.into_result(level.below)
    }

    fn differ(
        &self,
        id: TypeId,
        left: Option<&Value>,
        right: Option<&Value>,
        faults: &mut TypeFaults,
    ) -> Level {
        let mut level = Level::default();
        // Where the two values take different forms of their type, each form has its say.
        if left.is_some()
            && right.is_some()
            && let Some(atom) = self.atom(id)
            && form(atom, left) != form(atom, right)
        {
            self.differ_as(self.shape(id, left), left, right, &mut level, faults);
        }
        let shape = self.shape(id, right.or(left));
        let leaf = self.differ_as(shape, left, right, &mut level, faults);
        if leaf == Leaf::No {
            level.added |= left.is_none();
            level.removed |= right.is_none();
        }
        level
    }

    fn differ_as(
        &self,
        shape: Shape<'_>,
        left: Option<&Value>,
        right: Option<&Value>,
        level: &mut Level,
        faults: &mut TypeFaults,
    ) -> Leaf {
        match shape {
            Shape::Scalar(scalar) => {
                let (left_fault, right_fault) =
                    (scalar_fault(scalar, left), scalar_fault(scalar, right));
                if let (Some(left_fault), Some(right_fault)) = (left_fault, right_fault) {
                    faults.push(format!("lhs: {left_fault}"));
                    faults.push(format!("rhs: {right_fault}"));
                    return Leaf::No;
                }
            }
            Shape::List(list) => {
                let empty = items(left).is_empty() && items(right).is_empty();
                if !empty && !matches!(list.relationship, ListRelationship::Atomic) {
                    self.differ_items(list, left, right, level, faults);
                    return Leaf::No;
                }
            }
            Shape::Map(map) => {
                let (lefts, rights) = (entries(left), entries(right));
                let empty = lefts.is_none_or(serde_json::Map::is_empty)
                    && rights.is_none_or(serde_json::Map::is_empty);
                if !empty && !map.atomic {
                    self.differ_entries(map, lefts, rights, level, faults);
                    return Leaf::No;
                }
            }
            Shape::Broken(type_of) => {
                faults.push(type_of.why_broken());
                return Leaf::No;
            }
        }
        match (left, right) {
            (None, _) => level.added = true,
            (_, None) => level.removed = true,
            (Some(left), Some(right)) => level.modified |= !values::equal(left, right),
        }
        Leaf::Yes
    }

    fn differ_entries(
        &self,
        map: &Map,
        lefts: Option<&serde_json::Map<String, Value>>,
        rights: Option<&serde_json::Map<String, Value>>,
        level: &mut Level,
        faults: &mut TypeFaults,
    ) {
        let mut visit = |name: &str, left: Option<&Value>, right: Option<&Value>| {
            let start = faults.0.len();
            let found = self.differ(entry_type(map, name), left, right, faults);
            faults.prefix(start, || format!(".{name}"));
            level.take(found, || field_element(map.entry(name).0, name));
        };
        for (name, left) in lefts.into_iter().flatten() {
            visit(name, Some(left), rights.and_then(|rights| rights.get(name)));
        }
        for (name, right) in rights.into_iter().flatten() {
            if lefts.is_none_or(|lefts| !lefts.contains_key(name)) {
                visit(name, None, Some(right));
            }
        }
    }

    fn differ_items(
        &self,
        list: &List,
        left: Option<&Value>,
        right: Option<&Value>,
        level: &mut Level,
        faults: &mut TypeFaults,
    ) {
        let (lefts, rights) = (items(left), items(right));
        if lefts == rights {
            return;
        }
        let mut named: Vec<Named<'_>> = Vec::with_capacity(lefts.len().max(rights.len()));
        for (side, items) in [(Side::Left, lefts), (Side::Right, rights)] {
            for (index, item) in items.iter().enumerate() {
                match self.item_element(list, item) {
                    Ok(element) => {
                        let place =
                            match named.binary_search_by(|known| known.element.cmp(&element)) {
                                Ok(place) => place,
                                Err(place) => {
                                    named.insert(
                                        place,
                                        Named { element, lefts: Vec::new(), rights: Vec::new() },
                                    );
                                    place
                                }
                            };
                        match side {
                            Side::Left => named[place].lefts.push(item),
                            Side::Right => named[place].rights.push(item),
                        }
                    }
                    Err(why) => faults.push(format!("element {index}: {why}")),
                }
            }
        }
        for Named { element, lefts, rights } in named {
            let mut visit = |left: Option<&Value>, right: Option<&Value>| {
                let start = faults.0.len();
                let found = self.differ(list.element, left, right, faults);
                faults.prefix(start, || element.to_string());
                found
            };
            let found = match (lefts.as_slice(), rights.as_slice()) {
                ([] | [_], [] | [_]) => visit(lefts.first().copied(), rights.first().copied()),
                // Items that share a name are one thing, compared as a whole.
                ([_, _, ..], [_, _, ..]) => {
                    let same = lefts.len() == rights.len()
                        && lefts
                            .iter()
                            .zip(&rights)
                            .all(|(left, right)| values::equal(left, right));
                    Level { modified: !same, ..Level::default() }
                }
                ([_, _, ..], _) => {
                    let mut found = match rights.first() {
                        Some(right) => visit(None, Some(right)),
                        None => Level::default(),
                    };
                    found.removed = true;
                    found
                }
                (_, [_, _, ..]) => {
                    let mut found = match lefts.first() {
                        Some(left) => visit(Some(left), None),
                        None => Level::default(),
                    };
                    found.added = true;
                    found
                }
            };
            level.take(found, || element.clone());
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

struct Named<'a> {
    element: PathElement,
    lefts: Vec<&'a Value>,
    rights: Vec<&'a Value>,
}

impl Level {
    /// Puts what was found at and below `element` into this level.
    fn take(&mut self, found: Self, element: impl FnOnce() -> PathElement) {
        let nothing = |set: &FieldSet| set.members.is_empty() && set.children.is_empty();
        if !found.removed
            && !found.modified
            && !found.added
            && nothing(&found.below.removed)
            && nothing(&found.below.modified)
            && nothing(&found.below.added)
        {
            return;
        }
        let element = element();
        for (own, below, set) in [
            (found.removed, found.below.removed, &mut self.below.removed),
            (found.modified, found.below.modified, &mut self.below.modified),
            (found.added, found.below.added, &mut self.below.added),
        ] {
            if own {
                set.insert_member(element.clone());
            }
            set.insert_child(element.clone(), below);
        }
    }
}
