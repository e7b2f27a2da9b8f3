//! The type checker: every node gets a type, every call its overloads, or the expression is rejected with
//! cel-go's messages.

mod unify;

use std::sync::Arc;

use crate::ast::{Expr, Fold, Id, Kind, qualified_name};
use crate::env::Env;
use crate::escape;
use crate::signatures::{self, Function};
use crate::source::{Issues, Place};
use crate::types::Type;
use unify::Mapping;

/// What a name or a call was found to mean.
#[derive(Debug, Clone)]
pub(crate) enum Reference {
    /// A variable of the environment or of a comprehension.
    Variable(String),
    /// A type by name.
    Type(Type),
    /// A call to a function with the overloads that fit.
    Function { name: &'static str, member: bool, overloads: Vec<&'static str> },
}

/// The result of checking.
pub(crate) struct Checked {
    /// The type of each node by its number.
    pub(crate) types: Vec<Type>,
    /// What names and calls mean, by the node's number.
    pub(crate) references: Vec<Option<Reference>>,
}

pub(crate) struct Checker<'e> {
    env: &'e Env,
    places: &'e [Place],
    issues: &'e mut Issues,
    types: Vec<Option<Type>>,
    references: Vec<Option<Reference>>,
    scopes: Vec<(String, Type)>,
    mapping: Mapping,
    variables: usize,
}

/// Checks the tree under `root`.
pub(crate) fn check(env: &Env, root: &Expr, places: &[Place], issues: &mut Issues) -> Checked {
    let mut checker = Checker {
        env,
        places,
        issues,
        types: vec![None; places.len()],
        references: vec![None; places.len()],
        scopes: Vec::new(),
        mapping: Mapping::default(),
        variables: 0,
    };
    checker.check(root);
    let Checker { types, references, mapping, .. } = checker;
    let types = types
        .into_iter()
        .map(|found| found.map_or(Type::Dyn, |found| mapping.substitute(&found, true)))
        .collect();
    Checked { types, references }
}

impl Checker<'_> {
    fn report(&mut self, id: Id, message: String) {
        self.issues.report(self.places[id], message);
    }

    fn set(&mut self, expr: &Expr, found: Type) {
        self.types[expr.id] = Some(found);
    }

    fn type_of(&self, expr: &Expr) -> Type {
        self.types[expr.id].clone().unwrap_or(Type::Error)
    }

    fn resolved(&self, expr: &Expr) -> Type {
        self.mapping.substitute(&self.type_of(expr), false)
    }

    fn fresh(&mut self) -> Type {
        let name = format!("_var{}", self.variables);
        self.variables += 1;
        Type::Parameter(Arc::from(name))
    }

    fn check(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Missing => self.set(expr, Type::Error),
            Kind::Literal(value) => self.set(expr, value.type_of()),
            Kind::Ident(name) => self.ident(expr, name),
            Kind::Select { operand, field, test } => self.select(expr, operand, field, *test),
            Kind::Call { function, target, args } => {
                self.call(expr, function, target.as_deref(), args);
            }
            Kind::List(elements) => self.list(expr, elements),
            Kind::Map(_) => self.map(expr),
            Kind::Struct { .. } => self.message(expr),
            Kind::Fold(fold) => self.fold(expr, fold),
        }
    }

    /// The variable or type of this name.
    fn lookup(&self, name: &str) -> Option<(Type, Reference)> {
        let bare = name.strip_prefix('.');
        if bare.is_none()
            && let Some((_, found)) = self.scopes.iter().rev().find(|(local, _)| local == name)
        {
            return Some((found.clone(), Reference::Variable(name.to_owned())));
        }
        let name = bare.unwrap_or(name);
        if let Some(found) = self.env.variable(name) {
            return Some((found.clone(), Reference::Variable(name.to_owned())));
        }
        let found = self.env.type_named(name)?;
        Some((Type::Type(Arc::new(found.clone())), Reference::Type(found)))
    }

    fn undeclared(&mut self, expr: &Expr, name: &str) {
        self.report(expr.id, format!("undeclared reference to '{name}' (in container '')"));
        self.set(expr, Type::Error);
    }

    fn ident(&mut self, expr: &Expr, name: &str) {
        let Some((found, reference)) = self.lookup(name) else {
            return self.undeclared(expr, name);
        };
        self.set(expr, found);
        self.references[expr.id] = Some(reference);
    }

    fn select(&mut self, expr: &Expr, operand: &Expr, field: &str, test: bool) {
        if let Some(name) = qualified_name(expr)
            && let Some((found, reference)) = self.lookup(&name)
        {
            self.set(expr, found);
            self.references[expr.id] = Some(reference);
            return;
        }
        let mut found = self.select_field(expr, operand, field, false);
        if test {
            found = Type::Bool;
        }
        let found = self.mapping.substitute(&found, false);
        self.set(expr, found);
    }

    fn select_field(&mut self, expr: &Expr, operand: &Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let (target, was_optional) = match self.resolved(operand) {
            Type::Optional(inner) => ((*inner).clone(), true),
            other => (other, false),
        };
        let found = match &target {
            Type::Map(_, value) => (**value).clone(),
            Type::Object(object) => {
                // A field with a keyword as its name may also be written as it is.
                let keyword = || object.fields.get(escape::keyword(field)?.as_str());
                let found = object.fields.get(field).or_else(keyword).cloned();
                found.unwrap_or_else(|| {
                    self.report(expr.id, format!("undefined field '{field}'"));
                    Type::Error
                })
            }
            Type::Quantity | Type::Url | Type::Semver | Type::Format | Type::Authorization(_) => {
                let name = target.runtime_name();
                let message = format!("unexpected failed resolution of '{name}'");
                self.report(expr.id, message);
                Type::Error
            }
            Type::Parameter(_) => {
                self.assign(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                self.report(expr.id, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if was_optional || optional { Type::optional(found) } else { found }
    }

    fn call(&mut self, expr: &Expr, function: &str, target: Option<&Expr>, args: &[Expr]) {
        if function == "_?._" {
            return self.optional_select(expr, args);
        }
        for arg in args {
            self.check(arg);
        }
        let Some(target) = target else {
            let bare = function.strip_prefix('.').unwrap_or(function);
            let Some(found) = signatures::find(bare, self.env.libraries()) else {
                return self.undeclared(expr, function);
            };
            return self.resolve(expr, found, None, args);
        };
        if let Some(prefix) = qualified_name(target) {
            let name = format!("{prefix}.{function}");
            let name = name.strip_prefix('.').unwrap_or(&name);
            if let Some(found) = signatures::find(name, self.env.libraries()) {
                return self.resolve(expr, found, None, args);
            }
        }
        self.check(target);
        match signatures::find(function, self.env.libraries()) {
            Some(found) => self.resolve(expr, found, Some(target), args),
            None => self.undeclared(expr, function),
        }
    }

    fn optional_select(&mut self, expr: &Expr, args: &[Expr]) {
        let [operand, field] = args else { return };
        let Kind::Literal(name) = &field.kind else { return };
        let Some(name) = name.as_str() else { return };
        let found = self.select_field(expr, operand, name, true);
        let found = self.mapping.substitute(&found, false);
        self.set(expr, found);
        self.references[expr.id] = Some(Reference::Function {
            name: "_?._",
            member: false,
            overloads: vec!["select_optional_field"],
        });
    }

    fn resolve(
        &mut self,
        expr: &Expr,
        (name, overloads): &'static Function,
        target: Option<&Expr>,
        args: &[Expr],
    ) {
        let given: Vec<Type> =
            target.into_iter().chain(args).map(|arg| self.type_of(arg)).collect();
        if *name == "_&&_" || *name == "_||_" {
            return self.resolve_logical(expr, name, overloads[0].id, &given, args);
        }
        let mut result: Option<Type> = None;
        let mut fitting = Vec::new();
        for overload in overloads {
            if self.env.libraries() & overload.library.bit() == 0
                || overload.member != target.is_some()
            {
                continue;
            }
            let (wanted, gives) = self.instantiate(&overload.args, &overload.result);
            if !self.assign_all(&given, &wanted) {
                continue;
            }
            fitting.push(overload.id);
            let gives = self.mapping.substitute(&gives, false);
            result = Some(match result {
                None => gives,
                Some(Type::Dyn) => Type::Dyn,
                Some(known) if known == gives => known,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            let shown: Vec<String> =
                given.iter().map(|arg| self.mapping.substitute(arg, true).to_string()).collect();
            let signature = match target {
                Some(_) => format!("{}.({})", shown[0], shown[1..].join(", ")),
                None => format!("({})", shown.join(", ")),
            };
            let message =
                format!("found no matching overload for '{name}' applied to '{signature}'");
            self.report(expr.id, message);
            return self.set(expr, Type::Error);
        };
        self.set(expr, result);
        self.references[expr.id] =
            Some(Reference::Function { name, member: target.is_some(), overloads: fitting });
    }

    fn resolve_logical(
        &mut self,
        expr: &Expr,
        name: &'static str,
        id: &'static str,
        given: &[Type],
        args: &[Expr],
    ) {
        let mut fits = true;
        for (found, arg) in given.iter().zip(args) {
            if !self.assign(found, &Type::Bool) {
                self.report(arg.id, format!("expected type 'bool' but found '{found}'"));
                fits = false;
            }
        }
        if !fits {
            return self.set(expr, Type::Error);
        }
        self.set(expr, Type::Bool);
        self.references[expr.id] =
            Some(Reference::Function { name, member: false, overloads: vec![id] });
    }

    /// A signature with fresh variables for its parameters.
    fn instantiate(&mut self, args: &[Type], result: &Type) -> (Vec<Type>, Type) {
        let mut names: Vec<(Arc<str>, Type)> = Vec::new();
        let mut collect = Vec::new();
        for arg in args.iter().chain(std::iter::once(result)) {
            unify::parameters_of(arg, &mut collect);
        }
        for name in collect {
            if !names.iter().any(|(known, _)| *known == name) {
                let fresh = self.fresh();
                names.push((name, fresh));
            }
        }
        let wanted = args.iter().map(|arg| unify::replace(arg, &names)).collect();
        (wanted, unify::replace(result, &names))
    }

    fn list(&mut self, expr: &Expr, elements: &[(Expr, bool)]) {
        let mut joined: Option<Type> = None;
        for (element, optional) in elements {
            self.check(element);
            let found = self.unwrapped(element, *optional);
            joined = Some(self.join(element, joined, found));
        }
        let element = joined.unwrap_or_else(|| self.fresh());
        self.set(expr, Type::list(element));
    }

    /// The type of an element or a value; of an optional one what is in it.
    fn unwrapped(&mut self, expr: &Expr, optional: bool) -> Type {
        let found = self.type_of(expr);
        if !optional {
            return found;
        }
        match found {
            Type::Optional(inner) => (*inner).clone(),
            Type::Dyn => Type::Dyn,
            other => {
                let wanted = Type::optional(other.clone());
                self.report(expr.id, format!("expected type '{wanted}' but found '{other}'"));
                other
            }
        }
    }

    fn map(&mut self, expr: &Expr) {
        let Kind::Map(entries) = &expr.kind else { return };
        let (mut key, mut value): (Option<Type>, Option<Type>) = (None, None);
        for entry in entries {
            self.check(&entry.key);
            let found = self.type_of(&entry.key);
            key = Some(self.join(&entry.key, key, found));
            self.check(&entry.value);
            let found = self.unwrapped(&entry.value, entry.optional);
            value = Some(self.join(&entry.value, value, found));
        }
        let key = key.unwrap_or_else(|| self.fresh());
        let value = value.unwrap_or_else(|| self.fresh());
        self.set(expr, Type::map(key, value));
    }

    /// The type of elements of both types; Kubernetes leaves it to validators that they are one.
    fn join(&mut self, expr: &Expr, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if self.assign(&previous, &current) {
            return unify::most_general(&previous, &current);
        }
        if self.env.is_kubernetes() {
            return Type::Dyn;
        }
        self.report(expr.id, format!("expected type '{previous}' but found '{current}'"));
        Type::Error
    }

    fn message(&mut self, expr: &Expr) {
        let Kind::Struct { name, fields } = &expr.kind else { return };
        let Some((found, _)) = self.lookup(name) else {
            return self.undeclared(expr, name);
        };
        let result = match &found {
            Type::Error => Type::Error,
            Type::Type(inner) => match &**inner {
                Type::Object(_) | Type::Timestamp | Type::Duration => (**inner).clone(),
                other => {
                    let shown = other.runtime_name();
                    self.report(expr.id, format!("'{shown}' is not a message type"));
                    Type::Error
                }
            },
            other => {
                self.report(expr.id, format!("'{}' is not a type", other.runtime_name()));
                Type::Error
            }
        };
        self.set(expr, result.clone());
        for field in fields {
            self.check(&field.value);
            let wanted = match &result {
                Type::Object(object) => object.fields.get(&field.name).cloned(),
                _ => None,
            };
            let wanted = wanted.unwrap_or_else(|| {
                self.report(field.id, format!("undefined field '{}'", field.name));
                Type::Error
            });
            let given = self.unwrapped(&field.value, field.optional);
            if !self.assign(&wanted, &given) {
                let message = format!(
                    "expected type of field '{}' is '{wanted}' but provided type is '{given}'",
                    field.name
                );
                self.report(field.id, message);
            }
        }
    }

    fn fold(&mut self, expr: &Expr, fold: &Fold) {
        self.check(&fold.range);
        self.check(&fold.initial);
        let range = self.resolved(&fold.range);
        let accumulated = self.type_of(&fold.initial);
        let depth = self.scopes.len();
        self.scopes.push((fold.accumulator.clone(), accumulated.clone()));
        let two = fold.second.is_some();
        let (first, second) = match &range {
            Type::List(element) if two => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Dyn),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Error | Type::Parameter(_) => {
                self.assign(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be \
                     list, map, or dynamic)"
                );
                self.report(fold.range.id, message);
                (Type::Error, Type::Error)
            }
        };
        self.scopes.push((fold.variable.clone(), first));
        if let Some(name) = &fold.second {
            self.scopes.push((name.clone(), second));
        }
        self.check(&fold.condition);
        self.expect(&fold.condition, &Type::Bool);
        self.check(&fold.step);
        self.expect(&fold.step, &accumulated);
        self.scopes.truncate(depth + 1);
        self.check(&fold.result);
        self.scopes.truncate(depth);
        let found = self.resolved(&fold.result);
        self.set(expr, found);
    }

    fn expect(&mut self, expr: &Expr, wanted: &Type) {
        let found = self.type_of(expr);
        if !self.assign(wanted, &found) {
            self.report(expr.id, format!("expected type '{wanted}' but found '{found}'"));
        }
    }

    fn assign(&mut self, one: &Type, two: &Type) -> bool {
        self.mapping.assign(one, two)
    }

    fn assign_all(&mut self, given: &[Type], wanted: &[Type]) -> bool {
        self.mapping.assign_all(given, wanted)
    }
}
