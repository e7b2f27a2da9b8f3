//! A checked tree into a program: names resolved, constants folded, patterns compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ast::{ACCUMULATOR, Expr, Fold, Kind, qualified_name};
use crate::checker::{Checked, Reference};
use crate::env::Env;
use crate::eval::unusable_key;
use crate::functions::regexes::Pattern;
use crate::functions::{Call, Implementation, convert as conversions, implementation};
use crate::program::{CallNode, FoldNode, Node, Program};
use crate::signatures::{self, Library};
use crate::source::CompileError;
use crate::time::Timestamp;
use crate::types::Type;
use crate::value::{EvalError, Key, Map, Value};

struct Planner<'e> {
    env: &'e Env,
    checked: Option<&'e Checked>,
    scopes: Vec<(String, usize)>,
    slots: usize,
    deepest: usize,
    names: BTreeSet<String>,
}

/// Makes the program of a parsed, and unless `checked` is missing well-typed, expression.
pub(crate) fn plan(
    env: &Env,
    root: &Expr,
    checked: Option<&Checked>,
    output: Type,
) -> Result<Program, CompileError> {
    let mut planner =
        Planner { env, checked, scopes: Vec::new(), slots: 0, deepest: 0, names: BTreeSet::new() };
    let node = planner.plan(root).map_err(CompileError::instantiation)?;
    Ok(Program {
        root: node,
        slots: planner.deepest,
        output,
        names: planner.names,
        later_format: env.has(Library::StringsReverse),
    })
}

/// What a conversion makes of a constant.
pub(crate) fn convert<'v>(name: &str, value: &Value<'v>) -> Result<Value<'v>, EvalError> {
    let Some(function) = implementation(name) else {
        return Err(EvalError::no_such_overload());
    };
    let call = Call { function: name, overload: None, pattern: None, later_format: false };
    function(&call, std::slice::from_ref(value))
}

type Planned = Result<Node, String>;

impl Planner<'_> {
    fn reference(&self, expr: &Expr) -> Option<&Reference> {
        self.checked?.references[expr.id].as_ref()
    }

    fn plan(&mut self, expr: &Expr) -> Planned {
        match &expr.kind {
            Kind::Missing => Err("unsupported expr".to_owned()),
            Kind::Literal(value) => Ok(Node::Const(value.clone())),
            Kind::Ident(name) => match self.reference(expr).cloned() {
                Some(Reference::Type(found)) => type_value(name, &found),
                _ => Ok(self.variable(name)),
            },
            Kind::Select { operand, field, test } => match self.reference(expr).cloned() {
                Some(Reference::Type(found)) => type_value(field, &found),
                Some(Reference::Variable(name)) => Ok(self.variable(&name)),
                _ => {
                    if self.checked.is_none()
                        && let Some(found) =
                            qualified_name(expr).and_then(|name| self.env.type_named(&name))
                        && !self.is_local(operand)
                    {
                        return type_value(field, &found);
                    }
                    let mut operand = Box::new(self.plan(operand)?);
                    if self.checked.is_none() {
                        operand.qualify(field);
                    }
                    let field = Arc::from(field.as_str());
                    Ok(Node::Select { operand, field, test: *test, optional: false })
                }
            },
            Kind::Call { function, target, args } => {
                self.call(expr, function, target.as_deref(), args)
            }
            Kind::List(elements) => {
                let mut nodes = Vec::with_capacity(elements.len());
                for (element, optional) in elements {
                    nodes.push((self.plan(element)?, *optional));
                }
                Ok(fold_list(nodes))
            }
            Kind::Map(entries) => {
                let mut nodes = Vec::with_capacity(entries.len());
                for entry in entries {
                    let (key, value) = (self.plan(&entry.key)?, self.plan(&entry.value)?);
                    nodes.push((key, value, entry.optional));
                }
                Ok(fold_map(nodes))
            }
            Kind::Struct { name, fields } => {
                Ok(match (name.trim_start_matches('.'), &fields[..]) {
                    ("google.protobuf.Timestamp", []) => {
                        let epoch = Timestamp { seconds: 0, nanos: 0, offset: 0 };
                        Node::Struct(Ok(Value::Timestamp(epoch)))
                    }
                    ("google.protobuf.Duration", []) => Node::Struct(Ok(Value::Duration(0))),
                    (name, _) => {
                        Node::Struct(Err(EvalError::new(format!("unknown type '{name}'"))))
                    }
                })
            }
            Kind::Fold(fold) => self.fold(fold),
        }
    }

    fn is_local(&self, expr: &Expr) -> bool {
        match &expr.kind {
            Kind::Ident(name) => self.scopes.iter().any(|(local, _)| local == name),
            Kind::Select { operand, .. } => self.is_local(operand),
            _ => false,
        }
    }

    fn variable(&mut self, name: &str) -> Node {
        if let Some((_, slot)) = self.scopes.iter().rev().find(|(local, _)| local == name) {
            return Node::Local(*slot);
        }
        let name = name.strip_prefix('.').unwrap_or(name);
        if self.checked.is_none()
            && self.env.variable(name).is_none()
            && let Some(found) = self.env.type_named(name)
        {
            let fallback = Value::Type(Arc::from(found.runtime_name()));
            return Node::VariableOr(Arc::from(name), fallback);
        }
        self.names.insert(name.to_owned());
        Node::Variable(Arc::from(name), Arc::from(name))
    }

    fn call(
        &mut self,
        expr: &Expr,
        function: &str,
        target: Option<&Expr>,
        args: &[Expr],
    ) -> Planned {
        let mut overload = None;
        let (name, target): (String, Option<&Expr>) = match self.reference(expr) {
            Some(Reference::Function { name, member, overloads }) => {
                if let [single] = overloads[..] {
                    overload = Some(single);
                }
                ((*name).to_owned(), target.filter(|_| *member))
            }
            _ => self.dynamic_function(function, target),
        };
        let mut nodes = Vec::with_capacity(args.len() + 1);
        for arg in target.into_iter().chain(args) {
            nodes.push(self.plan(arg)?);
        }
        if self.checked.is_none()
            && matches!(name.as_str(), "_[_]" | "_[?_]" | "_?._")
            && let [operand, Node::Const(Value::String(field))] = &mut nodes[..]
        {
            operand.qualify(field);
        }
        operator(&name, nodes).unwrap_or_else(|nodes| self.function(expr, &name, overload, nodes))
    }

    /// Which function an unchecked call means, and whether its target is a receiver.
    fn dynamic_function<'x>(
        &self,
        function: &str,
        target: Option<&'x Expr>,
    ) -> (String, Option<&'x Expr>) {
        let Some(target) = target else {
            return (function.strip_prefix('.').unwrap_or(function).to_owned(), None);
        };
        if let Some(prefix) = qualified_name(target) {
            let name = format!("{prefix}.{function}");
            let name = name.strip_prefix('.').unwrap_or(&name);
            if signatures::find(name, self.env.libraries()).is_some() {
                return (name.to_owned(), None);
            }
        }
        (function.to_owned(), Some(target))
    }

    fn function(
        &mut self,
        expr: &Expr,
        name: &str,
        overload: Option<&'static str>,
        mut nodes: Vec<Node>,
    ) -> Planned {
        let known = signatures::find(name, self.env.libraries());
        let declared = known.is_some();
        // Unchecked, a call may have any number of arguments; functions expect one they take.
        let fits = known.is_some_and(|(_, overloads)| {
            overloads.iter().any(|overload| overload.args.len() == nodes.len())
        });
        let run: Option<Implementation> = fits.then(|| implementation(name)).flatten();
        if run.is_none() && nodes.is_empty() {
            return Err(format!("no such overload: {name}()"));
        }
        if run.is_some()
            && conversions::is_conversion(name)
            && let [Node::Const(value)] = &nodes[..]
        {
            return convert(name, value).map(Node::Const).map_err(|error| error.to_string());
        }
        if overload == Some("in_list")
            && let Some(Node::Const(Value::List(list))) = nodes.get(1)
        {
            if list.is_empty() {
                return Ok(Node::Const(Value::Bool(false)));
            }
            let simple = |value: Value| {
                matches!(
                    value,
                    Value::Bool(_)
                        | Value::Int(_)
                        | Value::Uint(_)
                        | Value::Double(_)
                        | Value::String(_)
                )
            };
            if list.iter().flatten().all(simple) {
                let list = list.clone();
                nodes.truncate(1);
                let element = Box::new(nodes.remove(0));
                return Ok(Node::Member { element, list });
            }
        }
        let mut pattern = None;
        if matches!(name, "matches" | "find" | "findAll")
            && let Some(Node::Const(Value::String(text))) = nodes.get(1)
        {
            pattern = Some(Pattern::new(text)?);
        }
        Ok(Node::Call(Box::new(CallNode {
            function: Arc::from(name),
            overload,
            declared,
            run,
            pattern,
            id: expr.id,
            args: nodes,
        })))
    }

    fn slot(&mut self) -> usize {
        let slot = self.slots;
        self.slots += 1;
        self.deepest = self.deepest.max(self.slots);
        slot
    }

    fn fold(&mut self, fold: &Fold) -> Planned {
        let range = self.plan(&fold.range)?;
        let initial = self.plan(&fold.initial)?;
        let (depth, slots) = (self.scopes.len(), self.slots);
        let accumulator = self.slot();
        self.scopes.push((fold.accumulator.clone(), accumulator));
        let first = self.slot();
        self.scopes.push((fold.variable.clone(), first));
        let second = fold.second.as_ref().map(|name| {
            let slot = self.slot();
            self.scopes.push((name.clone(), slot));
            slot
        });
        let condition = self.plan(&fold.condition)?;
        let step = self.plan(&fold.step)?;
        let step = in_place(step, accumulator, fold.accumulator == ACCUMULATOR);
        self.scopes.truncate(depth + 1);
        let result = self.plan(&fold.result)?;
        self.scopes.truncate(depth);
        self.slots = slots;
        Ok(Node::Fold(Box::new(FoldNode {
            range,
            accumulator,
            first,
            second,
            initial,
            condition,
            step,
            result,
        })))
    }
}

/// Operators that the evaluator runs itself; other functions' arguments are handed back.
fn operator(name: &str, nodes: Vec<Node>) -> Result<Planned, Vec<Node>> {
    fn take<const N: usize>(nodes: Vec<Node>) -> Result<[Box<Node>; N], Vec<Node>> {
        let nodes: [Node; N] = nodes.try_into()?;
        Ok(nodes.map(Box::new))
    }
    let node = match name {
        "_&&_" => Node::And(nodes),
        "_||_" => Node::Or(nodes),
        "_?_:_" => {
            let [condition, then, otherwise] = take(nodes)?;
            Node::Conditional { condition, then, otherwise }
        }
        "_==_" | "_!=_" => {
            let [left, right] = take(nodes)?;
            Node::Equal { left, right, negated: name == "_!=_" }
        }
        "_[_]" | "_[?_]" => {
            let [operand, index] = take(nodes)?;
            if let Node::Const(key) = &*index
                && let Some(kind) = unusable_key(key)
            {
                return Ok(Err(format!("invalid qualifier type: {kind}")));
            }
            Node::Index { operand, index, optional: name == "_[?_]" }
        }
        "_?._" => {
            let [operand, field] = take(nodes)?;
            let Node::Const(Value::String(field)) = *field else {
                return Ok(Err("unsupported optional field selection".to_owned()));
            };
            let field = Arc::from(&*field);
            Node::Select { operand, field, test: false, optional: true }
        }
        "or" | "orValue" if nodes.len() == 2 => {
            let [left, right] = take(nodes)?;
            Node::OrElse { left, right, unwrap: name == "orValue" }
        }
        "@not_strictly_false" => {
            let [operand] = take(nodes)?;
            Node::NotStrictlyFalse(operand)
        }
        _ => return Err(nodes),
    };
    Ok(Ok(node))
}

fn type_value(name: &str, found: &Type) -> Planned {
    // Names that only Kubernetes' type provider knows have no value.
    if matches!(name, "duration" | "timestamp") {
        return Err(format!("reference to undefined type: {name}"));
    }
    if let Type::Object(object) = found {
        return Err(format!("reference to undefined type: {}", object.name));
    }
    Ok(Node::Const(Value::Type(Arc::from(found.runtime_name()))))
}

fn fold_list(nodes: Vec<(Node, bool)>) -> Node {
    let constant = nodes.iter().all(|(node, optional)| matches!(node, Node::Const(_)) && !optional);
    if !constant {
        return Node::List(nodes);
    }
    let values = nodes.into_iter().filter_map(|(node, _)| match node {
        Node::Const(value) => Some(value),
        _ => None,
    });
    Node::Const(Value::from(values.collect::<Vec<_>>()))
}

fn fold_map(nodes: Vec<(Node, Node, bool)>) -> Node {
    let mut entries = BTreeMap::new();
    for (key, value, optional) in &nodes {
        match (key, value) {
            (Node::Const(key), Node::Const(value)) if !optional => match Key::of(key) {
                Some(key) => entries.insert(key, value.clone()),
                None => return Node::Map(nodes),
            },
            _ => return Node::Map(nodes),
        };
    }
    Node::Const(Value::Map(Map::Values(Arc::new(entries))))
}

/// A step that adds to the accumulator does so in place, so that folding stays linear.
fn in_place(step: Node, accumulator: usize, hidden: bool) -> Node {
    if !hidden {
        return step;
    }
    let is_accumulator = |node: &Node| matches!(node, Node::Local(slot) if *slot == accumulator);
    match step {
        Node::Conditional { condition, then, otherwise } if is_accumulator(&otherwise) => {
            let then = Box::new(in_place(*then, accumulator, hidden));
            Node::Conditional { condition, then, otherwise }
        }
        Node::Call(mut call)
            if call.args.first().is_some_and(is_accumulator)
                && (&*call.function == "cel.@mapInsert"
                    || &*call.function == "_+_" && is_addition(call.args.get(1))) =>
        {
            call.args.remove(0);
            Node::Accumulate { slot: accumulator, call }
        }
        other => other,
    }
}

fn is_addition(node: Option<&Node>) -> bool {
    matches!(node, Some(Node::List(_) | Node::Const(Value::List(_))))
}
