//! Checking values against a schema, with kube-openapi's messages, order and quirks.
//!
//! The quirks matter: which branch of an `anyOf` is blamed depends on how many checks passed in
//! each, so results carry that count; an error is reported once per message; numbers compare as
//! Go's `int64` or `float64`, whichever the JSON text was.

use serde_json::Value;
use sluice_base::go;

use super::{Additional, Schema, formats};
use crate::field::{ErrorType, FieldError, Path};

mod correlation;
mod numbers;
mod outcome;
mod values;

pub use correlation::Correlated;
use outcome::{Failure, Outcome};
use values::{check_allowed, check_format, check_text, has_duplicates};

/// Which of upstream's two readings of a schema applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As served: formats the server does not know are ignored, int-or-string is a pair of types.
    Served,
    /// As for checking defaults: the schema is taken literally.
    Literal,
}

/// What is wrong with `value`. `path` is where the value is within the object; messages name fields
/// relative to the value, as upstream's do.
pub fn validate(value: &Value, schema: &Schema, reading: Reading, path: &Path) -> Vec<FieldError> {
    let outcome = Validator { reading }.node(value, schema, "", None);
    outcome.into_field_errors(path)
}

/// What is wrong with a change to `value`: errors in parts that did not change are forgiven.
pub fn validate_update(
    value: &Value,
    old: &Value,
    schema: &Schema,
    path: &Path,
) -> Vec<FieldError> {
    let correlated = Correlated::new(value, old, schema);
    let outcome = Validator { reading: Reading::Served }.node(value, schema, "", Some(correlated));
    outcome.into_field_errors(path)
}

/// The types of a value as kube-openapi infers them: the JSON type and the Go format.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn invalid_type(name: &str, expected: &str, actual: &str) -> Failure {
    let message = format!("{name} in body must be of type {expected}: {}", go::quote(actual));
    Failure::new(name, ErrorType::TypeInvalid, Some(Value::String(actual.to_owned())), message)
}

struct Validator {
    reading: Reading,
}

impl Validator {
    /// One node, and with `old` the forgiveness for unchanged values.
    fn node(
        &self,
        value: &Value,
        schema: &Schema,
        name: &str,
        old: Option<Correlated<'_>>,
    ) -> Outcome {
        let mut outcome = self.checks(value, schema, name, old.as_ref());
        if !outcome.is_valid() && old.is_some_and(|old| old.is_unchanged()) {
            outcome.forgive();
        }
        outcome
    }

    fn checks(
        &self,
        value: &Value,
        schema: &Schema,
        name: &str,
        old: Option<&Correlated<'_>>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let format = self.format(schema);
        if value.is_null() {
            outcome.merge(self.check_type(value, schema, format, name));
            outcome.merge(check_allowed(value, schema, name));
            return outcome;
        }
        let mut apply = |result: Outcome| {
            outcome.merge(result);
            outcome.matches += 1;
        };
        if !self.types(schema).is_empty() || !format.is_empty() {
            apply(self.check_type(value, schema, format, name));
        }
        apply(self.check_junctors(value, schema, name));
        if let Value::String(text) = value {
            apply(check_text(text, schema, name));
            if formats::is_known(format) {
                apply(check_format(text, format, name));
            }
        }
        if let Value::Number(number) = value {
            apply(numbers::check(number, schema, name));
        }
        if let Value::Array(items) = value {
            apply(self.check_items(items, schema, name, old));
        }
        apply(check_allowed(value, schema, name));
        if let Value::Object(fields) = value {
            apply(self.check_fields(fields, schema, name, old));
        }
        outcome.matches += 1;
        outcome
    }

    /// The format that counts: the server drops those it does not validate.
    fn format<'s>(&self, schema: &'s Schema) -> &'s str {
        if self.reading == Reading::Served && !formats::is_known(&schema.format) {
            ""
        } else {
            &schema.format
        }
    }

    fn types<'s>(&self, schema: &'s Schema) -> Vec<&'s str> {
        if self.reading == Reading::Served && schema.int_or_string {
            vec!["integer", "string"]
        } else if schema.kind.is_empty() {
            Vec::new()
        } else {
            vec![&schema.kind]
        }
    }

    fn check_type(&self, value: &Value, schema: &Schema, format: &str, name: &str) -> Outcome {
        let types = self.types(schema);
        let success = Outcome::counting(1);
        if value.is_null() {
            return if !types.is_empty() && !types.contains(&"null") && !schema.nullable {
                Outcome::of(invalid_type(name, &types.join(","), "null"))
            } else {
                success
            };
        }
        let (actual, actual_format) = type_of(value);
        let float_as_integer = actual == "number"
            && types.contains(&"integer")
            && value.as_f64().is_some_and(numbers::is_json_integer);
        let integer_as_number = actual == "integer" && types.contains(&"number");
        let fits = types.contains(&actual) || float_as_integer || integer_as_number;
        let text_or_list = matches!(actual, "string" | "array");
        if !text_or_list && !format.is_empty() && !fits && actual_format != format {
            return Outcome::of(invalid_type(name, format, actual_format));
        }
        // A format makes the type check of texts (and, by accident, lists) void.
        let numeric = types.contains(&"number") || types.contains(&"integer");
        if !numeric && !format.is_empty() && text_or_list {
            return success;
        }
        if fits { success } else { Outcome::of(invalid_type(name, &types.join(","), actual)) }
    }

    fn check_junctors(&self, value: &Value, schema: &Schema, name: &str) -> Outcome {
        let mut outcome = Outcome::default();
        let quoted = go::quote(name);
        if !schema.any_of.is_empty() {
            let mut best: Option<Outcome> = None;
            let mut success = None;
            for branch in &schema.any_of {
                let result = self.node(value, branch, name, None);
                if result.is_valid() {
                    success = Some(result);
                    break;
                }
                if best.as_ref().is_none_or(|best| result.matches > best.matches) {
                    best = Some(result);
                }
            }
            if success.is_none() {
                outcome.add(Failure::junctor(format!(
                    "{quoted} must validate at least one schema (anyOf)"
                )));
            }
            outcome.merge(success.or(best).unwrap_or_default());
        }
        if !schema.one_of.is_empty() {
            outcome.merge(self.check_one_of(value, schema, name));
        }
        if !schema.all_of.is_empty() {
            let mut valid = 0;
            for branch in &schema.all_of {
                let result = self.node(value, branch, name, None);
                valid += usize::from(result.is_valid());
                outcome.merge(result);
            }
            if valid != schema.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                outcome.add(Failure::junctor(format!(
                    "{quoted} must validate all the schemas (allOf){none}"
                )));
            }
        }
        if let Some(branch) = &schema.not
            && self.node(value, branch, name, None).is_valid()
        {
            outcome.add(Failure::junctor(format!("{quoted} must not validate the schema (not)")));
        }
        outcome.matches += 1;
        outcome
    }

    fn check_one_of(&self, value: &Value, schema: &Schema, name: &str) -> Outcome {
        let mut outcome = Outcome::default();
        let mut best: Option<Outcome> = None;
        let mut success: Option<Outcome> = None;
        let mut valid = 0;
        for branch in &schema.one_of {
            let result = self.node(value, branch, name, None);
            if result.is_valid() {
                valid += 1;
                best = None;
                success.get_or_insert(result);
            } else if valid == 0 && best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        if valid == 1 {
            outcome.merge(success.unwrap_or_default());
            return outcome;
        }
        let found = if valid == 0 {
            "Found none valid".to_owned()
        } else {
            format!("Found {valid} valid alternatives")
        };
        let quoted = go::quote(name);
        outcome.add(Failure::junctor(format!(
            "{quoted} must validate one and only one schema (oneOf). {found}"
        )));
        outcome.merge(best.unwrap_or_default());
        outcome
    }

    fn check_items(
        &self,
        items: &[Value],
        schema: &Schema,
        name: &str,
        old: Option<&Correlated<'_>>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(item_schema) = schema.items.as_deref() {
            for (index, item) in items.iter().enumerate() {
                let old = old.and_then(|old| old.item(index));
                outcome.merge(self.node(item, item_schema, &format!("{name}[{index}]"), old));
            }
        }
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(limit) = schema.min_items
            && size < limit
        {
            let message = format!("{name} in body should have at least {limit} items");
            outcome.add(Failure::invalid(name, size.into(), message));
        }
        if let Some(limit) = schema.max_items
            && size > limit
        {
            let message = format!("{name} in body should have at most {limit} items");
            outcome.add(too_many(name, size, limit, message));
        }
        if schema.unique_items && has_duplicates(items) {
            let message = format!("{name} in body shouldn't contain duplicates");
            outcome.add(Failure::invalid(name, "".into(), message));
        }
        outcome.matches += 1;
        outcome
    }

    fn check_fields(
        &self,
        fields: &serde_json::Map<String, Value>,
        schema: &Schema,
        name: &str,
        old: Option<&Correlated<'_>>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let size = i64::try_from(fields.len()).unwrap_or(i64::MAX);
        if let Some(limit) = schema.min_properties
            && size < limit
        {
            let message = format!("{name} in body should have at least {limit} properties");
            outcome.add(Failure::invalid(name, size.into(), message));
        }
        if let Some(limit) = schema.max_properties
            && size > limit
        {
            let message = format!("{name} in body should have at most {limit} properties");
            outcome.add(too_many(name, size, limit, message));
        }
        // At the root, `apiVersion` and `kind` are never taken as unchanged: both objects were
        // converted to the requested version.
        let old_field = |key: &str| {
            old.filter(|_| !(name.is_empty() && matches!(key, "kind" | "apiVersion")))
                .and_then(|old| old.field(key))
        };
        let unnamed = fields.iter().filter(|(key, _)| !schema.properties.contains_key(*key));
        match &schema.additional_properties {
            Some(Additional::Allowed(false)) => {
                for (key, _) in unnamed {
                    let message = format!("{name}.{key} in body is a forbidden property");
                    outcome.add(Failure::invalid(name, key.as_str().into(), message));
                }
            }
            Some(Additional::Of(additional)) => {
                for (key, field) in unnamed {
                    let at = format!("{name}.{key}");
                    outcome.merge(self.node(field, additional, &at, old_field(key)));
                }
            }
            Some(Additional::Allowed(true)) | None => {}
        }
        for (key, property) in &schema.properties {
            if let Some(field) = fields.get(key) {
                let at = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                outcome.merge(self.node(field, property, &at, old_field(key)));
            }
        }
        for key in &schema.required {
            if !fields.contains_key(key) {
                let at = format!("{name}.{key}");
                let message = format!("{at} in body is required");
                let mut failure = Failure::new(&at, ErrorType::Required, None, message);
                failure.detail = Some(String::new());
                outcome.add(failure);
            }
        }
        outcome
    }
}

fn too_many(name: &str, size: i64, limit: i64, message: String) -> Failure {
    let mut failure = Failure::new(name, ErrorType::TooMany, Some(size.into()), message);
    let unit = if limit == 1 { "item" } else { "items" };
    failure.detail = Some(format!("must have at most {limit} {unit}"));
    failure
}
