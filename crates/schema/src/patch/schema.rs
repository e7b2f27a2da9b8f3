//! The patch strategy and merge key of fields.

use crate::gotypes::{Shape, Types};

/// How a field is patched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldPatch {
    /// `merge`, `replace`, `retainKeys`, or two of them with a comma; most often empty.
    pub strategy: String,
    /// The key by which items of the list are the same item.
    pub merge_key: String,
}

/// A place in a schema, from which strategic merge walks down with the objects.
pub trait PatchSchema: Sized {
    /// The place below the field `key` that holds an object, and how the field is patched.
    fn object(&self, key: &str) -> Result<(Self, FieldPatch), String>;
    /// The place of the items below the field `key` that holds a list, and how the field is patched.
    fn items(&self, key: &str) -> Result<(Self, FieldPatch), String>;
    /// What errors call the place.
    fn name(&self) -> &str;
}

/// The tags of the Go types.
#[derive(Clone, Copy)]
pub struct GoSchema {
    types: &'static Types,
    number: usize,
}

impl GoSchema {
    /// The schema of a built-in kind.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let types = Types::recorded();
        Some(Self { types, number: types.type_of(api_version, kind)? })
    }
}

impl PatchSchema for GoSchema {
    fn object(&self, key: &str) -> Result<(Self, FieldPatch), String> {
        let place = match self.types.get(self.number).shape {
            Shape::Pointer(element) => Self { number: element, ..*self },
            _ => *self,
        };
        let owner = self.types.get(place.number);
        let field = match &owner.shape {
            Shape::Struct(fields) => {
                fields.flat.iter().find(|field| field.json == key).or_else(|| {
                    fields.flat.iter().find(|field| field.json.eq_ignore_ascii_case(key))
                })
            }
            Shape::Own(_) => None,
            _ => {
                return Err(format!(
                    "merging an object in json but data type is not struct, instead is: {}",
                    self.types.get(place.number).shape.go_kind()
                ));
            }
        };
        let Some(field) = field else {
            return Err(format!(
                "unable to find api field in struct {} for the json field {}",
                owner.short_name(),
                sluice_base::go::quote(key)
            ));
        };
        let patch =
            FieldPatch { strategy: field.strategy.clone(), merge_key: field.merge_key.clone() };
        Ok((Self { number: field.type_number, ..place }, patch))
    }

    fn items(&self, key: &str) -> Result<(Self, FieldPatch), String> {
        let (place, patch) = self.object(key)?;
        let element = |number: usize| match &self.types.get(number).shape {
            Shape::List(element) => Some(*element),
            _ => None,
        };
        let number = match &self.types.get(place.number).shape {
            Shape::List(item) if element(*item).is_some() => {
                return Err("unexpected slice of slice".to_owned());
            }
            Shape::List(item) => *item,
            Shape::Pointer(target) => element(*target).unwrap_or(*target),
            _ => {
                return Err(format!(
                    "expected slice or array type, but got: {}",
                    self.types.get(self.number).shape.go_kind()
                ));
            }
        };
        Ok((Self { number, ..place }, patch))
    }

    fn name(&self) -> &str {
        self.types.get(self.number).shape.go_kind()
    }
}
