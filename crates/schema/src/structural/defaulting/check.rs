//! Whether the defaults of a schema are values that the schema itself accepts.

use serde_json::{Value, json};

use super::super::object_meta::Malformed;
use super::super::validation::{self, Reading};
use super::super::{Root, Schema, coercion, pruning};
use crate::field::{FieldError, Path, aggregate};

/// A further check of a default value: the CEL rules of its schema, which live outside this crate.
pub type RuleCheck<'a> = &'a dyn Fn(&Schema, &Value, &Path) -> Vec<FieldError>;

/// What is wrong with the defaults in the schema of a resource. With `require_pruned`, a default
/// may not have fields that the schema does not know.
pub fn validate(
    schema: &Schema,
    path: &Path,
    require_pruned: bool,
    rules: RuleCheck<'_>,
) -> Vec<FieldError> {
    let mut checker = Checker { require_pruned, rules, errors: Vec::new() };
    let place = Place { resource: schema, steps: Vec::new(), inside_meta: false };
    checker.walk(schema, true, &place, path);
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
    fn walk<'s>(&mut self, schema: &'s Schema, root: bool, place: &Place<'s>, path: &Path) {
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
                self.check_meta(schema, default, place, &at);
            } else {
                self.check(schema, default, embedded, &at);
            }
        }
        if let Some(items) = schema.items.as_deref() {
            let mut below = place.clone();
            below.steps.push(Step::Item);
            self.walk(items, false, &below, &path.child("items"));
        }
        for (name, property) in &schema.properties {
            let mut below = place.clone();
            below.steps.push(Step::Field(name.clone()));
            below.inside_meta |= embedded && super::super::is_meta_field(name);
            self.walk(property, false, &below, &path.child("properties").key(name));
        }
    }

    fn check(&mut self, schema: &Schema, default: &Value, embedded: bool, at: &Path) {
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
        self.finish(schema, &coerced, errors, at);
    }

    /// A default within `metadata` is judged as part of the resource it would be in.
    fn check_meta(&mut self, schema: &Schema, default: &Value, place: &Place<'_>, at: &Path) {
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
        match why {
            Some(why) => {
                let why = format!("must result in valid metadata: {why}");
                self.errors.push(FieldError::invalid(at, default.clone(), why));
            }
            None => self.finish(schema, default, Vec::new(), at),
        }
    }

    fn finish(&mut self, schema: &Schema, value: &Value, mut errors: Vec<FieldError>, at: &Path) {
        if errors.is_empty() {
            errors = validation::validate(value, schema, Reading::Literal, at);
        }
        if errors.is_empty() {
            errors = (self.rules)(schema, value, at);
        }
        self.errors.append(&mut errors);
    }
}
