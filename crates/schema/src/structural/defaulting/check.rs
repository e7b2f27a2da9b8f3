//! Whether the defaults of a schema are values that the schema itself accepts.

use serde_json::{Value, json};

use super::super::object_meta::Malformed;
use super::super::validation::{self, Reading};
use super::super::{Root, Schema, coercion, pruning};
use crate::field::{FieldError, Path, aggregate};

/// A default value and where it comes from, for a check by the CEL rules of its schema. Those live
/// outside this crate.
#[derive(Debug, Clone, Copy)]
pub struct DefaultValue<'a> {
    /// The node that has the default, as written.
    pub node: &'a Value,
    /// Whether the node is a whole resource.
    pub is_resource: bool,
    /// The default.
    pub value: &'a Value,
    /// Where it is.
    pub path: &'a Path,
}

/// A further check of a default value.
pub type RuleCheck<'a> = &'a dyn Fn(&DefaultValue<'_>) -> Vec<FieldError>;

/// What is wrong with the defaults in the schema of a resource, which is given parsed and as
/// written. With `require_pruned`, a default may not have fields that the schema does not know.
pub fn validate(
    schema: &Schema,
    written: &Value,
    path: &Path,
    require_pruned: bool,
    rules: RuleCheck<'_>,
) -> Vec<FieldError> {
    let mut checker = Checker { require_pruned, rules, errors: Vec::new() };
    let place = Place { resource: schema, steps: Vec::new(), inside_meta: false };
    checker.walk(schema, written, true, &place, path);
    checker.errors
}

#[derive(Clone)]
enum Step {
    Field(String),
    Item,
}

/// Where a node is within the innermost resource around it.
#[derive(Clone)]
struct Place<'a> {
    resource: &'a Schema,
    steps: Vec<Step>,
    inside_meta: bool,
}

impl Place<'_> {
    /// The smallest resource that has `value` at this place.
    fn surround(&self, value: &Value) -> Value {
        let mut out = value.clone();
        for step in self.steps.iter().rev() {
            out = match step {
                Step::Field(name) => json!({ name.as_str(): out }),
                Step::Item => json!([out]),
            };
        }
        if let Value::Object(fields) = &mut out {
            fields.entry("kind").or_insert_with(|| "Validation".into());
            fields.entry("apiVersion").or_insert_with(|| "validation/v1".into());
        }
        out
    }
}

struct Checker<'a> {
    require_pruned: bool,
    rules: RuleCheck<'a>,
    errors: Vec<FieldError>,
}

impl Checker<'_> {
    fn walk<'s>(
        &mut self,
        schema: &'s Schema,
        written: &Value,
        root: bool,
        place: &Place<'s>,
        path: &Path,
    ) {
        let null = Value::Null;
        let embedded = root || schema.embedded_resource;
        let own;
        let place = if embedded {
            own = Place { resource: schema, steps: Vec::new(), inside_meta: false };
            &own
        } else {
            place
        };
        if let Some(default) = &schema.default {
            let at = path.child("default");
            if place.inside_meta {
                self.check_meta(schema, written, default, place, &at);
            } else {
                self.check(schema, written, default, embedded, &at);
            }
        }
        if let Some(items) = schema.items.as_deref() {
            let mut below = place.clone();
            below.steps.push(Step::Item);
            let written = written.get("items").unwrap_or(&null);
            self.walk(items, written, false, &below, &path.child("items"));
        }
        for (name, property) in &schema.properties {
            let mut below = place.clone();
            below.steps.push(Step::Field(name.clone()));
            below.inside_meta |= embedded && super::super::is_meta_field(name);
            let written = written.get("properties").and_then(|all| all.get(name)).unwrap_or(&null);
            self.walk(property, written, false, &below, &path.child("properties").key(name));
        }
    }

    fn check(
        &mut self,
        schema: &Schema,
        written: &Value,
        default: &Value,
        embedded: bool,
        at: &Path,
    ) {
        let root = if embedded { Root::Resource } else { Root::Value };
        if self.require_pruned {
            let mut pruned = default.clone();
            pruning::prune(&mut pruned, Some(schema), root);
            if pruned != *default {
                let why = "must not have unknown fields";
                self.errors.push(FieldError::invalid(at, default.clone(), why));
            }
        }
        let mut coerced = default.clone();
        let coercion = coercion::coerce(&mut coerced, Some(schema), root, Malformed::Refuse, at);
        if let Err(error) = coercion {
            self.errors.push(*error);
            return;
        }
        let errors = coercion::validate(&coerced, Some(schema), root, at);
        let found =
            DefaultValue { node: written, is_resource: embedded, value: &coerced, path: at };
        self.finish(schema, &found, errors);
    }

    /// A default within `metadata` is judged as part of the resource it would be in.
    fn check_meta(
        &mut self,
        schema: &Schema,
        written: &Value,
        default: &Value,
        place: &Place<'_>,
        at: &Path,
    ) {
        let mut resource = place.surround(default);
        let here = Path::default();
        let root = Some(place.resource);
        let coerced =
            coercion::coerce(&mut resource, root, Root::Resource, Malformed::Refuse, &here);
        let why = if let Err(error) = coerced {
            Some(error.to_string())
        } else {
            let errors = coercion::validate(&resource, root, Root::Resource, &here);
            (!errors.is_empty()).then(|| aggregate(&errors))
        };
        if let Some(why) = why {
            let why = format!("must result in valid metadata: {why}");
            self.errors.push(FieldError::invalid(at, default.clone(), why));
            return;
        }
        let found = DefaultValue { node: written, is_resource: false, value: default, path: at };
        self.finish(schema, &found, Vec::new());
    }

    fn finish(&mut self, schema: &Schema, found: &DefaultValue<'_>, mut errors: Vec<FieldError>) {
        if errors.is_empty() {
            errors = validation::validate(found.value, schema, Reading::Literal, found.path);
        }
        if errors.is_empty() {
            errors = (self.rules)(found);
        }
        self.errors.append(&mut errors);
    }
}
