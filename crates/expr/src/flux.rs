//! Flux's expressions: health checks over an object's fields, readiness of dependencies, filters.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value as Json;

use crate::env::Env;
use crate::program::{Cost, Program, Variables};
use crate::types::Type;
use crate::value::{EvalError, Value};

/// What one evaluation may cost. Flux sets no limit; this one is far above any sensible use.
const LIMIT: u64 = 10_000_000;

/// An expression of Flux.
#[derive(Debug)]
pub struct Expression {
    text: String,
    program: Program,
}

/// Why an expression was rejected or failed, with Flux's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError(String);

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ExpressionError {}

/// The top-level fields of an object as variables.
struct Fields<'v>(&'v serde_json::Map<String, Json>);

impl<'v> Variables<'v> for Fields<'v> {
    fn get(&self, name: &str) -> Option<Result<Value<'v>, EvalError>> {
        self.0.get(name).map(|value| Ok(Value::from_json(value)))
    }
}

impl Expression {
    /// An expression with names that are looked up during evaluation.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        Self::make(text, Env::flux().parse(text))
    }

    /// An expression over objects of these names, which has to give a bool or a string as
    /// `output` says.
    pub fn compile(
        text: &str,
        variables: &[&str],
        output: Option<&Type>,
    ) -> Result<Self, ExpressionError> {
        let mut env = Env::flux();
        for name in variables {
            env = env.with_variable(*name, Type::map(Type::String, Type::Dyn));
        }
        let expression = Self::make(text, env.compile(text))?;
        match output {
            Some(wanted) if expression.program.output_type() != wanted => {
                Err(ExpressionError(format!(
                    "CEL expression output type mismatch: expected {}, got {}",
                    wanted.full_name(),
                    expression.program.output_type().full_name()
                )))
            }
            _ => Ok(expression),
        }
    }

    fn make(
        text: &str,
        program: Result<Program, crate::CompileError>,
    ) -> Result<Self, ExpressionError> {
        match program {
            Ok(program) => Ok(Self { text: text.to_owned(), program }),
            Err(error) if error.is_instantiation() => {
                Err(ExpressionError(format!("failed to create CEL program: {error}")))
            }
            Err(error) => Err(ExpressionError(format!(
                "failed to parse the CEL expression '{text}': {error}"
            ))),
        }
    }

    fn eval<'v>(&self, variables: &dyn Variables<'v>) -> Result<Value<'v>, ExpressionError> {
        self.program.eval(variables, &mut Cost::limited(LIMIT)).map_err(|error| {
            ExpressionError(format!(
                "failed to evaluate the CEL expression '{}': {error}",
                self.text
            ))
        })
    }

    fn boolean(&self, variables: &dyn Variables) -> Result<bool, ExpressionError> {
        match self.eval(variables)? {
            Value::Bool(value) => Ok(value),
            _ => Err(ExpressionError(format!(
                "failed to evaluate CEL expression as boolean: '{}'",
                self.text
            ))),
        }
    }

    /// The truth value of the expression over the fields of an object.
    pub fn is_true_of(&self, object: &Json) -> Result<bool, ExpressionError> {
        let empty = serde_json::Map::new();
        self.boolean(&Fields(object.as_object().unwrap_or(&empty)))
    }

    /// The truth value of the expression over named objects.
    pub fn is_true_with(&self, variables: &BTreeMap<&str, &Json>) -> Result<bool, ExpressionError> {
        self.boolean(&Named(variables))
    }

    /// The text the expression gives over named objects.
    pub fn text_with(&self, variables: &BTreeMap<&str, &Json>) -> Result<String, ExpressionError> {
        match self.eval(&Named(variables))? {
            Value::String(text) => Ok(text.to_string()),
            _ => Err(ExpressionError(format!(
                "failed to evaluate CEL expression as string: '{}'",
                self.text
            ))),
        }
    }
}

/// Objects by name as variables.
struct Named<'n, 'v>(&'n BTreeMap<&'n str, &'v Json>);

impl<'v> Variables<'v> for Named<'_, 'v> {
    fn get(&self, name: &str) -> Option<Result<Value<'v>, EvalError>> {
        self.0.get(name).map(|value| Ok(Value::from_json(value)))
    }
}

/// What a health check says of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// The object is as it should be.
    Current,
    /// The object is on its way.
    InProgress,
    /// The object will not get there.
    Failed,
}

/// The three expressions of a health check.
#[derive(Debug)]
pub struct HealthCheck {
    current: Expression,
    in_progress: Option<Expression>,
    failed: Option<Expression>,
}

impl HealthCheck {
    /// Parses the expressions; only `current` has to be there.
    pub fn new(current: &str, in_progress: &str, failed: &str) -> Result<Self, ExpressionError> {
        if current.is_empty() {
            return Err(ExpressionError("expression Current not specified".to_owned()));
        }
        let parse = |name: &str, text: &str| {
            Expression::parse(text).map_err(|error| {
                ExpressionError(format!("failed to parse the expression {name}: {error}"))
            })
        };
        let optional = |name: &str, text: &str| {
            if text.is_empty() { Ok(None) } else { parse(name, text).map(Some) }
        };
        Ok(Self {
            current: parse("Current", current)?,
            failed: optional("Failed", failed)?,
            in_progress: optional("InProgress", in_progress)?,
        })
    }

    /// The health of an object; it is in progress until its controller has observed its generation.
    pub fn evaluate(&self, object: &Json) -> Result<Health, ExpressionError> {
        let observed = object.pointer("/status/observedGeneration").and_then(Json::as_i64);
        let generation = object.pointer("/metadata/generation").and_then(Json::as_i64);
        if let (Some(observed), Some(generation)) = (observed, generation)
            && observed != generation
        {
            return Ok(Health::InProgress);
        }
        let checks = [
            (self.in_progress.as_ref(), Health::InProgress),
            (self.failed.as_ref(), Health::Failed),
            (Some(&self.current), Health::Current),
        ];
        for (expression, health) in checks {
            if let Some(expression) = expression
                && expression.is_true_of(object)?
            {
                return Ok(health);
            }
        }
        Ok(Health::InProgress)
    }
}
