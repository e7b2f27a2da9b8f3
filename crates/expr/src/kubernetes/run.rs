//! Running rules on an object and the one it replaces.

use std::cell::RefCell;

use serde_json::Value as Json;

use super::correlation::{OldElements, Pair, Ratchet};
use super::path::{Segment, display_path};
use super::{BUDGET, Checkpoint, Compiled, Rules};
use crate::program::{Cost, Program, Variables};
use crate::schema::Rule;
use crate::value::{EvalError, Value};

/// The longest message a rule may make.
const MESSAGE_LIMIT: usize = 5 * 1024;

/// What kind of error a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// `Invalid value`.
    Invalid,
    /// `Forbidden`.
    Forbidden,
    /// `Required value`.
    Required,
    /// `Duplicate value`.
    Duplicate,
}

/// The value an error shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// None, because it is an object or a list.
    Omitted,
    /// The value itself.
    Value(Json),
    /// The name of the type that the schema gives it.
    Type(String),
}

/// A rule that does not hold, or could not be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Where the value is.
    pub path: Vec<Segment>,
    /// What kind of error it is.
    pub reason: Reason,
    /// The message.
    pub message: String,
    /// The value shown.
    pub value: Shown,
}

impl Violation {
    /// The path as messages print it.
    pub fn field(&self) -> String {
        display_path(&self.path)
    }
}

/// What running the rules found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Errors, in the order of the schema's walk.
    pub errors: Vec<Violation>,
    /// Violations of rules on values that were as bad before; they are only warned of.
    pub warnings: Vec<Violation>,
    /// What is left of the budget; negative if it ran out.
    pub remaining: i64,
}

/// The budget ran out: nothing more is run.
struct Exhausted;

type Step = Result<(), Exhausted>;

/// `self` and `oldSelf`, the latter only where the rules use it.
struct Scope<'v> {
    new: Result<Value<'v>, EvalError>,
    old: Option<Result<Value<'v>, EvalError>>,
}

impl<'v> Variables<'v> for Scope<'v> {
    fn get(&self, name: &str) -> Option<Result<Value<'v>, EvalError>> {
        match name {
            "self" => Some(self.new.clone()),
            "oldSelf" => self.old.clone(),
            _ => None,
        }
    }
}

struct Run {
    findings: Findings,
    limit: u64,
    path: RefCell<Vec<Segment>>,
}

impl Rules {
    /// Runs the rules on `new`, which replaces `old` if there is one, within the usual limits.
    pub fn validate(&self, new: &Json, old: Option<&Json>) -> Findings {
        self.validate_within(new, old, BUDGET, Cost::PER_CALL)
    }

    /// Runs the rules within a budget for all of them and a limit for each.
    pub fn validate_within(
        &self,
        new: &Json,
        old: Option<&Json>,
        budget: i64,
        limit: u64,
    ) -> Findings {
        let findings = Findings { remaining: budget, ..Findings::default() };
        let mut run = Run { findings, limit, path: RefCell::default() };
        if let Some(root) = &self.root {
            let pair = old.map(|old| Pair::new(new, old, &self.schema));
            if run.value(root, new, old, Ratchet::root(pair)).is_err() {
                run.findings.remaining = -1;
            }
        }
        run.findings
    }
}

impl Run {
    fn under(&mut self, segment: Segment, run: impl FnOnce(&mut Self) -> Step) -> Step {
        self.path.get_mut().push(segment);
        let result = run(self);
        self.path.get_mut().pop();
        result
    }

    fn value<'v>(
        &mut self,
        checkpoint: &'v Checkpoint,
        new: &'v Json,
        old: Option<&'v Json>,
        ratchet: Ratchet<'v>,
    ) -> Step {
        if new.is_null() {
            return Ok(());
        }
        let old = old.filter(|old| !old.is_null());
        self.rules(checkpoint, new, old, &ratchet)?;
        for branch in &checkpoint.all_of {
            self.value(branch, new, old, ratchet.branch())?;
        }
        match new {
            Json::Array(elements) => {
                let Some(items) = &checkpoint.items else { return Ok(()) };
                let schema = &checkpoint.schema;
                let old = OldElements::new(schema, old);
                for (index, element) in elements.iter().enumerate() {
                    let before = old.get(schema, element);
                    let ratchet = ratchet.index(&old, element);
                    self.under(Segment::Index(index), |run| {
                        run.value(items, element, before, ratchet)
                    })?;
                }
                Ok(())
            }
            Json::Object(object) => {
                let before = |key: &str| old.and_then(|old| old.as_object()?.get(key));
                if let Some(additional) = &checkpoint.additional {
                    for (key, value) in object {
                        let ratchet = ratchet.key(key);
                        self.under(Segment::Key(key.clone()), |run| {
                            run.value(additional, value, before(key), ratchet)
                        })?;
                    }
                }
                for (key, value) in object {
                    let Some(property) = checkpoint.properties.get(key) else { continue };
                    let ratchet = ratchet.key(key);
                    self.under(Segment::Field(key.clone()), |run| {
                        run.value(property, value, before(key), ratchet)
                    })?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn invalid(&mut self, checkpoint: &Checkpoint, message: String) {
        let path = self.path.get_mut().clone();
        let value = Shown::Type(checkpoint.schema.kind.clone());
        self.findings.errors.push(Violation { path, reason: Reason::Invalid, message, value });
    }

    fn rules<'v>(
        &mut self,
        checkpoint: &'v Checkpoint,
        new: &'v Json,
        old: Option<&'v Json>,
        ratchet: &Ratchet<'v>,
    ) -> Step {
        if checkpoint.untyped {
            let message = "rule compiler initialization error: failed to convert to declType for \
                           CEL validation rules";
            self.invalid(checkpoint, message.to_owned());
            return Ok(());
        }
        if checkpoint.rules.is_empty() {
            return Ok(());
        }
        if self.findings.remaining <= 0 {
            return Err(self.out_of_budget(checkpoint));
        }
        let schema = &checkpoint.schema;
        let read = |json: &'v Json| Value::from_schema(json, schema);
        let old_value = old.filter(|_| checkpoint.uses_old_self).map(read);
        let plain = Scope { new: read(new), old: old_value.clone() };
        let optional = Scope {
            new: plain.new.clone(),
            old: checkpoint.uses_old_self.then(|| match old_value {
                Some(value) => value.map(Value::some),
                None => Ok(Value::NONE),
            }),
        };
        for (rule, compiled) in &checkpoint.rules {
            let program = match &compiled.program {
                Ok(Some(program)) => program,
                Ok(None) => continue,
                Err(error) => {
                    self.invalid(checkpoint, format!("rule compile error: {error}"));
                    continue;
                }
            };
            let wants_optional = rule.optional_old_self == Some(true);
            if compiled.uses_old_self && old.is_none() && !wants_optional {
                continue;
            }
            let scope = if wants_optional { &optional } else { &plain };
            let outcome = self.eval(program, scope);
            let Ok(result) = outcome else { return Err(self.out_of_budget(checkpoint)) };
            match result {
                Ok(Value::Bool(true)) => {}
                Ok(_) => self.failed(checkpoint, rule, compiled, (new, &plain), ratchet)?,
                Err(error) => self.broken(checkpoint, rule, &error)?,
            }
        }
        Ok(())
    }

    /// Evaluates and pays; the outer error says that the budget does not suffice.
    fn eval<'v>(
        &mut self,
        program: &Program,
        scope: &Scope<'v>,
    ) -> Result<Result<Value<'v>, EvalError>, Exhausted> {
        let mut cost = Cost::limited(self.limit);
        let result = program.eval(scope, &mut cost);
        let spent = i64::try_from(cost.spent).unwrap_or(i64::MAX);
        if spent > self.findings.remaining {
            return Err(Exhausted);
        }
        self.findings.remaining -= spent;
        Ok(result)
    }

    fn out_of_budget(&mut self, checkpoint: &Checkpoint) -> Exhausted {
        let message = "validation failed due to running out of cost budget, no further \
                       validation rules will be run";
        self.invalid(checkpoint, message.to_owned());
        Exhausted
    }

    fn broken(&mut self, checkpoint: &Checkpoint, rule: &Rule, error: &EvalError) -> Step {
        let shown = name_of(rule);
        let text = error.to_string();
        if text.starts_with("no such overload") {
            let message = format!(
                "'{text}': call arguments did not match a supported operator, function or macro \
                 signature for rule: {shown}"
            );
            self.invalid(checkpoint, message);
        } else if error.is_cancelled() {
            let message = format!(
                "'{text}': no further validation rules will be run due to call cost exceeds limit \
                 for rule: {shown}"
            );
            self.invalid(checkpoint, message);
            return Err(Exhausted);
        } else {
            self.invalid(checkpoint, format!("{text} evaluating rule: {shown}"));
        }
        Ok(())
    }

    fn failed<'v>(
        &mut self,
        checkpoint: &Checkpoint,
        rule: &Rule,
        compiled: &Compiled,
        (new, scope): (&Json, &Scope<'v>),
        ratchet: &Ratchet<'v>,
    ) -> Step {
        let mut path = self.path.get_mut().clone();
        if !compiled.field_path.is_empty() {
            path.push(Segment::Field(compiled.field_path.clone()));
        }
        let forgiven = !compiled.uses_old_self && ratchet.forgives();
        let mut exhausted = false;
        let mut reason = match rule.reason.as_deref() {
            Some("FieldValueForbidden") => Reason::Forbidden,
            Some("FieldValueRequired") => Reason::Required,
            Some("FieldValueDuplicate") => Reason::Duplicate,
            _ => Reason::Invalid,
        };
        let kind = &checkpoint.schema.kind;
        let mut value = if kind == "object" || kind == "array" {
            Shown::Omitted
        } else {
            Shown::Value(new.clone())
        };
        let mut message = None;
        if let Some(program) = &compiled.message {
            match self.message(program, rule, scope) {
                Ok(made) => message = made,
                Err(complaint) => {
                    message = Some(complaint);
                    (reason, value) = (Reason::Invalid, Shown::Type(kind.clone()));
                    exhausted = true;
                }
            }
        }
        let message = message.unwrap_or_else(|| {
            if rule.message.is_empty() {
                format!("failed rule: {}", name_of(rule))
            } else {
                rule.message.trim().to_owned()
            }
        });
        let violation = Violation { path, reason, message, value };
        if forgiven {
            self.findings.warnings.push(violation);
        } else {
            self.findings.errors.push(violation);
        }
        if exhausted { Err(Exhausted) } else { Ok(()) }
    }

    /// The message an expression makes, if it makes a usable one; an error ends everything.
    fn message(
        &mut self,
        program: &Program,
        rule: &Rule,
        scope: &Scope,
    ) -> Result<Option<String>, String> {
        let Ok(result) = self.eval(program, scope) else {
            return Err(
                "messageExpression evaluation failed due to running out of cost budget, no \
                        further validation rules will be run"
                    .to_owned(),
            );
        };
        match result {
            Ok(value) => {
                let text = value.as_str().map(str::trim).unwrap_or_default();
                let usable =
                    !text.is_empty() && text.len() <= MESSAGE_LIMIT && !text.contains('\n');
                Ok(usable.then(|| text.to_owned()))
            }
            Err(error) if error.is_cancelled() => Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for \
                 messageExpression: {}",
                sluice_base::go::quote(&rule.message_expression)
            )),
            Err(_) => Ok(None),
        }
    }
}

/// What errors call a rule.
fn name_of(rule: &Rule) -> &str {
    let text = if rule.message.is_empty() { &rule.expression } else { &rule.message };
    text.trim()
}
