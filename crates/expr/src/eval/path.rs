//! Selecting from values: fields, elements, and what may not be there.

use std::sync::Arc;

use super::Evaluator;
use crate::functions::convert::display;
use crate::functions::numbers::exact_int;
use crate::program::Node;
use crate::value::{EvalError, Outcome, Value};

/// What looking something up in a value came to.
enum Found<'v> {
    Value(Outcome<'v>),
    /// There is no such key.
    Missing,
    /// There is no such index.
    OutOfBounds,
    /// The value has no parts at all.
    NoParts,
    /// The key cannot be one.
    Unusable(EvalError),
}

/// How far along a path evaluation has come.
pub(super) enum Path<'v> {
    /// To a value.
    Plain(Value<'v>),
    /// To a value that might not have been there: from here on nothing has to be.
    Optional(Value<'v>),
    /// To something that is not there.
    Ended,
}

impl<'v> Path<'v> {
    /// The beginning; only here is an optional opened, one found on the way is a value like others.
    fn begin(value: Value<'v>) -> Self {
        match value {
            Value::Optional(None) => Path::Ended,
            Value::Optional(Some(inner)) => Path::Optional(Arc::unwrap_or_clone(inner)),
            value => Path::Plain(value),
        }
    }

    /// The value the path leads to.
    pub(super) fn finish(self) -> Value<'v> {
        match self {
            Path::Plain(value) => value,
            Path::Optional(value) => Value::some(value),
            Path::Ended => Value::NONE,
        }
    }
}

impl<'p, 'v> Evaluator<'p, 'v, '_> {
    pub(super) fn path(&mut self, node: &'p Node) -> Result<Path<'v>, EvalError> {
        match node {
            Node::Select { operand, field, test, optional } => {
                let base = self.path(operand)?;
                self.select(base, field, *test, *optional)
            }
            Node::Index { operand, index, optional } => {
                let base = self.path(operand)?;
                self.index(base, index, *optional)
            }
            root => self.operand(root).map(Path::begin),
        }
    }

    fn select(
        &mut self,
        base: Path<'v>,
        field: &'p str,
        test: bool,
        optional: bool,
    ) -> Result<Path<'v>, EvalError> {
        let (value, within) = match base {
            Path::Ended if test => return Ok(Path::Plain(Value::Bool(false))),
            Path::Ended => return Ok(Path::Ended),
            Path::Optional(value) => (value, true),
            Path::Plain(value) => (value, false),
        };
        let found = look_up(&value, &Value::from(field));
        if test {
            let present = present(&found);
            if !within || present == Ok(true) {
                self.spend(1)?;
            }
            return present.map(|present| Path::Plain(Value::Bool(present)));
        }
        self.qualified(found, || field.to_owned(), within || optional)
    }

    fn index(
        &mut self,
        base: Path<'v>,
        index: &'p Node,
        optional: bool,
    ) -> Result<Path<'v>, EvalError> {
        let (value, within) = match base {
            Path::Ended => return Ok(Path::Ended),
            Path::Optional(value) => (value, true),
            Path::Plain(value) => (value, false),
        };
        let key = match self.operand(index) {
            Ok(key) => key,
            Err(error) => {
                if !error.is_cancelled() {
                    self.spend(u64::from(!(within || optional)))?;
                }
                return Err(error);
            }
        };
        let found = look_up(&value, &key);
        self.qualified(found, || display(&key), within || optional)
    }

    /// What was found, as an optional if asked so; only what is there costs.
    fn qualified(
        &mut self,
        found: Found<'v>,
        key: impl Fn() -> String,
        optional: bool,
    ) -> Result<Path<'v>, EvalError> {
        if optional {
            return match found {
                Found::Value(value) => {
                    self.spend(1)?;
                    value.map(Path::Optional)
                }
                Found::Unusable(error) => Err(error),
                Found::Missing | Found::OutOfBounds | Found::NoParts => Ok(Path::Ended),
            };
        }
        self.spend(1)?;
        match found {
            Found::Value(value) => value.map(Path::Plain),
            Found::Unusable(error) => Err(error),
            Found::Missing | Found::NoParts => {
                Err(EvalError::new(format!("no such key: {}", key())))
            }
            Found::OutOfBounds => Err(EvalError::new(format!("index out of bounds: {}", key()))),
        }
    }
}

/// Whether a field is there; what has no fields has none.
fn present(found: &Found) -> Result<bool, EvalError> {
    match found {
        Found::Value(Ok(_)) => Ok(true),
        Found::Value(Err(error)) | Found::Unusable(error) => Err(error.clone()),
        Found::Missing | Found::OutOfBounds | Found::NoParts => Ok(false),
    }
}

fn look_up<'v>(value: &Value<'v>, key: &Value<'_>) -> Found<'v> {
    if let Some(kind) = unusable_key(key) {
        return Found::Unusable(EvalError::new(format!("invalid qualifier type: {kind}")));
    }
    match value {
        Value::Map(map) => map.find(key).map_or(Found::Missing, |value| match value {
            // A key no map could have is an error even for a test.
            Err(error) if key.as_str().is_none() => Found::Unusable(error),
            value => Found::Value(value),
        }),
        Value::List(list) => {
            let index = match key {
                Value::Int(index) => Some(*index),
                Value::Uint(index) => i64::try_from(*index).ok(),
                Value::Double(index) => exact_int(*index),
                other => {
                    let kind = other.type_name();
                    let message = format!("unsupported index type '{kind}' in list");
                    return Found::Unusable(EvalError::new(message));
                }
            };
            let Some(index) = index else {
                let shown = display(key);
                let message = format!("unsupported index value {shown} in list");
                return Found::Unusable(EvalError::new(message));
            };
            usize::try_from(index)
                .ok()
                .and_then(|index| list.get(index))
                .map_or(Found::OutOfBounds, Found::Value)
        }
        _ => Found::NoParts,
    }
}

/// The Go type of a value that cannot be a key.
pub(crate) fn unusable_key(value: &Value) -> Option<&'static str> {
    let usable = matches!(
        value,
        Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_)
    );
    (!usable).then(|| value.go_type())
}
