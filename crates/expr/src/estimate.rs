//! The maximum cost of an expression, from its types and the maximum sizes of values.

mod calls;

use std::collections::BTreeMap;

use crate::ast::{Expr, Fold, Id, Kind};
use crate::checker::{Checked, Reference};
use crate::kubernetes::Sizes;
use crate::types::Type;
use crate::value::Value;

/// The least and the most: of a size, or of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Range {
    const ZERO: Range = Range::fixed(0);
    const ONE: Range = Range::fixed(1);
    const UNKNOWN: Range = Range { min: 0, max: u64::MAX };
    /// The empty union.
    const NOTHING: Range = Range { min: u64::MAX, max: 0 };

    const fn fixed(value: u64) -> Range {
        Range { min: value, max: value }
    }

    fn plus(self, other: Range) -> Range {
        Range { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    fn times(self, other: Range) -> Range {
        Range { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    fn scaled(self, factor: f64) -> Range {
        Range { min: scale(self.min, factor), max: scale(self.max, factor) }
    }

    fn union(self, other: Range) -> Range {
        Range { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "conversions from doubles saturate, which is what is wanted"
)]
fn scale(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).ceil() as u64
}

/// The sizes of a list's or a map's elements.
#[derive(Clone, Copy, Debug)]
struct Entry {
    list: bool,
    key: Range,
    value: Range,
}

impl Entry {
    fn union(self, other: Entry) -> Entry {
        Entry {
            list: self.list,
            key: self.key.union(other.key),
            value: self.value.union(other.value),
        }
    }
}

/// A variable of a fold.
#[derive(Clone, Debug)]
struct Local {
    name: String,
    path: Vec<String>,
    size: Option<Range>,
    entry: Option<Entry>,
}

/// What is known of an argument.
struct Argument<'x> {
    path: Vec<String>,
    declared: Type,
    size: Option<Range>,
    expr: &'x Expr,
}

struct Estimator<'e> {
    checked: &'e Checked,
    sizes: Option<&'e Sizes>,
    paths: BTreeMap<Id, Vec<String>>,
    locals: Vec<Local>,
    known: BTreeMap<Id, Range>,
    entries: BTreeMap<Id, Entry>,
}

/// The most an expression may cost; `sizes` are those of `self`.
pub(crate) fn most(root: &Expr, checked: &Checked, sizes: Option<&Sizes>) -> u64 {
    let mut estimator = Estimator {
        checked,
        sizes,
        paths: BTreeMap::new(),
        locals: Vec::new(),
        known: BTreeMap::new(),
        entries: BTreeMap::new(),
    };
    estimator.cost(root).max
}

impl Estimator<'_> {
    fn type_of(&self, expr: &Expr) -> &Type {
        &self.checked.types[expr.id]
    }

    fn local(&self, expr: &Expr) -> Option<&Local> {
        let Kind::Ident(name) = &expr.kind else { return None };
        self.locals.iter().rev().find(|local| local.name == *name)
    }

    fn path(&self, expr: &Expr) -> Vec<String> {
        match self.local(expr) {
            Some(local) => local.path.clone(),
            None => self.paths.get(&expr.id).cloned().unwrap_or_default(),
        }
    }

    fn step(&self, expr: &Expr, step: &str) -> Vec<String> {
        let mut path = self.path(expr);
        path.push(step.to_owned());
        path
    }

    fn cost(&mut self, expr: &Expr) -> Range {
        if let Some(Reference::Type(found)) = &self.checked.references[expr.id] {
            let path = vec![found.runtime_name().to_owned()];
            self.paths.insert(expr.id, path);
            return Range::ONE;
        }
        match &expr.kind {
            Kind::Missing | Kind::Literal(_) => Range::ZERO,
            Kind::Ident(name) => {
                let path = self.local(expr).map_or_else(|| vec![name.clone()], |v| v.path.clone());
                self.paths.insert(expr.id, path);
                Range::ONE
            }
            Kind::Select { operand, test: true, .. } => self.cost(operand),
            Kind::Select { operand, field, .. } => {
                let mut cost = self.cost(operand);
                let fields = matches!(
                    self.type_of(operand),
                    Type::Map(..)
                        | Type::Object(_)
                        | Type::Quantity
                        | Type::Url
                        | Type::Semver
                        | Type::Format
                        | Type::Parameter(_)
                );
                if fields {
                    cost = cost.plus(Range::ONE);
                }
                let path = self.step(operand, field);
                self.paths.insert(expr.id, path);
                cost
            }
            Kind::Call { .. } => self.call(expr),
            Kind::List(elements) => {
                let mut cost = Range::ZERO;
                let mut value = if elements.is_empty() { Range::ZERO } else { Range::NOTHING };
                for (element, _) in elements {
                    cost = cost.plus(self.cost(element));
                    value = value.union(self.size_or_unknown(element));
                }
                self.entries.insert(expr.id, Entry { list: true, key: Range::ONE, value });
                cost.plus(Range::fixed(10))
            }
            Kind::Map(entries) => {
                let mut cost = Range::ZERO;
                let start = if entries.is_empty() { Range::ZERO } else { Range::NOTHING };
                let (mut key, mut value) = (start, start);
                for entry in entries {
                    cost = cost.plus(self.cost(&entry.key)).plus(self.cost(&entry.value));
                    key = key.union(self.size_or_unknown(&entry.key));
                    value = value.union(self.size_or_unknown(&entry.value));
                }
                self.entries.insert(expr.id, Entry { list: false, key, value });
                cost.plus(Range::fixed(30))
            }
            Kind::Struct { fields, .. } => fields
                .iter()
                .fold(Range::fixed(40), |cost, field| cost.plus(self.cost(&field.value))),
            Kind::Fold(fold) if is_binding(fold) => self.binding(expr, fold),
            Kind::Fold(fold) => self.fold(expr, fold),
        }
    }

    fn binding(&mut self, expr: &Expr, fold: &Fold) -> Range {
        let mut cost = self.cost(&fold.range).plus(self.cost(&fold.initial));
        self.push_value(&fold.accumulator, &fold.initial);
        cost = cost.plus(self.cost(&fold.result));
        self.locals.pop();
        self.copy(expr, &fold.result);
        cost
    }

    fn fold(&mut self, expr: &Expr, fold: &Fold) -> Range {
        let mut cost = self.cost(&fold.range).plus(self.cost(&fold.initial));
        self.push_value(&fold.accumulator, &fold.initial);
        let entry = self.entry(&fold.range);
        let list = entry
            .map_or_else(|| matches!(self.type_of(&fold.range), Type::List(_)), |entry| entry.list);
        let key = entry.map(|entry| entry.key);
        let value = entry.map(|entry| entry.value);
        let variables: Vec<(&String, &str, Option<Range>)> = match &fold.second {
            Some(second) => vec![
                (&fold.variable, if list { "@indices" } else { "@keys" }, key),
                (second, if list { "@items" } else { "@values" }, value),
            ],
            None if list => vec![(&fold.variable, "@items", value)],
            None => vec![(&fold.variable, "@keys", key)],
        };
        let count = variables.len();
        for (name, step, size) in variables {
            let path = self.step(&fold.range, step);
            self.locals.push(Local { name: name.clone(), path, size, entry: None });
        }
        let condition = self.cost(&fold.condition);
        let step = self.cost(&fold.step);
        self.locals.truncate(self.locals.len() - count);
        cost = cost.plus(self.cost(&fold.result));
        self.locals.pop();
        let rounds = self.size_or_unknown(&fold.range);
        cost = cost.plus(rounds.times(step.plus(condition)));
        match &fold.initial.kind {
            Kind::Literal(_) => {
                let size = self.size(&fold.initial);
                self.set(expr, size);
            }
            Kind::List(_) | Kind::Map(_) => {
                self.set(expr, Some(rounds));
                if let Some(entry) = self.entry(&fold.step) {
                    self.entries.insert(expr.id, entry);
                }
            }
            _ => {}
        }
        cost
    }

    fn push_value(&mut self, name: &str, expr: &Expr) {
        let local = Local {
            name: name.to_owned(),
            path: self.path(expr),
            entry: self.entry(expr),
            size: self.size(expr),
        };
        self.locals.push(local);
    }

    fn copy(&mut self, to: &Expr, from: &Expr) {
        let size = self.size(from);
        self.set(to, size);
        if let Some(entry) = self.entry(from) {
            self.entries.insert(to.id, entry);
        }
    }

    fn set(&mut self, expr: &Expr, size: Option<Range>) {
        if let Some(size) = size {
            self.known.insert(expr.id, size);
        }
    }

    fn entry(&self, expr: &Expr) -> Option<Entry> {
        let known = self.entries.get(&expr.id).copied();
        known.or_else(|| self.local(expr).and_then(|local| local.entry))
    }

    /// The size that the schema gives a path.
    fn size_at(&self, path: &[String]) -> Option<Range> {
        let max = self.sizes?.at(path)?;
        Some(Range { min: 0, max })
    }

    fn size(&mut self, expr: &Expr) -> Option<Range> {
        if let Some(size) = self.known.get(&expr.id) {
            return Some(*size);
        }
        if let Some(size) = literal_size(expr) {
            return Some(Range::fixed(size));
        }
        if let Some(size) = self.size_at(&self.path(expr)) {
            self.known.insert(expr.id, size);
            return Some(size);
        }
        if is_scalar(self.type_of(expr)) {
            return Some(Range::ONE);
        }
        self.local(expr).and_then(|local| local.size)
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> Range {
        self.size(expr).unwrap_or(Range::UNKNOWN)
    }
}

fn is_binding(fold: &Fold) -> bool {
    matches!(&fold.range.kind, Kind::List(elements) if elements.is_empty())
        && matches!(fold.condition.kind, Kind::Literal(Value::Bool(false)))
        && fold.accumulator != "__result__"
}

fn literal_size(expr: &Expr) -> Option<u64> {
    let size = match &expr.kind {
        Kind::Literal(value) => value.size().unwrap_or(1),
        Kind::List(elements) => elements.len(),
        Kind::Map(entries) => entries.len(),
        _ => return None,
    };
    u64::try_from(size).ok()
}

fn is_scalar(declared: &Type) -> bool {
    match declared {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => {
            true
        }
        Type::Optional(inner) => is_scalar(inner),
        _ => false,
    }
}
