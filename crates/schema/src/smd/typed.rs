//! A value and its type: validation, identities of list items, the set of fields.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use sluice_base::go;

use super::element::{KeyField, PathElement};
use super::model::{List, ListRelationship, Map, Scalar, Shape, TypeId, TypeRef};
use super::set::FieldSet;
use super::values;

/// Whether a list may hold two items of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// Tolerated, as in objects that are stored already.
    Allowed,
    /// An error, as in applied configurations.
    Refused,
}

/// One way in which a value does not have its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeFault {
    pub(crate) path: String,
    pub(crate) message: String,
}

/// Every way in which a value does not match its type, with upstream's messages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TypeFaults(pub(crate) Vec<TypeFault>);

impl fmt::Display for TypeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl fmt::Display for TypeFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [fault] = self.0.as_slice() {
            return fault.fmt(f);
        }
        f.write_str("errors:")?;
        for fault in &self.0 {
            write!(f, "\n  {fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for TypeFaults {}

impl TypeFaults {
    pub(crate) fn push(&mut self, message: impl Into<String>) {
        self.0.push(TypeFault { path: String::new(), message: message.into() });
    }

    /// Puts `element` before the paths of the faults from `start` on.
    pub(crate) fn prefix(&mut self, start: usize, element: impl FnOnce() -> String) {
        if start < self.0.len() {
            let prefix = element();
            for fault in self.0.iter_mut().skip(start) {
                fault.path.insert_str(0, &prefix);
            }
        }
    }

    pub(crate) fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl TypeRef {
    /// Checks that `value` has this type.
    pub fn validate(&self, value: &Value, duplicates: Duplicates) -> Result<(), TypeFaults> {
        let mut faults = TypeFaults::default();
        self.check(self.root, value, duplicates, &mut faults);
        faults.into_result(())
    }

    fn check(&self, id: TypeId, value: &Value, duplicates: Duplicates, faults: &mut TypeFaults) {
        match self.shape(id, Some(value)) {
            Shape::Scalar(scalar) => {
                if let Some(why) = scalar_fault(scalar, Some(value)) {
                    faults.push(why);
                }
            }
            Shape::List(list) => match value {
                Value::Null => {}
                Value::Array(items) => self.check_items(list, items, duplicates, faults),
                other => faults.push(format!("expected list, got {}", values::go_wrapped(other))),
            },
            Shape::Map(map) => match value {
                Value::Null => {}
                Value::Object(entries) => {
                    for (name, entry) in entries {
                        let start = faults.0.len();
                        let Some(type_id) = map.entry(name).1 else {
                            faults.push("field not declared in schema");
                            faults.prefix(start, || format!(".{name}"));
                            // The first undeclared field ends the walk of its map.
                            return;
                        };
                        self.check(type_id, entry, duplicates, faults);
                        faults.prefix(start, || format!(".{name}"));
                    }
                }
                other => faults.push(format!("expected map, got {}", values::go_wrapped(other))),
            },
            Shape::Broken(type_of) => faults.push(type_of.why_broken()),
        }
    }

    fn check_items(
        &self,
        list: &List,
        items: &[Value],
        duplicates: Duplicates,
        faults: &mut TypeFaults,
    ) {
        let associative = !matches!(list.relationship, ListRelationship::Atomic);
        let mut seen = Seen::default();
        for (index, item) in items.iter().enumerate() {
            let mut element = None;
            if associative {
                match self.item_element(list, item) {
                    Ok(found) => {
                        if !seen.insert(found.clone()) && duplicates == Duplicates::Refused {
                            faults.push(format!("duplicate entries for key {found}"));
                        }
                        element = Some(found);
                    }
                    Err(why) => {
                        faults.push(format!("element {index}: {why}"));
                        return;
                    }
                }
            }
            let start = faults.0.len();
            self.check(list.element, item, duplicates, faults);
            faults.prefix(start, || {
                element.map_or_else(|| format!("[{index}]"), |element| element.to_string())
            });
        }
    }

    /// How an item of a set or of a keyed list is named.
    pub(crate) fn item_element(&self, list: &List, item: &Value) -> Result<PathElement, String> {
        match &list.relationship {
            ListRelationship::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListRelationship::Set => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => {
                    Err("not supported: associative list with lists as elements".to_owned())
                }
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit \
                                    null"
                        .to_owned())
                }
                scalar => Ok(PathElement::Value(Arc::new(scalar.clone()))),
            },
            ListRelationship::Keyed(keys) => self.keyed_element(list, keys, item),
        }
    }

    fn keyed_element(
        &self,
        list: &List,
        keys: &[Arc<str>],
        item: &Value,
    ) -> Result<PathElement, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => {
                return Err("associative list with keys may not have a null element".to_owned());
            }
            _ => {
                return Err("associative list with keys may not have non-map elements".to_owned());
            }
        };
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let value = match fields.get(&**key) {
                Some(value) => Some(value),
                None => self
                    .key_default(list, key)
                    .map_err(|why| format!("couldn't find default value for {key}: {why}"))?,
            };
            if let Some(value) = value {
                found.push(KeyField { name: Arc::clone(key), value: value.clone() });
            }
        }
        if !keys.is_empty() && found.is_empty() {
            let quoted: Vec<_> = keys.iter().map(|key| go::quote(key)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and \
                 doesn't have default values for any key fields)",
                quoted.join(" ")
            ));
        }
        Ok(PathElement::key(found))
    }

    fn key_default(&self, list: &List, key: &str) -> Result<Option<&Value>, &'static str> {
        let atom = self.atom(list.element).ok_or("invalid elementType for list")?;
        let map = atom.map.as_ref().ok_or("associative list may not have non-map types")?;
        Ok(map.fields.get(key).and_then(|field| field.default.as_ref()))
    }

    /// The fields that `value` sets.
    pub fn field_set(&self, value: &Value) -> FieldSet {
        self.fields_of(self.root, value).below
    }

    fn fields_of(&self, id: TypeId, value: &Value) -> Fields {
        match (self.shape(id, Some(value)), value) {
            (Shape::Scalar(_), _) => Fields::OWN,
            (Shape::List(list), _) if matches!(list.relationship, ListRelationship::Atomic) => {
                Fields::OWN
            }
            (Shape::List(list), Value::Array(items)) => self.fields_of_items(list, items),
            (Shape::Map(map), _) if map.atomic => Fields::OWN,
            (Shape::Map(map), Value::Object(entries)) => {
                let mut below = FieldSet::default();
                for (name, entry) in entries {
                    let (declared, type_id) = map.entry(name);
                    let Some(type_id) = type_id else { continue };
                    let fields = self.fields_of(type_id, entry);
                    let empty = match entry {
                        Value::Null => true,
                        Value::Object(entries) => entries.is_empty(),
                        _ => false,
                    };
                    let element = field_element(declared, name);
                    if fields.own || empty || declared.is_none() {
                        below.insert_member(element.clone());
                    }
                    below.insert_child(element, fields.below);
                }
                Fields { own: false, below }
            }
            _ => Fields { own: false, below: FieldSet::default() },
        }
    }

    fn fields_of_items(&self, list: &List, items: &[Value]) -> Fields {
        let mut below = FieldSet::default();
        let mut seen = Seen::default();
        let named: Vec<_> = items
            .iter()
            .map(|item| (self.item_element(list, item).unwrap_or(PathElement::NAMELESS), item))
            .collect();
        let mut duplicated = Seen::default();
        for (element, _) in &named {
            if !seen.insert(element.clone()) {
                duplicated.insert(element.clone());
            }
        }
        for (element, item) in named {
            below.insert_member(element.clone());
            if !duplicated.has(&element) {
                let fields = self.fields_of(list.element, item);
                below.insert_child(element, fields.below);
            }
        }
        Fields { own: false, below }
    }

    /// The set with every declared field on the way to a path of it.
    pub(crate) fn with_named_parents(&self, set: &FieldSet) -> FieldSet {
        self.named_parents(Some(self.root), set)
    }

    fn named_parents(&self, id: Option<TypeId>, set: &FieldSet) -> FieldSet {
        let atom = id.and_then(|id| self.atom(id));
        let map = atom.and_then(|atom| atom.map.as_ref());
        let mut out = FieldSet { members: set.members.clone(), children: set.children.clone() };
        let mut missing = Vec::new();
        for child in &mut out.children {
            let below = match &child.element {
                PathElement::Field(name) => {
                    let (declared, type_id) = map.map_or((None, None), |map| map.entry(name));
                    if declared.is_some() && !set.has_member(&child.element) {
                        missing.push(child.element.clone());
                    }
                    type_id
                }
                PathElement::Key(_) => {
                    atom.and_then(|atom| atom.list.as_ref()).map(|list| list.element)
                }
                _ => None,
            };
            if !child.set.children.is_empty() {
                child.set = Arc::new(self.named_parents(below, &child.set));
            }
        }
        if !missing.is_empty() {
            out.members.extend(missing);
            out.members.sort_unstable();
        }
        out
    }
}

/// The fields at and below a value.
struct Fields {
    own: bool,
    below: FieldSet,
}

impl Fields {
    const OWN: Self =
        Self { own: true, below: FieldSet { members: Vec::new(), children: Vec::new() } };
}

/// The path element of an entry, sharing the schema's name where there is one.
pub(crate) fn field_element(declared: Option<&Arc<str>>, name: &str) -> PathElement {
    PathElement::Field(declared.map_or_else(|| Arc::from(name), Arc::clone))
}

/// Path elements met so far.
#[derive(Default)]
pub(crate) struct Seen(Vec<PathElement>);

impl Seen {
    /// Whether the element is new.
    pub(crate) fn insert(&mut self, element: PathElement) -> bool {
        if self.0.last().is_none_or(|last| *last < element) {
            self.0.push(element);
            return true;
        }
        match self.0.binary_search(&element) {
            Ok(_) => false,
            Err(place) => {
                self.0.insert(place, element);
                true
            }
        }
    }

    pub(crate) fn has(&self, element: &PathElement) -> bool {
        self.0.binary_search(element).is_ok()
    }
}

/// Why a value is no scalar of this kind; absent and null values are of every kind.
pub(crate) fn scalar_fault(scalar: Scalar, value: Option<&Value>) -> Option<String> {
    let value = value?;
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Numeric | Scalar::Untyped, Value::Number(_))
        | (Scalar::Text | Scalar::Untyped, Value::String(_))
        | (Scalar::Boolean | Scalar::Untyped, Value::Bool(_)) => None,
        (Scalar::Numeric, _) => {
            Some(format!("expected numeric (int or float), got {}", values::go_type(value)))
        }
        (Scalar::Text, _) => Some(format!("expected string, got {}", values::go_syntax(value))),
        (Scalar::Boolean, _) => {
            Some(format!("expected boolean, got {}", values::go_wrapped(value)))
        }
        (Scalar::Untyped, _) => {
            Some(format!("expected any scalar, got {}", values::go_wrapped(value)))
        }
    }
}

/// The entries of a map value; none for null and for what is no map.
pub(crate) fn entries(value: Option<&Value>) -> Option<&serde_json::Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// The items of a list value; none for null and for what is no list.
pub(crate) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The type of an entry, or the deduced one where the schema knows none.
pub(crate) fn entry_type(map: &Map, name: &str) -> TypeId {
    map.entry(name).1.unwrap_or(TypeId::DEDUCED)
}
