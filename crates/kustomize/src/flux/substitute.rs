//! Post-build substitution: variables in an object that was built.
//!
//! As text, Flux's way: the object is written as YAML, the variables are replaced wherever they stand
//! in it, and the result is read again. Quotes around a variable are gone by then, so a value decides
//! what type it has (`"${n}"` with `3` becomes a number, with `a: b` a map), and all numbers of the
//! object pass through floats. That is what manifests for Flux rely on, so it is kept to the byte.
//!
//! Typed, where [`SUBSTITUTE`] says so: variables are replaced inside the strings of the object, see
//! `typed` and ADR 0004.

mod place;
mod typed;
mod variables;

use serde_json::{Map, Value};
use sluice_api::names::annotations::KUSTOMIZE_SUBSTITUTE;
use sluice_api::names::sluice::SUBSTITUTE;
use sluice_base::go;
use sluice_yaml::{Duplicates, from_json, to_json};

use super::envsubst::{Envsubst, EnvsubstError, Missing, Template};
use crate::failure::{Failure, Result};

pub use variables::Variables;

/// What is replaced, and how.
#[derive(Debug, Clone, Copy)]
pub struct Substitution<'v> {
    /// The variables.
    pub variables: &'v Variables,
    /// What a variable that is not there counts as.
    pub missing: Missing,
    /// When there is anything to do.
    pub strategy: Strategy,
    /// How objects that do not say so themselves are treated.
    pub mode: Mode,
}

/// `spec.postBuild.substituteStrategy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Objects stay as they are where there are no variables at all.
    #[default]
    WithVariables,
    /// Defaults are filled in and `$$` becomes `$` even then.
    Always,
}

/// The value of the annotation `sluice.dev/substitute`, on a Kustomization or on a single object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// `text`: in the object as YAML.
    #[default]
    Text,
    /// `typed`: in the object's strings.
    Typed,
}

impl Mode {
    /// How the objects of a Kustomization are treated that do not say so themselves.
    pub fn of_all(kustomization: &Value) -> Result<Self> {
        Ok(Self::of(kustomization)?.unwrap_or_default())
    }

    /// Reads the annotation of an object, which may be a Kustomization; nothing where it has none.
    pub fn of(object: &Value) -> Result<Option<Self>> {
        match metadata(object, "annotations", SUBSTITUTE) {
            None => Ok(None),
            Some("text") => Ok(Some(Self::Text)),
            Some("typed") => Ok(Some(Self::Typed)),
            Some(other) => {
                Err(Failure::new(format!("annotation {SUBSTITUTE}: \"{other}\" is not known"))
                    .about(name_of(object))
                    .hint("set it to text or typed, or remove it"))
            }
        }
    }
}

/// The object with the variables' values in it; nothing where it stays as it is.
pub fn substitute(object: &Value, how: &Substitution<'_>) -> Result<Option<Value>> {
    let mode = Mode::of(object)?;
    let disabled = Some("disabled");
    if metadata(object, "labels", KUSTOMIZE_SUBSTITUTE) == disabled
        || metadata(object, "annotations", KUSTOMIZE_SUBSTITUTE) == disabled
        || (how.variables.is_empty() && how.strategy == Strategy::WithVariables)
    {
        return Ok(None);
    }
    let about = |failure: Failure| failure.about(name_of(object));
    how.variables.check_names().map_err(about)?;
    match mode.unwrap_or(how.mode) {
        Mode::Text => as_text(object, how).map(Some).map_err(about),
        Mode::Typed => typed::substitute(object, how).map(Some).map_err(about),
    }
}

fn as_text(object: &Value, how: &Substitution<'_>) -> Result<Value> {
    let text = from_json(object);
    let output = Template::parse(text.as_bytes())
        .and_then(|template| template.evaluate(how.missing, |name| how.variables.get(name)))
        .map_err(|error| {
            let field = place::field_at(&text, error.offset);
            explain(&error, field.as_deref())
        })?;
    let value = to_json(&output, Duplicates::LastWins).map_err(|error| {
        let failure = Failure::from(error).context("envsubst error: YAMLToJSON");
        failure.hint(format!(
            "a value breaks the object; the annotation {SUBSTITUTE}: typed keeps values inside strings"
        ))
    })?;
    let kind = match value.unwrap_or(Value::Null) {
        Value::Object(fields) => return Ok(Value::Object(through_floats(fields))),
        Value::Null => return Ok(Value::Object(Map::new())),
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    Err(Failure::new(format!(
        "UnmarshalJSON: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    )))
}

/// What is wrong with a substitution in a field of an object, in Flux's words, and what to do.
fn explain(error: &EnvsubstError, field: Option<&str>) -> Failure {
    let message = format!("envsubst error: variable substitution failed: {error}");
    let place = field.map_or_else(String::new, |field| format!("in {field}: "));
    let advice = match &error.reason {
        Envsubst::NotSet(name) => {
            format!("give {name} a value, or a default such as ${{{name}:-value}}")
        }
        Envsubst::Required(name, _) => format!("give {name} a value"),
        Envsubst::NotANumber(_) => "write a whole number, such as ${name:0:3}".to_owned(),
        Envsubst::TooDeep | Envsubst::TooLarge | Envsubst::TooLong => {
            "make the expression or the values of its variables smaller".to_owned()
        }
        _ => "write $$ for a dollar sign that is meant as such".to_owned(),
    };
    Failure::new(message).hint(format!("{place}{advice}"))
}

/// Numbers as they are after Go has read them as floats and written them again.
fn through_floats(fields: Map<String, Value>) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name, through_float(value))).collect()
}

pub(super) fn through_float(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            let text = go::float::json(number.as_f64().unwrap_or_default());
            serde_json::from_str(&text).unwrap_or(Value::Number(number))
        }
        Value::Array(items) => items.into_iter().map(through_float).collect(),
        Value::Object(fields) => Value::Object(through_floats(fields)),
        other => other,
    }
}

fn metadata<'o>(object: &'o Value, part: &str, name: &str) -> Option<&'o str> {
    object.get("metadata")?.get(part)?.get(name)?.as_str()
}

/// How messages name an object.
fn name_of(object: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let metadata = object.get("metadata");
    let kind = text(object.get("kind"));
    let name = text(metadata.and_then(|metadata| metadata.get("name")));
    match text(metadata.and_then(|metadata| metadata.get("namespace"))) {
        namespace if namespace.is_empty() => format!("{kind}/{name}"),
        namespace => format!("{kind}/{namespace}/{name}"),
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
