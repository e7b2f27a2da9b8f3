//! `x-kubernetes-validations`: rules in the schema of a custom resource, compiled when the
//! definition is created and run when an object is written.

mod correlation;
mod declare;
mod definition;
mod path;
mod run;
mod sizes;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::env::Env;
use crate::escape::escape;
use crate::program::Program;
use crate::schema::{Rule, Schema};
use crate::source::CompileError;
use crate::types::Type;
use crate::value::{EvalError, Value};

pub use definition::{Refusal, refusals};
pub use path::{Segment, display_path};
pub(crate) use sizes::Sizes;

pub use run::{Findings, Reason, Shown, Violation};

/// What all rules of one object may cost together.
pub const BUDGET: i64 = 10_000_000;

/// The name of the type of `self`; upstream's carries a random number.
const SELF_TYPE: &str = "selfType1";

/// The rules of a schema, ready to run.
#[derive(Debug)]
pub struct Rules {
    schema: Schema,
    root: Option<Checkpoint>,
}

/// The rules at one place of a schema and below it.
#[derive(Debug)]
struct Checkpoint {
    /// The schema that values here are read with.
    schema: Schema,
    rules: Vec<(Rule, Compiled)>,
    /// Whether there are rules but no type for `self`.
    untyped: bool,
    uses_old_self: bool,
    items: Option<Box<Checkpoint>>,
    properties: BTreeMap<String, Checkpoint>,
    additional: Option<Box<Checkpoint>>,
    all_of: Vec<Checkpoint>,
}

/// What became of a rule.
#[derive(Debug)]
struct Compiled {
    /// The program; nothing if the rule is blank.
    program: Result<Option<Program>, String>,
    message: Option<Program>,
    message_error: Option<String>,
    uses_old_self: bool,
    /// The rule's `fieldPath` as errors print it.
    field_path: String,
    /// The most that the rule may cost.
    most: u64,
    /// The most that its message may cost.
    message_most: u64,
}

impl Rules {
    /// Compiles the rules of an OpenAPI v3 schema; `root` says that it describes a whole resource.
    pub fn new(schema: &Json, root: bool) -> Self {
        let schema = Schema::parse(schema);
        let root = has_rules(&schema).then(|| checkpoint(&schema, &schema, root)).flatten();
        Self { schema, root }
    }

    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }
}

/// A schema that gives objects types in an environment and reads them accordingly.
#[derive(Debug)]
pub struct ObjectSchema {
    schema: Schema,
    declared: Option<Type>,
    sizes: Option<Sizes>,
}

impl ObjectSchema {
    /// Reads an OpenAPI v3 schema; `root` says that it describes a whole resource.
    pub fn new(schema: &Json, root: bool) -> Self {
        let schema = Schema::parse(schema);
        let declared = declare::declare(&schema, root, SELF_TYPE);
        let sizes = Sizes::of(&schema, root);
        let schema = if root { schema.with_resource_fields() } else { schema };
        Self { schema, declared, sizes }
    }

    /// The most an expression may cost on objects of this schema, however large they are.
    pub fn estimate(&self, env: &Env, text: &str) -> Result<u64, CompileError> {
        env.compile_estimated(text, self.sizes.as_ref()).map(|(_, most)| most)
    }

    /// The type of objects of this schema, if expressions can see them.
    pub fn declared(&self) -> Option<&Type> {
        self.declared.as_ref()
    }

    /// An object as a value of the schema's type; parts that do not fit are errors when read.
    pub fn read<'v>(&'v self, object: &'v Json) -> Result<Value<'v>, EvalError> {
        Value::from_schema(object, &self.schema)
    }
}

fn has_rules(schema: &Schema) -> bool {
    !schema.rules.is_empty()
        || schema.items.as_deref().is_some_and(has_rules)
        || schema.additional.as_deref().is_some_and(has_rules)
        || schema.properties.iter().flat_map(BTreeMap::values).any(|property| has_rules(property))
}

/// The rules of `validation` on values of `node`; the two differ below `allOf`.
fn checkpoint(validation: &Schema, node: &Schema, root: bool) -> Option<Checkpoint> {
    let typed = declare::is_typed(node);
    let declared =
        (!validation.rules.is_empty()).then(|| declare::declare(node, root, SELF_TYPE)).flatten();
    let rules: Vec<(Rule, Compiled)> = match &declared {
        Some(declared) => validation
            .rules
            .iter()
            .map(|rule| (rule.clone(), compile(rule, declared, node, None)))
            .collect(),
        None => Vec::new(),
    };
    let below = |validation: &Schema, node: &Schema| checkpoint(validation, node, node.embedded);
    let items = match (&validation.items, &node.items) {
        (Some(validation), Some(node)) => below(validation, node).map(Box::new),
        _ => None,
    };
    let additional = match (&validation.additional, &node.additional) {
        (Some(validation), Some(node)) => below(validation, node).map(Box::new),
        _ => None,
    };
    let mut properties = BTreeMap::new();
    for (name, validation) in validation.properties.iter().flatten() {
        let Some(node) = node.properties.as_ref().and_then(|known| known.get(name)) else {
            continue;
        };
        if !declare::is_typed(node) || (escape(name).is_some() && !typed) {
            continue;
        }
        if let Some(found) = below(validation, node) {
            properties.insert(name.clone(), found);
        }
    }
    let all_of: Vec<Checkpoint> =
        validation.all_of.iter().filter_map(|nested| checkpoint(nested, node, root)).collect();
    let untyped = !typed && !validation.rules.is_empty();
    let empty = rules.is_empty()
        && !untyped
        && items.is_none()
        && additional.is_none()
        && properties.is_empty()
        && all_of.is_empty();
    if empty {
        return None;
    }
    let schema = if root { node.with_resource_fields() } else { node.clone() };
    let uses_old_self = rules.iter().any(|(_, compiled)| compiled.uses_old_self);
    Some(Checkpoint {
        schema: Schema { items: node.items.clone(), ..schema },
        rules,
        untyped,
        uses_old_self,
        items,
        properties,
        additional,
        all_of,
    })
}

/// The environment of a rule on values of a type.
fn environment(rule: &Rule, declared: &Type) -> Env {
    let old = match rule.optional_old_self {
        Some(true) => Type::optional(declared.clone()),
        _ => declared.clone(),
    };
    Env::kubernetes().with_variable("self", declared.clone()).with_variable("oldSelf", old)
}

fn compile(rule: &Rule, declared: &Type, node: &Schema, sizes: Option<&Sizes>) -> Compiled {
    let mut compiled = Compiled {
        program: Ok(None),
        message: None,
        message_error: None,
        uses_old_self: false,
        field_path: String::new(),
        most: 0,
        message_most: 0,
    };
    if rule.expression.trim().is_empty() {
        return compiled;
    }
    let environment = environment(rule, declared);
    let program = match environment.compile_estimated(&rule.expression, sizes) {
        Ok((program, most)) => {
            compiled.most = most;
            program
        }
        Err(error) => {
            let what =
                if error.is_instantiation() { "program instantiation" } else { "compilation" };
            compiled.program = Err(format!("{what} failed: {error}"));
            return compiled;
        }
    };
    if *program.output_type() != Type::Bool {
        compiled.most = 0;
        compiled.program = Err("cel expression must evaluate to a bool".to_owned());
        return compiled;
    }
    compiled.uses_old_self = program.uses("oldSelf");
    compiled.program = Ok(Some(program));
    if !rule.message_expression.is_empty() {
        match environment.compile_estimated(&rule.message_expression, sizes) {
            Ok((program, most)) if *program.output_type() == Type::String => {
                compiled.message = Some(program);
                compiled.message_most = most;
            }
            Ok(_) => {
                let message = "messageExpression must evaluate to a string";
                compiled.message_error = Some(message.to_owned());
                return compiled;
            }
            Err(error) => {
                let what = if error.is_instantiation() { "instantiation" } else { "compilation" };
                compiled.message_error = Some(format!("messageExpression {what} failed: {error}"));
                return compiled;
            }
        }
    }
    if !rule.field_path.is_empty()
        && let Ok(segments) = path::parse(&rule.field_path, node)
    {
        compiled.field_path = display_path(&segments);
    }
    compiled
}
