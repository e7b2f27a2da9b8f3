//! Macros: calls that become folds and presence tests while an expression is parsed.

use crate::ast::{ACCUMULATOR, Entry, Expr, Field, Fold, Kind};
use crate::parser::Parser;
use crate::source::Place;
use crate::value::Value;

/// The name an accumulator once had; iteration variables still must not take it.
const OLD_ACCUMULATOR: &str = "__result__";
/// The variable of a fold over nothing.
const UNUSED: &str = "#unused";

/// A macro that was recognised but not used rightly: where, and what to say.
struct Misuse(Place, &'static str);

type Expanded = Result<Expr, (Place, String)>;

/// `name(args)`, which may be `has(a.b)`.
pub(crate) fn global(parser: &mut Parser, place: Place, name: String, mut args: Vec<Expr>) -> Expr {
    if name != "has" || args.len() != 1 {
        return parser.node(place, Kind::Call { function: name, target: None, args });
    }
    let argument = args.remove(0);
    let at = parser.places[argument.id];
    if let Kind::Select { operand, field, test: false } = argument.kind {
        return parser.node(place, Kind::Select { operand, field, test: true });
    }
    parser.issues.report(at, "invalid argument to has() macro");
    parser.node(place, Kind::Missing)
}

/// `target.name(args)`, which may be one of the macros with a receiver.
pub(crate) fn receiver(
    parser: &mut Parser,
    place: Place,
    name: String,
    target: Expr,
    args: Vec<Expr>,
) -> Expr {
    let mut builder = Builder { parser, place };
    let expanded = match (name.as_str(), args.len()) {
        ("all" | "exists" | "exists_one", 2) => builder.quantifier(&name, target, args),
        ("map", 2 | 3) => builder.map(target, args),
        ("filter", 2) => builder.filter(target, args),
        ("optMap" | "optFlatMap", 2) if builder.parser.syntax.optionals => {
            builder.optional_map(&name, target, args)
        }
        ("sortBy", 2) if builder.parser.syntax.sort_by => builder.sort_by(target, args),
        ("bind", 3) if builder.parser.syntax.bindings && is_cel(&target) => builder.bind(args),
        ("all" | "exists" | "exists_one" | "existsOne", 3)
        | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4)
            if builder.parser.syntax.two_variables =>
        {
            builder.two_variables(&name, target, args)
        }
        _ => {
            let kind = Kind::Call { function: name, target: Some(Box::new(target)), args };
            return builder.node(kind);
        }
    };
    expanded.unwrap_or_else(|(at, message)| {
        parser.issues.report(at, message);
        parser.node(place, Kind::Missing)
    })
}

fn is_cel(target: &Expr) -> bool {
    matches!(&target.kind, Kind::Ident(name) if name == "cel")
}

/// Makes nodes that all point at the macro's call.
struct Builder<'p, 's> {
    parser: &'p mut Parser<'s>,
    place: Place,
}

impl Builder<'_, '_> {
    fn node(&mut self, kind: Kind) -> Expr {
        self.parser.node(self.place, kind)
    }

    fn literal(&mut self, value: Value<'static>) -> Expr {
        self.node(Kind::Literal(value))
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.node(Kind::Ident(name.to_owned()))
    }

    fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR)
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        let place = self.place;
        self.parser.call(place, function, args)
    }

    fn member(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        let function = function.to_owned();
        self.node(Kind::Call { function, target: Some(Box::new(target)), args })
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        self.node(Kind::List(elements.into_iter().map(|element| (element, false)).collect()))
    }

    fn at(&self, expr: &Expr) -> Place {
        self.parser.places[expr.id]
    }

    /// The name of an iteration variable.
    fn variable(&self, expr: &Expr, complaint: &'static str) -> Result<String, Misuse> {
        let place = self.at(expr);
        match &expr.kind {
            Kind::Ident(name) if name == ACCUMULATOR || name == OLD_ACCUMULATOR => {
                Err(Misuse(place, "iteration variable overwrites accumulator variable"))
            }
            Kind::Ident(name) => Ok(name.clone()),
            _ => Err(Misuse(place, complaint)),
        }
    }

    fn fold(
        &mut self,
        range: Expr,
        (variable, second): (String, Option<String>),
        [initial, condition, step, result]: [Expr; 4],
    ) -> Expr {
        self.node(Kind::Fold(Box::new(Fold {
            range,
            variable,
            second,
            accumulator: ACCUMULATOR.to_owned(),
            initial,
            condition,
            step,
            result,
        })))
    }

    /// The four parts of `all`, `exists` and `exists_one` for a predicate.
    fn quantify(&mut self, name: &str, predicate: Expr) -> [Expr; 4] {
        match name {
            "all" => {
                let initial = self.literal(Value::Bool(true));
                let accumulated = self.accumulator();
                let condition = self.call("@not_strictly_false", vec![accumulated]);
                let accumulated = self.accumulator();
                let step = self.call("_&&_", vec![accumulated, predicate]);
                [initial, condition, step, self.accumulator()]
            }
            "exists" => {
                let initial = self.literal(Value::Bool(false));
                let accumulated = self.accumulator();
                let negated = self.call("!_", vec![accumulated]);
                let condition = self.call("@not_strictly_false", vec![negated]);
                let accumulated = self.accumulator();
                let step = self.call("_||_", vec![accumulated, predicate]);
                [initial, condition, step, self.accumulator()]
            }
            _ => {
                let initial = self.literal(Value::Int(0));
                let condition = self.literal(Value::Bool(true));
                let (accumulated, one) = (self.accumulator(), self.literal(Value::Int(1)));
                let more = self.call("_+_", vec![accumulated, one]);
                let same = self.accumulator();
                let step = self.call("_?_:_", vec![predicate, more, same]);
                let (accumulated, one) = (self.accumulator(), self.literal(Value::Int(1)));
                let result = self.call("_==_", vec![accumulated, one]);
                [initial, condition, step, result]
            }
        }
    }

    fn quantifier(&mut self, name: &str, target: Expr, args: Vec<Expr>) -> Expanded {
        let [variable, predicate] = take(args);
        let variable = self.variable(&variable, "argument must be a simple name")?;
        let parts = self.quantify(name, predicate);
        Ok(self.fold(target, (variable, None), parts))
    }

    /// Folds into a list: `step` is what an element adds, `filter` whether it does.
    fn collect(&mut self, element: Expr, filter: Option<Expr>) -> [Expr; 4] {
        let initial = self.list(Vec::new());
        let condition = self.literal(Value::Bool(true));
        let accumulated = self.accumulator();
        let added = self.list(vec![element]);
        let step = self.call("_+_", vec![accumulated, added]);
        let step = self.filtered(step, filter);
        [initial, condition, step, self.accumulator()]
    }

    fn filtered(&mut self, step: Expr, filter: Option<Expr>) -> Expr {
        match filter {
            None => step,
            Some(filter) => {
                let same = self.accumulator();
                self.call("_?_:_", vec![filter, step, same])
            }
        }
    }

    fn map(&mut self, target: Expr, mut args: Vec<Expr>) -> Expanded {
        let variable = self.variable(&args[0], "argument is not an identifier")?;
        let filter = (args.len() == 3).then(|| args.remove(1));
        let element = args.remove(1);
        let parts = self.collect(element, filter);
        Ok(self.fold(target, (variable, None), parts))
    }

    fn filter(&mut self, target: Expr, args: Vec<Expr>) -> Expanded {
        let [element, filter] = take(args);
        let variable = self.variable(&element, "argument is not an identifier")?;
        let parts = self.collect(element, Some(filter));
        Ok(self.fold(target, (variable, None), parts))
    }

    fn two_variables(&mut self, name: &str, target: Expr, mut args: Vec<Expr>) -> Expanded {
        let complaint = "argument must be a simple name";
        let simple = |expr: &Expr| matches!(&expr.kind, Kind::Ident(_));
        for arg in &args[..2] {
            if !simple(arg) {
                return Err((self.at(arg), complaint.to_owned()));
            }
        }
        if let (Kind::Ident(first), Kind::Ident(second)) = (&args[0].kind, &args[1].kind)
            && first == second
        {
            return Err((self.at(&args[1]), format!("duplicate variable name: {first}")));
        }
        let first = self.variable(&args[0], complaint)?;
        let second = self.variable(&args[1], complaint)?;
        let filter = (args.len() == 4).then(|| args.remove(2));
        let body = args.remove(2);
        let parts = match name {
            "transformList" => self.collect(body, filter),
            "transformMap" | "transformMapEntry" => {
                let initial = self.node(Kind::Map(Vec::new()));
                let condition = self.literal(Value::Bool(true));
                let mut insert = vec![self.accumulator()];
                if name == "transformMap" {
                    insert.push(self.ident(&first));
                }
                insert.push(body);
                let step = self.call("cel.@mapInsert", insert);
                let step = self.filtered(step, filter);
                [initial, condition, step, self.accumulator()]
            }
            _ => self.quantify(name, body),
        };
        Ok(self.fold(target, (first, Some(second)), parts))
    }

    /// `result` with `name` standing for `value`, which is evaluated when it is first needed.
    fn let_in(&mut self, name: String, value: Expr, result: Expr) -> Expr {
        let range = self.list(Vec::new());
        let condition = self.literal(Value::Bool(false));
        let step = self.ident(&name);
        self.node(Kind::Fold(Box::new(Fold {
            range,
            variable: UNUSED.to_owned(),
            second: None,
            accumulator: name,
            initial: value,
            condition,
            step,
            result,
        })))
    }

    fn bind(&mut self, args: Vec<Expr>) -> Expanded {
        let [name, value, result] = take(args);
        let Kind::Ident(variable) = name.kind else {
            let place = self.parser.places[name.id];
            return Err((place, "cel.bind() variable names must be simple identifiers".to_owned()));
        };
        Ok(self.let_in(variable, value, result))
    }

    fn optional_map(&mut self, name: &str, target: Expr, args: Vec<Expr>) -> Expanded {
        let [variable, body] = take(args);
        let Kind::Ident(variable) = variable.kind else {
            let place = self.parser.places[variable.id];
            let message = format!("{name}() variable name must be a simple identifier");
            return Err((place, message));
        };
        let copied = self.copy(&target);
        let present = self.member("hasValue", target, Vec::new());
        let value = self.member("value", copied, Vec::new());
        let mut mapped = self.let_in(variable, value, body);
        if name == "optMap" {
            mapped = self.call("optional.of", vec![mapped]);
        }
        let none = self.call("optional.none", Vec::new());
        Ok(self.call("_?_:_", vec![present, mapped, none]))
    }

    fn sort_by(&mut self, target: Expr, args: Vec<Expr>) -> Expanded {
        const INPUT: &str = "@__sortBy_input__";
        let sortable = matches!(
            target.kind,
            Kind::List(_)
                | Kind::Select { .. }
                | Kind::Ident(_)
                | Kind::Fold(_)
                | Kind::Call { .. }
                | Kind::Missing
        );
        if !sortable {
            return Err((
                self.at(&target),
                "sortBy can only be applied to a list, identifier, comprehension, call or select \
                 expression"
                    .to_owned(),
            ));
        }
        let input = self.ident(INPUT);
        let keys = self.map(input, args)?;
        let input = self.ident(INPUT);
        let sorted = self.member("@sortByAssociatedKeys", input, vec![keys]);
        Ok(self.let_in(INPUT.to_owned(), target, sorted))
    }

    /// The same tree with numbers of its own.
    fn copy(&mut self, expr: &Expr) -> Expr {
        let place = self.at(expr);
        let kind = match &expr.kind {
            _ if self.parser.is_aborted() => Kind::Missing,
            Kind::Missing => Kind::Missing,
            Kind::Literal(value) => Kind::Literal(value.clone()),
            Kind::Ident(name) => Kind::Ident(name.clone()),
            Kind::Select { operand, field, test } => {
                let operand = Box::new(self.copy(operand));
                Kind::Select { operand, field: field.clone(), test: *test }
            }
            Kind::Call { function, target, args } => Kind::Call {
                function: function.clone(),
                target: target.as_ref().map(|target| Box::new(self.copy(target))),
                args: args.iter().map(|arg| self.copy(arg)).collect(),
            },
            Kind::List(elements) => {
                let copied = elements.iter().map(|(element, flag)| (self.copy(element), *flag));
                Kind::List(copied.collect())
            }
            Kind::Map(entries) => Kind::Map(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: self.copy(&entry.key),
                        value: self.copy(&entry.value),
                        optional: entry.optional,
                    })
                    .collect(),
            ),
            Kind::Struct { name, fields } => {
                let mut copied = Vec::with_capacity(fields.len());
                for field in fields {
                    copied.push(Field {
                        id: self.parser.id(self.place),
                        name: field.name.clone(),
                        value: self.copy(&field.value),
                        optional: field.optional,
                    });
                }
                Kind::Struct { name: name.clone(), fields: copied }
            }
            Kind::Fold(fold) => Kind::Fold(Box::new(Fold {
                range: self.copy(&fold.range),
                variable: fold.variable.clone(),
                second: fold.second.clone(),
                accumulator: fold.accumulator.clone(),
                initial: self.copy(&fold.initial),
                condition: self.copy(&fold.condition),
                step: self.copy(&fold.step),
                result: self.copy(&fold.result),
            })),
        };
        self.parser.node(place, kind)
    }
}

impl From<Misuse> for (Place, String) {
    fn from(Misuse(place, message): Misuse) -> Self {
        (place, message.to_owned())
    }
}

/// The arguments; the caller has checked their number.
fn take<const N: usize>(args: Vec<Expr>) -> [Expr; N] {
    match args.try_into() {
        Ok(args) => args,
        Err(_) => unreachable!("because the macro's arity was matched"),
    }
}
