//! Types from OpenAPI: the definitions a server publishes, and the schema inside a CRD.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::recorded;

use super::model::{
    Arena, Atom, Field, List, ListRelationship, Map, Scalar, Type, TypeId, TypeRef, common_types,
};
use super::object_meta;

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

impl TypeRef {
    /// The type of the definition `root`, with the definitions `lookup` finds by name (the entries of
    /// `components.schemas`).
    pub fn from_openapi<'a>(
        root: &str,
        lookup: impl Fn(&str) -> Option<&'a Value>,
    ) -> Result<Self, SchemaError> {
        let mut builder = Builder::new(lookup, Unknown::Refused);
        let root = builder.named(root, None);
        builder.finish(root)
    }

    /// The type of a built-in kind from the recorded documents; `api_version` is `v1` or `apps/v1`.
    ///
    /// Read once and shared from then on.
    pub fn recorded(api_version: &str, kind: &str) -> Option<Self> {
        static KNOWN: Mutex<BTreeMap<String, TypeRef>> = Mutex::new(BTreeMap::new());
        let openapi = recorded::openapi();
        let name = openapi.schema_name(api_version, kind)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(types) = known.get(name) {
            return Some(types.clone());
        }
        let types = Self::from_openapi(name, |name| openapi.schema(name)).ok()?;
        known.insert(name.to_owned(), types.clone());
        Some(types)
    }

    /// The type of one version of a CRD from its `openAPIV3Schema`; without one every field is deduced.
    pub fn from_crd(schema: Option<&Value>, unknown: Unknown) -> Result<Self, SchemaError> {
        let mut builder = Builder::new(object_meta::definition, unknown);
        let root = match schema {
            Some(schema) => builder.inline(schema, unknown, Resource::Yes),
            None => builder.add(Type::Known(Atom {
                map: Some(Map {
                    fields: BTreeMap::new(),
                    element: Some(TypeId::DEDUCED),
                    atomic: false,
                    free_form: true,
                }),
                ..Atom::default()
            })),
        };
        builder.finish(root)
    }
}

/// Whether undeclared fields are kept where the schema does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Kept, with a deduced type (`preserveUnknownFields`).
    Preserved,
    /// Not allowed.
    Refused,
}

/// Why definitions cannot be used for merging.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(pub String);

/// Whether a map is a whole object with `apiVersion`, `kind` and `metadata` of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resource {
    Yes,
    No,
}

struct Builder<L> {
    lookup: L,
    unknown: Unknown,
    types: Vec<Type>,
    named: BTreeMap<(String, Option<bool>), TypeId>,
    errors: Vec<String>,
}

impl<'a, L: Fn(&str) -> Option<&'a Value>> Builder<L> {
    fn new(lookup: L, unknown: Unknown) -> Self {
        Self { lookup, unknown, types: common_types(), named: BTreeMap::new(), errors: Vec::new() }
    }

    fn finish(self, root: TypeId) -> Result<TypeRef, SchemaError> {
        if self.errors.is_empty() {
            Ok(TypeRef { arena: Arc::new(Arena { types: self.types }), root })
        } else {
            Err(SchemaError(self.errors.join("\n")))
        }
    }

    fn add(&mut self, type_of: Type) -> TypeId {
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.types.push(type_of);
        id
    }

    /// The definition `name`; `atomic` is what a reference says in place of the definition.
    fn named(&mut self, name: &str, atomic: Option<bool>) -> TypeId {
        let key = (name.to_owned(), atomic);
        if let Some(id) = self.named.get(&key) {
            return *id;
        }
        // The number is taken before the definition is read: it may refer to itself.
        let id = self.add(Type::Missing(name.to_owned()));
        self.named.insert(key, id);
        let Some(schema) = (self.lookup)(name) else { return id };
        if schema.get("$ref").is_some() {
            return id;
        }
        let untyped = || match common_types().swap_remove(0) {
            Type::Known(atom) => atom,
            Type::Missing(_) => Atom::default(),
        };
        let mut atom = match name {
            QUANTITY => Atom { scalar: Some(Scalar::Untyped), ..Atom::default() },
            RAW_EXTENSION => untyped(),
            _ => self.atom(schema, self.unknown, Resource::No),
        };
        if let Some(atomic) = atomic {
            if let Some(map) = &mut atom.map {
                map.atomic = atomic;
            } else if let Some(list) = &mut atom.list {
                if atomic {
                    list.relationship = ListRelationship::Atomic;
                }
            } else {
                return id;
            }
        }
        let place = usize::try_from(id.0).unwrap_or(usize::MAX);
        if let Some(slot) = self.types.get_mut(place) {
            *slot = Type::Known(atom);
        }
        id
    }

    /// A property, an item or an entry: a reference or a type in place.
    fn reference(&mut self, schema: &Value, unknown: Unknown) -> TypeId {
        let direct = schema.get("$ref").and_then(Value::as_str);
        let target = direct.or_else(|| match schema.get("allOf").and_then(Value::as_array) {
            Some(all) if all.len() == 1 => all[0].get("$ref").and_then(Value::as_str),
            _ => None,
        });
        match target.and_then(|target| target.rsplit('/').next()) {
            Some(name) if !name.is_empty() => {
                let atomic = self.map_type(schema);
                self.named(name, atomic)
            }
            _ => self.inline(schema, unknown, Resource::No),
        }
    }

    fn inline(&mut self, schema: &Value, unknown: Unknown, resource: Resource) -> TypeId {
        let atom = self.atom(schema, unknown, resource);
        self.add(Type::Known(atom))
    }

    fn atom(&mut self, schema: &Value, unknown: Unknown, resource: Resource) -> Atom {
        // An object that keeps unknown fields keeps them in everything that is written inside it.
        let unknown = if flag(schema, "x-kubernetes-preserve-unknown-fields") {
            Unknown::Preserved
        } else {
            unknown
        };
        let name = match schema.get("type") {
            Some(Value::String(name)) => name.as_str(),
            Some(Value::Array(names)) => names.first().and_then(Value::as_str).unwrap_or_default(),
            _ => "",
        };
        match name {
            "" => Atom {
                scalar: Some(Scalar::Untyped),
                list: Some(self.list(schema, unknown)),
                map: Some(self.map(schema, unknown, resource)),
            },
            "object" => Atom { map: Some(self.map(schema, unknown, resource)), ..Atom::default() },
            "array" => Atom { list: Some(self.list(schema, unknown)), ..Atom::default() },
            "integer" | "number" => Atom { scalar: Some(Scalar::Numeric), ..Atom::default() },
            "boolean" => Atom { scalar: Some(Scalar::Boolean), ..Atom::default() },
            "string" => {
                let plain = matches!(
                    schema.get("format").and_then(Value::as_str),
                    None | Some("" | "byte")
                );
                let scalar = if plain { Scalar::Text } else { Scalar::Untyped };
                Atom { scalar: Some(scalar), ..Atom::default() }
            }
            other => {
                self.errors.push(format!("unrecognized type: '{other}'"));
                Atom { scalar: Some(Scalar::Untyped), ..Atom::default() }
            }
        }
    }

    fn map(&mut self, schema: &Value, unknown: Unknown, resource: Resource) -> Map {
        let mut fields = BTreeMap::new();
        for (name, member) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let type_id = self.reference(member, unknown);
            let default = member.get("default").filter(|default| !default.is_null()).cloned();
            fields.insert(Arc::from(name.as_str()), Field { type_id, default });
        }
        if resource == Resource::Yes || flag(schema, "x-kubernetes-embedded-resource") {
            let text = Atom { scalar: Some(Scalar::Text), ..Atom::default() };
            let text = self.add(Type::Known(text));
            let metadata = self.named(object_meta::NAME, None);
            for (name, type_id) in [("apiVersion", text), ("kind", text), ("metadata", metadata)] {
                fields.insert(Arc::from(name), Field { type_id, default: None });
            }
        }
        let element = match schema.get("additionalProperties") {
            None | Some(Value::Null) => {
                (unknown == Unknown::Preserved || fields.is_empty()).then_some(TypeId::DEDUCED)
            }
            Some(Value::Bool(allowed)) => allowed.then_some(TypeId::DEDUCED),
            Some(entries) => Some(self.reference(entries, unknown)),
        };
        let untyped_in_place = schema.get("additionalProperties").is_some_and(reference_free)
            && element.and_then(|id| self.scalar(id)) == Some(Scalar::Untyped);
        let free_form = fields.is_empty() && (element == Some(TypeId::DEDUCED) || untyped_in_place);
        let atomic = self.map_type(schema).unwrap_or(false);
        Map { fields, element, atomic, free_form }
    }

    fn scalar(&self, id: TypeId) -> Option<Scalar> {
        match self.types.get(usize::try_from(id.0).unwrap_or(usize::MAX)) {
            Some(Type::Known(atom)) => atom.scalar,
            _ => None,
        }
    }

    fn list(&mut self, schema: &Value, unknown: Unknown) -> List {
        let relationship = self.list_type(schema);
        let element = match schema.get("items") {
            Some(items @ Value::Object(_)) => self.reference(items, unknown),
            Some(_) => {
                let why = "structural schema arrays must have exactly one member subtype";
                self.errors.push(why.to_owned());
                TypeId::DEDUCED
            }
            None => {
                if schema.get("type").is_some() {
                    self.errors.push("`items` must be specified on arrays".to_owned());
                }
                TypeId::UNTYPED
            }
        };
        List { element, relationship }
    }

    fn list_type(&mut self, schema: &Value) -> ListRelationship {
        let text = |name: &str| schema.get(name).and_then(Value::as_str);
        if let Some(list_type) = text("x-kubernetes-list-type") {
            match list_type {
                "atomic" => return ListRelationship::Atomic,
                "set" => return ListRelationship::Set,
                "map" => {}
                other => {
                    self.errors.push(format!("unknown list type {other}"));
                    return ListRelationship::Atomic;
                }
            }
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            if keys.is_none() {
                self.errors.push("missing map keys".to_owned());
            }
            let keys =
                keys.into_iter().flatten().filter_map(Value::as_str).map(Arc::from).collect();
            return ListRelationship::Keyed(keys);
        }
        match text("x-kubernetes-patch-strategy") {
            None | Some("retainKeys") => ListRelationship::Atomic,
            Some("merge" | "merge,retainKeys") => match text("x-kubernetes-patch-merge-key") {
                Some(key) => ListRelationship::Keyed(vec![Arc::from(key)]),
                None => ListRelationship::Set,
            },
            Some(other) => {
                self.errors.push(format!("unknown patch strategy {other}"));
                ListRelationship::Atomic
            }
        }
    }

    fn map_type(&mut self, schema: &Value) -> Option<bool> {
        match schema.get("x-kubernetes-map-type").and_then(Value::as_str)? {
            "atomic" => Some(true),
            "granular" => Some(false),
            other => {
                self.errors.push(format!("unknown map type {other}"));
                None
            }
        }
    }
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn reference_free(schema: &Value) -> bool {
    let all_of = schema
        .get("allOf")
        .and_then(Value::as_array)
        .is_some_and(|all| all.len() == 1 && all[0].get("$ref").is_some());
    schema.get("$ref").is_none() && !all_of
}
