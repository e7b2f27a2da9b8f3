//! Programs, and running them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::eval::Evaluator;
use crate::functions::Implementation;
use crate::functions::regexes::Pattern;
use crate::types::Type;
use crate::value::{EvalError, List, Value};

/// A step of a program.
#[derive(Debug)]
pub(crate) enum Node {
    /// A value known beforehand.
    Const(Value<'static>),
    /// A variable of the environment, and what an error calls it.
    Variable(Arc<str>, Arc<str>),
    /// A variable, or if there is none a type's name.
    VariableOr(Arc<str>, Value<'static>),
    /// A variable of a fold.
    Local(usize),
    /// A field, a test for one, or an optional field.
    Select { operand: Box<Node>, field: Arc<str>, test: bool, optional: bool },
    /// An element.
    Index { operand: Box<Node>, index: Box<Node>, optional: bool },
    /// True if all are.
    And(Vec<Node>),
    /// True if one is.
    Or(Vec<Node>),
    /// One of two.
    Conditional { condition: Box<Node>, then: Box<Node>, otherwise: Box<Node> },
    /// Equality or its negation.
    Equal { left: Box<Node>, right: Box<Node>, negated: bool },
    /// Membership in a list of constants.
    Member { element: Box<Node>, list: List<'static> },
    /// An optional, or something else if it is empty.
    OrElse { left: Box<Node>, right: Box<Node>, unwrap: bool },
    /// Whether a fold goes on: errors count as true.
    NotStrictlyFalse(Box<Node>),
    /// A function.
    Call(Box<CallNode>),
    /// A function with the accumulator as its first argument, changed in place.
    Accumulate { slot: usize, call: Box<CallNode> },
    /// A list; the flag marks optional elements.
    List(Vec<(Node, bool)>),
    /// A map; the flag marks optional values.
    Map(Vec<(Node, Node, bool)>),
    /// A message literal: only empty times can be made.
    Struct(Result<Value<'static>, EvalError>),
    /// A fold.
    Fold(Box<FoldNode>),
}

impl Node {
    /// Whether the step selects from one of two; such a path costs only its parts.
    pub(crate) fn is_conditional(&self) -> bool {
        match self {
            Node::Conditional { .. } => true,
            Node::Select { operand, .. } | Node::Index { operand, .. } => operand.is_conditional(),
            _ => false,
        }
    }

    /// Adds to the name of a variable that may turn out to be missing: unchecked, `a.b` may be
    /// either a variable of that name or a field.
    pub(crate) fn qualify(&mut self, field: &str) {
        match self {
            Node::Variable(_, label) => *label = Arc::from(format!("{label}.{field}")),
            Node::Select { operand, .. } => operand.qualify(field),
            Node::Index { operand, index, .. }
                if matches!(**index, Node::Const(Value::String(_))) =>
            {
                operand.qualify(field);
            }
            _ => {}
        }
    }

    /// Whether the step is read as one path together with what selects from it.
    pub(crate) fn is_attribute(&self) -> bool {
        matches!(
            self,
            Node::Variable(..)
                | Node::VariableOr(..)
                | Node::Local(_)
                | Node::Select { .. }
                | Node::Index { .. }
                | Node::Conditional { .. }
        )
    }
}

/// A call.
#[derive(Debug)]
pub(crate) struct CallNode {
    /// The function's name.
    pub(crate) function: Arc<str>,
    /// The overload, if only one fits.
    pub(crate) overload: Option<&'static str>,
    /// Whether a library has the function.
    pub(crate) declared: bool,
    /// What to run; nothing if there is nothing to call it on.
    pub(crate) run: Option<Implementation>,
    /// The pattern, if it is constant.
    pub(crate) pattern: Option<Pattern>,
    /// The number of the node, which some errors show.
    pub(crate) id: usize,
    /// The arguments.
    pub(crate) args: Vec<Node>,
}

/// A fold.
#[derive(Debug)]
pub(crate) struct FoldNode {
    pub(crate) range: Node,
    pub(crate) accumulator: usize,
    pub(crate) first: usize,
    pub(crate) second: Option<usize>,
    pub(crate) initial: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
}

/// An expression ready to be evaluated.
#[derive(Debug)]
pub struct Program {
    pub(crate) root: Node,
    pub(crate) slots: usize,
    pub(crate) output: Type,
    pub(crate) names: BTreeSet<String>,
    pub(crate) later_format: bool,
}

/// Where a program finds its variables.
pub trait Variables<'v> {
    /// The variable of this name, or the error of reading it.
    fn get(&self, name: &str) -> Option<Result<Value<'v>, EvalError>>;
}

impl<'v> Variables<'v> for BTreeMap<String, Value<'v>> {
    fn get(&self, name: &str) -> Option<Result<Value<'v>, EvalError>> {
        BTreeMap::get(self, name).cloned().map(Ok)
    }
}

/// What an evaluation may cost, and what it has cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The most one evaluation may cost.
    pub limit: u64,
    /// What evaluations have cost together.
    pub spent: u64,
}

impl Cost {
    /// What the API server lets one evaluation cost.
    pub const PER_CALL: u64 = 1_000_000;

    /// A limit for each evaluation, nothing spent.
    pub fn limited(limit: u64) -> Self {
        Self { limit, spent: 0 }
    }
}

impl Program {
    /// The type of the result.
    pub fn output_type(&self) -> &Type {
        &self.output
    }

    /// Whether the expression names a variable of the environment.
    pub fn uses(&self, variable: &str) -> bool {
        self.names.contains(variable)
    }

    /// Evaluates the expression; what it cost is added to `cost` even if it fails.
    pub fn eval<'v>(
        &self,
        variables: &dyn Variables<'v>,
        cost: &mut Cost,
    ) -> Result<Value<'v>, EvalError> {
        let mut evaluator = Evaluator::new(self, variables, cost.limit);
        let result = evaluator.run();
        cost.spent = cost.spent.saturating_add(evaluator.cost());
        result
    }
}
