//! The types of structured-merge-diff: scalars, lists and maps, and which of them merge.
//!
//! The types reachable from one kind live in one arena and name each other by number, so that
//! recursive types need no pointers and a kind's schema is shared by cloning a handle.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

/// The type of one kind of object, with everything it refers to. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TypeRef {
    pub(crate) arena: Arc<Arena>,
    pub(crate) root: TypeId,
}

/// The number of a type in its arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeId(pub(crate) u32);

impl TypeId {
    /// Anything, owned as a whole.
    pub(crate) const UNTYPED: Self = Self(0);
    /// Anything: maps are merged, lists are owned as a whole.
    pub(crate) const DEDUCED: Self = Self(1);
}

#[derive(Debug)]
pub(crate) struct Arena {
    pub(crate) types: Vec<Type>,
}

#[derive(Debug)]
pub(crate) enum Type {
    Known(Atom),
    /// A reference to a definition that does not exist: an error once a value has it.
    Missing(String),
}

/// The forms a value may take; several for untyped parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Atom {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<List>,
    pub(crate) map: Option<Map>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Numeric,
    Text,
    Boolean,
    Untyped,
}

#[derive(Debug, Clone)]
pub(crate) struct List {
    pub(crate) element: TypeId,
    pub(crate) relationship: ListRelationship,
}

#[derive(Debug, Clone)]
pub(crate) enum ListRelationship {
    /// Owned as a whole.
    Atomic,
    /// Items are identified by their values.
    Set,
    /// Items are identified by these fields.
    Keyed(Vec<Arc<str>>),
}

#[derive(Debug, Clone)]
pub(crate) struct Map {
    pub(crate) fields: BTreeMap<Arc<str>, Field>,
    /// The type of entries that are not declared; none are allowed without it.
    pub(crate) element: Option<TypeId>,
    pub(crate) atomic: bool,
    /// No field is declared and entries are untyped: ownership below is not reconciled.
    pub(crate) free_form: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) type_id: TypeId,
    pub(crate) default: Option<Value>,
}

/// What a value is treated as, once its own form has chosen among its type's.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'a> {
    Scalar(Scalar),
    List(&'a List),
    Map(&'a Map),
    /// The type allows nothing, or does not exist; the text says so.
    Broken(&'a Type),
}

/// Which forms are open: equal for two values that take the same form of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Any,
    Scalar,
    List,
    Map,
}

impl TypeRef {
    /// The type of objects without a schema: maps are merged, lists are owned as a whole.
    pub fn deduced() -> Self {
        static ARENA: LazyLock<Arc<Arena>> =
            LazyLock::new(|| Arc::new(Arena { types: common_types() }));
        Self { arena: Arc::clone(&ARENA), root: TypeId::DEDUCED }
    }

    pub(crate) fn atom(&self, id: TypeId) -> Option<&Atom> {
        match self.type_of(id) {
            Some(Type::Known(atom)) => Some(atom),
            _ => None,
        }
    }

    fn type_of(&self, id: TypeId) -> Option<&Type> {
        self.arena.types.get(usize::try_from(id.0).unwrap_or(usize::MAX))
    }

    /// What `value` is treated as; null and absent values take the first form there is.
    pub(crate) fn shape(&self, id: TypeId, value: Option<&Value>) -> Shape<'_> {
        let Some(type_of) = self.type_of(id) else {
            static NONE: Type = Type::Known(Atom { scalar: None, list: None, map: None });
            return Shape::Broken(&NONE);
        };
        let Type::Known(atom) = type_of else { return Shape::Broken(type_of) };
        let chosen = match form(atom, value) {
            Form::Scalar => atom.scalar.map(Shape::Scalar),
            Form::List => atom.list.as_ref().map(Shape::List),
            Form::Map => atom.map.as_ref().map(Shape::Map),
            Form::Any => None,
        };
        chosen
            .or_else(|| atom.map.as_ref().map(Shape::Map))
            .or_else(|| atom.scalar.map(Shape::Scalar))
            .or_else(|| atom.list.as_ref().map(Shape::List))
            .unwrap_or(Shape::Broken(type_of))
    }
}

/// The form of its type that a value takes; [`Form::Any`] for null and for a form the type lacks.
pub(crate) fn form(atom: &Atom, value: Option<&Value>) -> Form {
    match value {
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if atom.scalar.is_some() => {
            Form::Scalar
        }
        Some(Value::Array(_)) if atom.list.is_some() => Form::List,
        Some(Value::Object(_)) if atom.map.is_some() => Form::Map,
        _ => Form::Any,
    }
}

impl Type {
    /// Why nothing can be of this type.
    pub(crate) fn why_broken(&self) -> String {
        match self {
            Self::Known(_) => "schema error: invalid atom: inlined".to_owned(),
            Self::Missing(name) => format!("schema error: no type found matching: {name}"),
        }
    }
}

impl Map {
    /// The declared name, shared with the schema, and the type of the entry `name`.
    pub(crate) fn entry(&self, name: &str) -> (Option<&Arc<str>>, Option<TypeId>) {
        match self.fields.get_key_value(name) {
            Some((name, field)) => (Some(name), Some(field.type_id)),
            None => (None, self.element),
        }
    }
}

/// The two types every arena starts with, at [`TypeId::UNTYPED`] and [`TypeId::DEDUCED`].
pub(crate) fn common_types() -> Vec<Type> {
    let untyped = |map_element: TypeId, atomic: bool| {
        Type::Known(Atom {
            scalar: Some(Scalar::Untyped),
            list: Some(List { element: TypeId::UNTYPED, relationship: ListRelationship::Atomic }),
            map: Some(Map {
                fields: BTreeMap::new(),
                element: Some(map_element),
                atomic,
                free_form: map_element == TypeId::DEDUCED,
            }),
        })
    };
    vec![untyped(TypeId::UNTYPED, true), untyped(TypeId::DEDUCED, false)]
}
