//! The evaluator: walks a program, counting what each step costs.

mod fold;
mod path;
mod price;

use path::Path;

pub(crate) use path::unusable_key;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::functions::convert::display;
use crate::functions::{Call, lists};
use crate::program::{CallNode, Node, Program, Variables};
use crate::value::{EvalError, Key, List, Map, Outcome, Value, contains, equal};

/// A variable of a fold.
enum Slot<'p, 'v> {
    /// Not set.
    Empty,
    /// Evaluated when first read.
    Lazy(&'p Node),
    /// Set.
    Ready(Outcome<'v>),
}

pub(crate) struct Evaluator<'p, 'v, 'a> {
    program: &'p Program,
    variables: &'a dyn Variables<'v>,
    slots: Vec<Slot<'p, 'v>>,
    cost: u64,
    limit: u64,
}

impl<'p, 'v, 'a> Evaluator<'p, 'v, 'a> {
    pub(crate) fn new(program: &'p Program, variables: &'a dyn Variables<'v>, limit: u64) -> Self {
        let slots = (0..program.slots).map(|_| Slot::Empty).collect();
        Self { program, variables, slots, cost: 0, limit }
    }

    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    pub(crate) fn run(&mut self) -> Outcome<'v> {
        let program = self.program;
        let result = self.eval(&program.root);
        if self.cost > self.limit {
            return Err(EvalError::cost_limit());
        }
        result
    }

    /// Adds to the cost; past the limit everything ends.
    fn spend(&mut self, cost: u64) -> Result<(), EvalError> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(EvalError::cost_limit()) } else { Ok(()) }
    }

    /// Evaluates a step as a value of its own.
    fn eval(&mut self, node: &'p Node) -> Outcome<'v> {
        match node {
            Node::Const(value) => Ok(value.clone()),
            Node::Conditional { .. } => self.resolve(node),
            attribute if attribute.is_attribute() => {
                let value = self.resolve(attribute);
                let tested = matches!(attribute, Node::Select { test: true, .. });
                self.spend(u64::from(!tested && !attribute.is_conditional()))?;
                value
            }
            Node::And(terms) => self.logical(terms, false),
            Node::Or(terms) => self.logical(terms, true),
            Node::Equal { left, right, negated } => self.equality(left, right, *negated),
            Node::Member { element, list } => {
                let value = self.eval(element)?;
                contains(list, &value).map(Value::Bool)
            }
            Node::OrElse { left, right, unwrap } => self.or_else(left, right, *unwrap),
            Node::NotStrictlyFalse(operand) => {
                let value = self.eval(operand);
                self.spend(1)?;
                match value {
                    Err(error) if error.is_cancelled() => Err(error),
                    Ok(Value::Bool(value)) => Ok(Value::Bool(value)),
                    _ => Ok(Value::Bool(true)),
                }
            }
            Node::Call(call) => self.call(call),
            Node::Accumulate { slot, call } => self.accumulate(*slot, call),
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(entries),
            Node::Struct(value) => {
                self.spend(price::STRUCT)?;
                value.clone()
            }
            Node::Fold(fold) => self.fold(fold),
            // Attributes are matched above.
            _ => Err(EvalError::no_such_overload()),
        }
    }

    /// Evaluates a step that further selection may follow: a path costs once, not once per part.
    fn resolve(&mut self, node: &'p Node) -> Outcome<'v> {
        match node {
            Node::Variable(name, label) => self
                .variable(name)
                .unwrap_or_else(|| Err(EvalError::new(format!("no such attribute(s): {label}")))),
            Node::VariableOr(name, fallback) => {
                self.variable(name).unwrap_or_else(|| Ok(fallback.clone()))
            }
            Node::Local(slot) => self.local(*slot),
            Node::Conditional { condition, then, otherwise } => {
                let chosen = match self.eval(condition)? {
                    Value::Bool(true) => then,
                    Value::Bool(false) => otherwise,
                    _ => return Err(EvalError::no_such_overload()),
                };
                self.operand(chosen)
            }
            Node::Select { .. } | Node::Index { .. } => self.path(node).map(Path::finish),
            other => self.eval(other),
        }
    }

    fn operand(&mut self, node: &'p Node) -> Outcome<'v> {
        if node.is_attribute() { self.resolve(node) } else { self.eval(node) }
    }

    fn variable(&self, name: &str) -> Option<Outcome<'v>> {
        self.variables.get(name)
    }

    fn local(&mut self, slot: usize) -> Outcome<'v> {
        if let Slot::Lazy(initial) = self.slots[slot] {
            let value = self.eval(initial);
            self.slots[slot] = Slot::Ready(value);
        }
        match &self.slots[slot] {
            Slot::Ready(value) => value.clone(),
            _ => Err(EvalError::new("no such attribute(s): unset")),
        }
    }

    /// `&&` and `||`: a decisive operand outweighs errors in others.
    fn logical(&mut self, terms: &'p [Node], decisive: bool) -> Outcome<'v> {
        let mut failure = None;
        for term in terms {
            match self.eval(term) {
                Ok(Value::Bool(value)) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => {
                    failure.get_or_insert_with(EvalError::no_such_overload);
                }
                Err(error) if error.is_cancelled() => return Err(error),
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn equality(&mut self, left: &'p Node, right: &'p Node, negated: bool) -> Outcome<'v> {
        let args = [self.eval(left), self.eval(right)];
        cancelled(&args)?;
        let function = if negated { "_!=_" } else { "_==_" };
        let result = match &args {
            [Ok(one), Ok(two)] => match equal(one, two) {
                Ok(same) => Ok(Value::Bool(same != negated)),
                // Whatever is not plainly equal is different.
                Err(_) if negated => Ok(Value::Bool(true)),
                Err(error) => Err(error),
            },
            [Err(error), _] | [_, Err(error)] => Err(error.clone()),
        };
        let overload = if negated { "not_equals" } else { "equals" };
        self.spend(price::call(function, Some(overload), &args, &result))?;
        result
    }

    fn or_else(&mut self, left: &'p Node, right: &'p Node, unwrap: bool) -> Outcome<'v> {
        match self.eval(left)? {
            Value::Optional(None) => self.eval(right),
            Value::Optional(Some(value)) if unwrap => Ok(Arc::unwrap_or_clone(value)),
            other => Ok(other),
        }
    }

    fn call(&mut self, call: &'p CallNode) -> Outcome<'v> {
        let mut args = Vec::with_capacity(call.args.len());
        // Functions of many arguments stop at the first that fails; those of one or two do not.
        let eager = call.args.len() <= 2 && &*call.function != "format";
        for arg in &call.args {
            let value = self.eval(arg);
            if let Err(error) = &value
                && (!eager || error.is_cancelled())
            {
                return Err(error.clone());
            }
            args.push(value);
        }
        // What takes more time than its arguments have elements is paid before it is done.
        let quadratic = matches!(
            &*call.function,
            "distinct" | "sets.contains" | "sets.equivalent" | "sets.intersects"
        );
        if quadratic {
            let price = price::call(&call.function, call.overload, &args, &Ok(Value::Null));
            if self.cost.saturating_add(price) > self.limit {
                self.cost = self.cost.saturating_add(price);
                return Err(EvalError::cost_limit());
            }
        }
        let result = self.apply(call, &args);
        let price = price::call(&call.function, call.overload, &args, &result);
        self.spend(price)?;
        result
    }

    fn apply(&self, call: &'p CallNode, args: &[Outcome<'v>]) -> Outcome<'v> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(arg.clone()?);
        }
        let Some(run) = call.run else {
            return Err(if call.declared {
                self.context(call).mismatch(&values)
            } else {
                unknown(call, &values)
            });
        };
        if let ("sum", Some(overload), [Value::List(list)]) =
            (&*call.function, call.overload, &values[..])
            && list.is_empty()
            && let Some(zero) = lists::empty_sum(overload)
        {
            return Ok(zero);
        }
        run(&self.context(call), &values)
    }

    fn context(&self, call: &'p CallNode) -> Call<'p> {
        Call {
            function: &call.function,
            overload: call.overload,
            pattern: call.pattern.as_ref(),
            later_format: self.program.later_format,
        }
    }

    fn list(&mut self, elements: &'p [(Node, bool)]) -> Outcome<'v> {
        let result = self.elements(elements);
        if let Err(error) = &result
            && error.is_cancelled()
        {
            return result;
        }
        self.spend(price::LIST)?;
        result
    }

    fn elements(&mut self, elements: &'p [(Node, bool)]) -> Outcome<'v> {
        let mut values = Vec::with_capacity(elements.len());
        for (element, optional) in elements {
            match (self.eval(element)?, optional) {
                (value, false) => values.push(value),
                (Value::Optional(None), true) => {}
                (Value::Optional(Some(value)), true) => values.push(Arc::unwrap_or_clone(value)),
                (other, true) => {
                    return Err(EvalError::new(format!(
                        "cannot initialize optional list element from non-optional value {}",
                        display(&other)
                    )));
                }
            }
        }
        Ok(Value::List(List::from(values)))
    }

    fn map(&mut self, entries: &'p [(Node, Node, bool)]) -> Outcome<'v> {
        let result = self.entries(entries);
        if let Err(error) = &result
            && error.is_cancelled()
        {
            return result;
        }
        self.spend(price::MAP)?;
        result
    }

    fn entries(&mut self, entries: &'p [(Node, Node, bool)]) -> Outcome<'v> {
        let mut map = BTreeMap::new();
        for (key, value, optional) in entries {
            let (key, value) = (self.eval(key)?, self.eval(value)?);
            let Some(name) = Key::of(&key) else {
                let kind = key.type_name();
                return Err(EvalError::new(format!("unsupported key type: {kind}")));
            };
            match (value, optional) {
                (value, false) => {
                    map.insert(name, value);
                }
                (Value::Optional(None), true) => {
                    map.remove(&name);
                }
                (Value::Optional(Some(value)), true) => {
                    map.insert(name, Arc::unwrap_or_clone(value));
                }
                (other, true) => {
                    return Err(EvalError::new(format!(
                        "cannot initialize optional entry '{}' from non-optional value {}",
                        display(&key),
                        display(&other)
                    )));
                }
            }
        }
        Ok(Value::Map(Map::Values(Arc::new(map))))
    }
}

fn cancelled(args: &[Outcome]) -> Result<(), EvalError> {
    for arg in args {
        if let Err(error) = arg
            && error.is_cancelled()
        {
            return Err(error.clone());
        }
    }
    Ok(())
}

/// The error of a function that no library has.
fn unknown(call: &CallNode, values: &[Value]) -> EvalError {
    let receives =
        matches!(values.first(), Some(Value::String(_) | Value::Timestamp(_) | Value::Duration(_)));
    if receives {
        EvalError::no_such_overload()
    } else if values.len() > 2 {
        EvalError::new(format!("no such overload: {} {}", call.function, call.id))
    } else {
        EvalError::new(format!("no such overload: {}", call.function))
    }
}
