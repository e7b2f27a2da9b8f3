//! The tree an expression parses into.

use crate::value::Value;

/// The number of a node; its place and its type are looked up by it.
pub(crate) type Id = usize;

/// The variable that a comprehension macro folds into; no source text can name it.
pub(crate) const ACCUMULATOR: &str = "@result";

/// A node of the tree.
#[derive(Debug)]
pub(crate) struct Expr {
    /// The node's number.
    pub(crate) id: Id,
    /// What the node is.
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Left behind where a syntax error was reported.
    Missing,
    /// A literal.
    Literal(Value<'static>),
    /// A name, with its leading dot if it has one.
    Ident(String),
    /// `operand.field`, or `has(operand.field)`.
    Select { operand: Box<Expr>, field: String, test: bool },
    /// An operator, a function, or with a target a method.
    Call { function: String, target: Option<Box<Expr>>, args: Vec<Expr> },
    /// `[a, ?b]`; the flag marks optional elements.
    List(Vec<(Expr, bool)>),
    /// `{k: v, ?o: w}`.
    Map(Vec<Entry>),
    /// `Name{field: value}`.
    Struct { name: String, fields: Vec<Field> },
    /// A fold over a list or a map.
    Fold(Box<Fold>),
}

/// One pair of a map literal.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: Expr,
    /// The value.
    pub(crate) value: Expr,
    /// Whether the pair is left out when the value is an empty optional.
    pub(crate) optional: bool,
}

/// One field of a message literal.
#[derive(Debug)]
pub(crate) struct Field {
    /// The number that errors of the field point at.
    pub(crate) id: Id,
    /// The name.
    pub(crate) name: String,
    /// The value.
    pub(crate) value: Expr,
    /// Whether the field is left out when the value is an empty optional.
    pub(crate) optional: bool,
}

/// What every comprehension macro becomes.
#[derive(Debug)]
pub(crate) struct Fold {
    /// What is iterated.
    pub(crate) range: Expr,
    /// The element, the key, or with a second variable the index.
    pub(crate) variable: String,
    /// The element or the value of the key.
    pub(crate) second: Option<String>,
    /// The name of the accumulator.
    pub(crate) accumulator: String,
    /// The accumulator's first value.
    pub(crate) initial: Expr,
    /// Whether to go on.
    pub(crate) condition: Expr,
    /// The accumulator's next value.
    pub(crate) step: Expr,
    /// The result.
    pub(crate) result: Expr,
}

/// `a.b.c` if the node is nothing but names and selections.
pub(crate) fn qualified_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Ident(name) => Some(name.clone()),
        Kind::Select { operand, field, test: false } => {
            let mut name = qualified_name(operand)?;
            name.push('.');
            name.push_str(field);
            Some(name)
        }
        _ => None,
    }
}

impl Expr {
    /// Every node directly below this one, in source order of cel-go's walk.
    pub(crate) fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            Kind::Missing | Kind::Literal(_) | Kind::Ident(_) => Vec::new(),
            Kind::Select { operand, .. } => vec![operand],
            Kind::Call { target, args, .. } => target.iter().map(|t| &**t).chain(args).collect(),
            Kind::List(elements) => elements.iter().map(|(element, _)| element).collect(),
            Kind::Map(entries) => {
                entries.iter().flat_map(|entry| [&entry.key, &entry.value]).collect()
            }
            Kind::Struct { fields, .. } => fields.iter().map(|field| &field.value).collect(),
            Kind::Fold(fold) => {
                vec![&fold.range, &fold.initial, &fold.condition, &fold.step, &fold.result]
            }
        }
    }
}
