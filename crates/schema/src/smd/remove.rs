//! Taking the items of a field set out of a value, or keeping only them.

use serde_json::Value;

use super::element::PathElement;
use super::model::{ListRelationship, Shape, TypeId, TypeRef};
use super::set::FieldSet;
use super::typed::{entry_type, field_element};

impl TypeRef {
    /// Takes the fields and items of `set` out of `value`. What is emptied by it becomes null.
    pub fn remove_items(&self, value: &mut Value, set: &FieldSet) {
        self.remove(self.root, value, set);
    }

    fn remove(&self, id: TypeId, value: &mut Value, set: &FieldSet) {
        let emptied = match (self.shape(id, Some(value)), &mut *value) {
            (Shape::Scalar(_), _) => false,
            (Shape::List(list), Value::Array(items))
                if !matches!(list.relationship, ListRelationship::Atomic) =>
            {
                items.retain_mut(|item| {
                    let Ok(element) = self.item_element(list, item) else { return true };
                    if set.has_member(&element) {
                        return false;
                    }
                    if let Some(below) = set.child(&element).filter(|below| !below.is_empty()) {
                        self.remove(list.element, item, below);
                    }
                    true
                });
                items.is_empty()
            }
            (Shape::Map(map), Value::Object(entries)) if !map.atomic => {
                let mut gone = Vec::new();
                // Only what the set names is visited: the rest stays as it is.
                for member in &set.members {
                    if let PathElement::Field(name) = member
                        && entries.contains_key(&**name)
                    {
                        gone.push(name);
                    }
                }
                for child in &set.children {
                    if let PathElement::Field(name) = &child.element
                        && !child.set.is_empty()
                        && let Some(entry) = entries.get_mut(&**name)
                        && !set.has_member(&child.element)
                    {
                        self.remove(entry_type(map, name), entry, &child.set);
                    }
                }
                for name in gone {
                    entries.remove(&**name);
                }
                entries.is_empty()
            }
            _ => true,
        };
        if emptied {
            *value = Value::Null;
        }
    }

    /// `value` with only the fields and items of `set`.
    pub fn extract_items(&self, value: &Value, set: &FieldSet) -> Value {
        self.extract(self.root, value, set)
    }

    fn extract(&self, id: TypeId, value: &Value, set: &FieldSet) -> Value {
        match (self.shape(id, Some(value)), value) {
            (Shape::Scalar(_), _) => value.clone(),
            (Shape::List(list), Value::Array(items)) if !items.is_empty() => {
                if matches!(list.relationship, ListRelationship::Atomic) {
                    return value.clone();
                }
                let mut kept = Vec::new();
                for item in items {
                    let Ok(element) = self.item_element(list, item) else { continue };
                    if set.has_member(&element) {
                        kept.push(self.extract(list.element, item, set));
                    }
                    if let Some(below) = set.child(&element).filter(|below| !below.is_empty()) {
                        kept.push(self.extract(list.element, item, below));
                    }
                }
                if kept.is_empty() { Value::Null } else { Value::Array(kept) }
            }
            (Shape::Map(map), Value::Object(entries)) if !entries.is_empty() => {
                if map.atomic {
                    return value.clone();
                }
                let mut kept = serde_json::Map::new();
                for (name, entry) in entries {
                    let element = field_element(map.entry(name).0, name);
                    let type_id = entry_type(map, name);
                    if set.has_member(&element) {
                        kept.insert(name.clone(), self.extract(type_id, entry, set));
                    } else if let Some(below) =
                        set.child(&element).filter(|below| !below.is_empty())
                    {
                        kept.insert(name.clone(), self.extract(type_id, entry, below));
                    }
                }
                if kept.is_empty() { Value::Null } else { Value::Object(kept) }
            }
            _ => Value::Null,
        }
    }
}
