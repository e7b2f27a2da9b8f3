//! Checks of a well-typed expression that the language leaves to environments: literals that cannot
//! be converted, patterns that do not compile, lists of mixed types, formats that do not fit.

use crate::ast::{Expr, Kind};
use crate::checker::{Checked, Reference};
use crate::env::Env;
use crate::functions::format::{self, Directive, Piece};
use crate::functions::regexes::Pattern;
use crate::parser::Parsed;
use crate::plan;
use crate::signatures::Library;
use crate::source::Issues;
use crate::types::Type;

struct Validator<'e> {
    env: &'e Env,
    parsed: &'e Parsed,
    checked: &'e Checked,
    issues: &'e mut Issues,
}

/// Reports what is wrong with a checked expression.
pub(crate) fn validate(env: &Env, parsed: &Parsed, checked: &Checked, issues: &mut Issues) {
    let mut validator = Validator { env, parsed, checked, issues };
    let root = &parsed.root;
    // Flux's environment has no validators but that of `format`.
    if env.is_kubernetes() {
        validator.walk(root, &mut |v, expr| v.conversion(expr, "duration"));
        validator.walk(root, &mut |v, expr| v.conversion(expr, "timestamp"));
        validator.walk(root, &mut Validator::pattern);
        validator.homogeneous(root, false, true);
        validator.homogeneous(root, false, false);
    }
    if env.has(Library::Strings) {
        validator.walk(root, &mut Validator::format);
    }
}

impl Validator<'_> {
    fn walk(&mut self, expr: &Expr, check: &mut dyn FnMut(&mut Self, &Expr)) {
        check(self, expr);
        for child in expr.children() {
            self.walk(child, check);
        }
    }

    fn report(&mut self, id: usize, message: String) {
        self.issues.report(self.parsed.places[id], message);
    }

    /// The first argument of a call to `name`, if it is a literal.
    fn literal_argument<'x>(&self, expr: &'x Expr, name: &str) -> Option<&'x Expr> {
        let Kind::Call { args, .. } = &expr.kind else { return None };
        let Some(Reference::Function { name: found, .. }) = &self.checked.references[expr.id]
        else {
            return None;
        };
        let first = args.first()?;
        (*found == name && matches!(first.kind, Kind::Literal(_))).then_some(first)
    }

    fn conversion(&mut self, expr: &Expr, name: &str) {
        if let Some(argument) = self.literal_argument(expr, name)
            && let Kind::Literal(value) = &argument.kind
            && plan::convert(name, value).is_err()
        {
            self.report(argument.id, format!("invalid {name} argument"));
        }
    }

    fn pattern(&mut self, expr: &Expr) {
        if let Some(argument) = self.literal_argument(expr, "matches")
            && let Kind::Literal(value) = &argument.kind
            && value.as_str().is_some_and(|pattern| Pattern::new(pattern).is_err())
        {
            self.report(argument.id, "invalid matches argument".to_owned());
        }
    }

    fn mismatch(&mut self, expr: &Expr, expected: &Type, found: &Type) {
        self.report(expr.id, format!("expected type '{expected}' but found '{found}'"));
    }

    fn type_of(&self, expr: &Expr, optional: bool) -> Type {
        match &self.checked.types[expr.id] {
            Type::Optional(inner) if optional => (**inner).clone(),
            other => other.clone(),
        }
    }

    /// Lists first, then maps; what is inside a call to `format` may mix types.
    fn homogeneous(&mut self, expr: &Expr, exempt: bool, lists: bool) {
        match &expr.kind {
            Kind::List(elements) if lists && !exempt => {
                let mut known: Option<Type> = None;
                for (element, optional) in elements {
                    let found = self.type_of(element, *optional);
                    match &known {
                        None => known = Some(found),
                        Some(known) if !known.is_equivalent(&found) => {
                            self.mismatch(element, known, &found);
                            break;
                        }
                        Some(_) => {}
                    }
                }
            }
            Kind::Map(entries) if !lists && !exempt => {
                let mut known: Option<(Type, Type)> = None;
                for entry in entries {
                    let key = self.type_of(&entry.key, false);
                    let value = self.type_of(&entry.value, entry.optional);
                    let Some((known_key, known_value)) = &known else {
                        known = Some((key, value));
                        continue;
                    };
                    if !known_key.is_equivalent(&key) {
                        self.mismatch(&entry.key, known_key, &key);
                    }
                    if !known_value.is_equivalent(&value) {
                        self.mismatch(&entry.value, known_value, &value);
                    }
                }
            }
            _ => {}
        }
        let format = matches!(&expr.kind, Kind::Call { function, .. } if function == "format");
        for child in expr.children() {
            self.homogeneous(child, exempt || format, lists);
        }
    }

    /// A constant format with its arguments in a list literal.
    fn format(&mut self, expr: &Expr) {
        let Kind::Call { function, target: Some(target), args } = &expr.kind else { return };
        let (Kind::Literal(text), [list]) = (&target.kind, &args[..]) else { return };
        let (Some(text), Kind::List(elements)) = (text.as_str(), &list.kind) else { return };
        if function != "format" {
            return;
        }
        let later = self.env.has(Library::StringsReverse);
        let mut index = 0;
        for piece in format::pieces(text) {
            let directive = match piece {
                Piece::Literal(_) => continue,
                Piece::Directive(directive) => Some(directive),
                Piece::Dangling => None,
            };
            let Some(directive) = directive else {
                return self.report(expr.id, "unexpected end of string".to_owned());
            };
            let Some((element, _)) = elements.get(index) else {
                return self.report(expr.id, format!("index {index} out of range"));
            };
            index += 1;
            let directive = match directive {
                Ok(directive) => directive,
                Err(why) => {
                    let message = format!("could not parse formatting clause: {why}");
                    return self.report(expr.id, message);
                }
            };
            if let Some(bad) = self.misfit(directive, element, later) {
                let name = self.checked.types[bad.id].runtime_name().to_owned();
                let why = format::refusal(directive, &name, later);
                return self.report(bad.id, format!("error during formatting: {why}"));
            }
        }
        if elements.len() > index {
            let message = format!(
                "too many arguments supplied to string.format (expected {index}, got {})",
                elements.len()
            );
            self.report(expr.id, message);
        }
    }

    /// The part of an argument that a directive does not take.
    fn misfit<'x>(&self, directive: Directive, expr: &'x Expr, later: bool) -> Option<&'x Expr> {
        let found = &self.checked.types[expr.id];
        let number = matches!(found, Type::Int | Type::Uint | Type::Double);
        let whole = matches!(found, Type::Int | Type::Uint);
        let fits = match directive {
            _ if matches!(found, Type::Dyn | Type::Parameter(_)) => true,
            Directive::Text => {
                let scalar = matches!(
                    found,
                    Type::Bool
                        | Type::String
                        | Type::Timestamp
                        | Type::Bytes
                        | Type::Duration
                        | Type::Type(_)
                        | Type::Null
                        | Type::List(_)
                        | Type::Map(..)
                );
                if !scalar && !number {
                    return Some(expr);
                }
                return match &expr.kind {
                    Kind::List(_) | Kind::Map(_) => expr
                        .children()
                        .into_iter()
                        .find_map(|child| self.misfit(directive, child, later)),
                    _ => None,
                };
            }
            Directive::Decimal => {
                if later {
                    number
                } else {
                    whole
                }
            }
            Directive::Fixed(_) | Directive::Scientific(_) if later => number,
            Directive::Fixed(_) | Directive::Scientific(_) => {
                matches!(found, Type::Double | Type::String)
            }
            Directive::Binary => whole || *found == Type::Bool,
            Directive::Hexadecimal { .. } => whole || matches!(found, Type::String | Type::Bytes),
            Directive::Octal => whole,
        };
        (!fits).then_some(expr)
    }
}
