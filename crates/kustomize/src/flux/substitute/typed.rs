//! Substitution inside strings, which no value can break out of.
//!
//! The object is never written as text. A string is evaluated by itself and stays a string; names of
//! fields are evaluated too. The one exception is decided by the field and not by the value: where the
//! recorded schema of a built-in kind wants an integer, a number or a truth and the string has a
//! substitution in it, the result must be written as one and becomes one (`replicas: ${n}`).

use serde_json::{Map, Value};
use sluice_schema::recorded::{OpenApi, openapi};

use super::place::{push_index, push_name};
use super::{Substitution, explain};
use crate::failure::{Failure, Gathered, Result};
use crate::flux::envsubst::{Budget, Dialect, Template};

/// The object with the variables' values in its strings; all that is wrong is reported.
pub(super) fn substitute(object: &Value, how: &Substitution<'_>) -> Result<Value> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let schema = openapi().schema_of(text("apiVersion"), text("kind"));
    let mut walk = Walk { how, budget: Budget::default(), wrong: Gathered::default() };
    let value = walk.value(object, schema, &mut String::new());
    walk.wrong.finish()?;
    Ok(value)
}

struct Walk<'w, 'v> {
    how: &'w Substitution<'v>,
    budget: Budget,
    wrong: Gathered,
}

impl Walk<'_, '_> {
    fn value(&mut self, value: &Value, schema: Option<&Value>, path: &mut String) -> Value {
        let schema = schema.and_then(|schema| followed(openapi(), schema));
        match value {
            Value::String(text) => self.string(text, schema, path),
            Value::Array(items) => {
                let schema = schema.and_then(|schema| schema.get("items"));
                let each = |(index, item)| {
                    let length = path.len();
                    push_index(path, index);
                    let item = self.value(item, schema, path);
                    path.truncate(length);
                    item
                };
                items.iter().enumerate().map(each).collect()
            }
            Value::Object(fields) => self.object(fields, schema, path),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        schema: Option<&Value>,
        path: &mut String,
    ) -> Value {
        let mut out = Map::new();
        for (name, value) in fields {
            let length = path.len();
            push_name(path, name);
            let name = match self.evaluate(name, path) {
                Some((name, _)) => name,
                None => name.clone(),
            };
            let field = schema.and_then(|schema| {
                let field = schema.get("properties").and_then(|fields| fields.get(&name));
                field.or_else(|| schema.get("additionalProperties"))
            });
            let value = self.value(value, field, path);
            if out.contains_key(&name) {
                // The name may be a secret by now, so only the field is shown.
                let problem = "another field has the same name after substitution";
                self.wrong.add(Failure::new(format!("{path}: {problem}")));
            }
            out.insert(name, value);
            path.truncate(length);
        }
        Value::Object(out)
    }

    fn string(&mut self, text: &str, schema: Option<&Value>, path: &str) -> Value {
        let Some((result, is_substituted)) = self.evaluate(text, path) else { return Value::Null };
        let Some(wanted) = schema.and_then(Wanted::of).filter(|_| is_substituted) else {
            return Value::String(result);
        };
        wanted.read(&result).unwrap_or_else(|name| {
            // The value may be a secret, so it is not shown.
            self.wrong.add(
                Failure::new(format!("{path}: the field is {name}, which its value is not"))
                    .hint("correct the value of the variable"),
            );
            Value::Null
        })
    }

    /// A string with values in it, and whether there were any; nothing where that is impossible.
    fn evaluate(&mut self, text: &str, path: &str) -> Option<(String, bool)> {
        if !text.contains('$') {
            return Some((text.to_owned(), false));
        }
        if text.contains('\0') {
            // It would end the text.
            self.wrong.add(Failure::new(format!("{path}: a zero byte beside a dollar sign")));
            return None;
        }
        let (variables, missing) = (self.how.variables, self.how.missing);
        let template = Template::parse_as(text.as_bytes(), Dialect::Exact);
        let result = template.and_then(|template| {
            let value_of = |name: &str| variables.exact(name);
            let bytes = template.evaluate_within(&mut self.budget, missing, value_of)?;
            Ok((bytes, template.has_substitutions()))
        });
        let result = result.map_err(|error| explain(&error, Some(path)));
        let result = result.and_then(|(bytes, is_substituted)| {
            let text = String::from_utf8(bytes);
            let text =
                text.map_err(|_| Failure::new(format!("{path}: the result is not UTF-8")))?;
            Ok((text, is_substituted))
        });
        self.wrong.take(result)
    }
}

/// What a field wants instead of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Integer,
    Number,
    Truth,
    /// A number where it is written as one, else a string; such strings are never just digits.
    IntegerOrString,
}

impl Wanted {
    fn of(schema: &Value) -> Option<Self> {
        let text = |name: &str| schema.get(name).and_then(Value::as_str);
        match (text("type"), text("format")) {
            (Some("integer"), _) => Some(Self::Integer),
            (Some("number"), _) => Some(Self::Number),
            (Some("boolean"), _) => Some(Self::Truth),
            (_, Some("int-or-string")) => Some(Self::IntegerOrString),
            _ => None,
        }
    }

    /// The value in its own type, or what it should have been.
    fn read(self, text: &str) -> std::result::Result<Value, &'static str> {
        // The newline that ends a file is no part of a number or a truth.
        let (whole, text) = (text, text.trim_end_matches(['\n', '\r']));
        let integer = || text.parse::<i64>().ok().map(Value::from);
        let number = || {
            let number = text.parse::<f64>().ok().filter(|_| text.starts_with(is_numeric));
            number.and_then(serde_json::Number::from_f64).map(Value::Number)
        };
        match self {
            Self::Integer => integer().ok_or("an integer"),
            Self::Number => integer().or_else(number).ok_or("a number"),
            Self::Truth => match text {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => Err("true or false"),
            },
            Self::IntegerOrString => {
                Ok(integer().unwrap_or_else(|| Value::String(whole.to_owned())))
            }
        }
    }
}

/// Keeps out the words that Rust takes for numbers.
fn is_numeric(letter: char) -> bool {
    letter.is_ascii_digit() || matches!(letter, '-' | '.')
}

/// The schema a reference stands for.
fn followed<'s>(openapi: &'s OpenApi, schema: &'s Value) -> Option<&'s Value> {
    let only = schema.get("allOf").and_then(Value::as_array).and_then(|all| all.first());
    match only.unwrap_or(schema).get("$ref").and_then(Value::as_str) {
        Some(reference) => openapi.resolve(reference),
        None => Some(schema),
    }
}
