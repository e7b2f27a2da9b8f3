//! Tokens into a tree.
//!
//! The rules, the places errors are found at and the way parsing goes on after one are those of the
//! parser that cel-go generates with ANTLR, so that a user reads the same messages from us.

mod primary;
mod recovery;

use crate::ast::{Expr, Id, Kind};
use crate::lexer::{Spanned, Token, tokenize};
use crate::macros;
use crate::source::{Issues, Place, Source};
use crate::value::Value;
use recovery::Set;

/// How deep rules may nest.
const DEPTH_LIMIT: usize = 250;
/// How many characters an expression may have.
const SIZE_LIMIT: usize = 100_000;
/// How often the parser tries to go on after an error.
const RECOVERY_LIMIT: usize = 30;

/// Words that are no variable names.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// Which syntax and which macros an environment has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Syntax {
    /// `?.`, `[?]`, `{?k: v}`, `optMap` and `optFlatMap`.
    pub(crate) optionals: bool,
    /// The macros with two variables.
    pub(crate) two_variables: bool,
    /// `sortBy`.
    pub(crate) sort_by: bool,
    /// `cel.bind`.
    pub(crate) bindings: bool,
}

/// A parsed expression and the place of each of its nodes.
pub(crate) struct Parsed {
    /// The root.
    pub(crate) root: Expr,
    /// The places, by number of the node.
    pub(crate) places: Vec<Place>,
}

/// Stops everything: the message has been reported.
struct Abort;

/// A rule was left because of a reported error.
struct Failed;

type Rule<T> = Result<T, Failed>;

/// The left-recursive and the nesting rules, whose depth is limited.
#[derive(Clone, Copy)]
enum Nesting {
    Expr,
    Relation,
    Calc,
    Member,
}

pub(crate) struct Parser<'s> {
    source: &'s Source,
    tokens: Vec<Spanned>,
    /// What the lexer could not read.
    unreadable: Vec<std::ops::Range<usize>>,
    at: usize,
    pub(crate) issues: &'s mut Issues,
    pub(crate) places: Vec<Place>,
    /// How deep each node's operators and selections nest, by number.
    heights: Vec<usize>,
    pub(crate) syntax: Syntax,
    recovering: bool,
    /// The token at which the last recovery stopped, to see that it makes progress.
    last_recovery: Option<usize>,
    recoveries: usize,
    follow: Vec<(Set, bool)>,
    depth: [usize; 4],
    aborted: bool,
}

/// Parses `source`, reporting what is wrong with it into `issues`.
pub(crate) fn parse(source: &Source, syntax: Syntax, issues: &mut Issues) -> Parsed {
    if source.text.len() > SIZE_LIMIT {
        issues.report(
            Place::Nowhere,
            format!(
                "expression code point size exceeds limit: size: {}, limit {SIZE_LIMIT}",
                source.text.len()
            ),
        );
        return Parsed { root: Expr { id: 0, kind: Kind::Missing }, places: vec![Place::Nowhere] };
    }
    let (tokens, unreadable) = tokenize(source, issues);
    let mut parser = Parser {
        source,
        tokens,
        unreadable,
        at: 0,
        issues,
        places: vec![Place::Nowhere],
        heights: vec![0],
        syntax,
        recovering: false,
        last_recovery: None,
        recoveries: 0,
        follow: Vec::new(),
        depth: [0; 4],
        aborted: false,
    };
    let root = parser.start();
    Parsed { root, places: parser.places }
}

impl Parser<'_> {
    pub(crate) fn id(&mut self, place: Place) -> Id {
        self.places.push(place);
        self.heights.push(0);
        self.places.len() - 1
    }

    /// A node; operators, selections and methods nest, and only so deep.
    pub(crate) fn node(&mut self, place: Place, kind: Kind) -> Expr {
        let node = Expr { id: self.id(place), kind };
        let below = node.children().iter().map(|child| self.heights[child.id]).max().unwrap_or(0);
        let nests = match &node.kind {
            Kind::Select { test, .. } => !test,
            Kind::Call { target: Some(_), .. } => true,
            Kind::Call { function, args, .. } => {
                let operator = function.starts_with('_') || function == "@in";
                operator && args.len() > 1 && !matches!(function.as_str(), "_&&_" | "_||_")
            }
            _ => false,
        };
        self.heights[node.id] = below + usize::from(nests);
        if self.heights[node.id] > DEPTH_LIMIT && !self.aborted {
            self.issues.report(Place::Nowhere, "max recursion depth exceeded");
            self.abort();
        }
        node
    }

    fn token(&self) -> Spanned {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn here(&self) -> Token {
        self.token().token
    }

    fn ahead(&self, count: usize) -> Token {
        self.tokens.get(self.at + count).map_or(Token::End, |spanned| spanned.token)
    }

    fn place(&self) -> Place {
        Place::At(self.token().start)
    }

    fn text(&self, spanned: Spanned) -> String {
        self.source.text[spanned.start..spanned.end].iter().collect()
    }

    /// Runs a rule whose caller goes on with one of `follow`, or ends if `may_end`.
    fn within<T>(&mut self, follow: Set, may_end: bool, rule: impl FnOnce(&mut Self) -> T) -> T {
        self.follow.push((follow, may_end));
        let result = rule(self);
        self.follow.pop();
        result
    }

    fn enter(&mut self, rule: Nesting) -> Result<(), Abort> {
        self.depth[rule as usize] += 1;
        if self.depth[rule as usize] > DEPTH_LIMIT {
            if !self.aborted {
                self.issues.report(
                    Place::Nowhere,
                    format!("expression recursion limit exceeded: {DEPTH_LIMIT}"),
                );
            }
            self.abort();
            return Err(Abort);
        }
        Ok(())
    }

    /// Ends parsing: every rule sees the end and no further error is reported.
    fn abort(&mut self) {
        self.aborted = true;
        self.recovering = true;
        self.at = self.tokens.len() - 1;
    }

    fn start(&mut self) -> Expr {
        let root = self.within(Set::of(&[Token::End]), false, Self::expr);
        let _ = self.expect(Token::End);
        root
    }

    fn expr(&mut self) -> Expr {
        if self.enter(Nesting::Expr).is_err() {
            return missing();
        }
        let result = self.conditional();
        self.depth[Nesting::Expr as usize] -= 1;
        result
    }

    fn conditional(&mut self) -> Expr {
        let condition =
            self.within(Set::of(&[Token::Question]), true, |parser| parser.logical(Token::Or));
        if self.here() != Token::Question {
            return condition;
        }
        let place = self.place();
        self.advance();
        let then = self.within(Set::of(&[Token::Colon]), false, |parser| parser.logical(Token::Or));
        if self.expect(Token::Colon).is_err() {
            self.recover();
            return missing();
        }
        let otherwise = self.within(Set::EMPTY, true, Self::expr);
        self.call(place, "_?_:_", vec![condition, then, otherwise])
    }

    /// `||` chains, and below them `&&` chains, become balanced trees.
    fn logical(&mut self, operator: Token) -> Expr {
        let follow = Set::of(&[operator]);
        let below = |parser: &mut Self| match operator {
            Token::Or => parser.logical(Token::And),
            _ => parser.relation(),
        };
        let mut terms = vec![self.within(follow, true, below)];
        let mut places = Vec::new();
        while self.here() == operator {
            places.push(self.place());
            self.advance();
            terms.push(self.within(follow, true, below));
        }
        if terms.len() == 1 {
            return terms.pop().unwrap_or_else(missing);
        }
        let name = if operator == Token::Or { "_||_" } else { "_&&_" };
        let mut terms: Vec<Option<Expr>> = terms.into_iter().map(Some).collect();
        self.balance(name, &mut terms, &places, 0, places.len() - 1)
    }

    fn balance(
        &mut self,
        name: &str,
        terms: &mut [Option<Expr>],
        places: &[Place],
        low: usize,
        high: usize,
    ) -> Expr {
        let middle = (low + high).div_ceil(2);
        let mut take = |index: usize| terms[index].take();
        let left = if middle == low { take(middle) } else { None };
        let right = if middle == high { take(middle + 1) } else { None };
        let left = match left {
            Some(left) => left,
            None => self.balance(name, terms, places, low, middle - 1),
        };
        let right = match right {
            Some(right) => right,
            None => self.balance(name, terms, places, middle + 1, high),
        };
        self.call(places[middle], name, vec![left, right])
    }

    fn relation(&mut self) -> Expr {
        if self.enter(Nesting::Relation).is_err() {
            return missing();
        }
        let before = self.depth[Nesting::Relation as usize];
        let mut left = self.within(Set::RELATIONS, true, |parser| parser.calc(0));
        while let Some(operator) = relation_operator(self.here()) {
            let place = self.place();
            self.advance();
            let right = self.within(Set::RELATIONS, true, |parser| {
                if parser.enter(Nesting::Relation).is_err() {
                    return missing();
                }
                let right = parser.within(Set::RELATIONS, true, |inner| inner.calc(0));
                parser.depth[Nesting::Relation as usize] -= 1;
                right
            });
            left = self.call(place, operator, vec![left, right]);
        }
        self.depth[Nesting::Relation as usize] = before - 1;
        left
    }

    /// Sums, and with a tighter `precedence` products.
    fn calc(&mut self, precedence: u8) -> Expr {
        if self.enter(Nesting::Calc).is_err() {
            return missing();
        }
        let before = self.depth[Nesting::Calc as usize];
        let mut left = self.within(Set::ARITHMETIC, true, Self::unary);
        while let Some((operator, binds)) = arithmetic_operator(self.here()) {
            if binds <= precedence {
                break;
            }
            let place = self.place();
            self.advance();
            let right = self.within(Set::ARITHMETIC, true, |parser| parser.calc(binds));
            left = self.call(place, operator, vec![left, right]);
        }
        self.depth[Nesting::Calc as usize] = before - 1;
        left
    }

    fn unary(&mut self) -> Expr {
        let result = self.unary_rule();
        self.settle(result)
    }

    /// The result of a rule, or after recovery a hole.
    fn settle(&mut self, result: Rule<Expr>) -> Expr {
        result.unwrap_or_else(|Failed| {
            self.recover();
            missing()
        })
    }

    fn unary_rule(&mut self) -> Rule<Expr> {
        self.sync(Set::UNARY)?;
        let place = self.place();
        match self.here() {
            Token::Not => {
                let mut count = 0;
                while self.here() == Token::Not {
                    self.advance();
                    count += 1;
                    self.sync_loop(Set::UNARY);
                }
                let member = self.within(Set::EMPTY, true, Self::member);
                Ok(self.prefix(place, "!_", count, member))
            }
            // A minus before a number belongs to the number, but only if it is the only one.
            Token::Minus if !matches!(self.ahead(1), Token::Int | Token::Float) => {
                let mut count = 0;
                while self.here() == Token::Minus {
                    if !Set::PRIMARY.has(self.ahead(1)) {
                        return Err(self.no_alternative(1));
                    }
                    self.advance();
                    count += 1;
                }
                let member = self.within(Set::EMPTY, true, Self::member);
                Ok(self.prefix(place, "-_", count, member))
            }
            token if Set::PRIMARY.has(token) => Ok(self.within(Set::EMPTY, true, Self::member)),
            _ => Err(self.no_alternative(0)),
        }
    }

    fn prefix(&mut self, place: Place, name: &str, count: usize, operand: Expr) -> Expr {
        if count.is_multiple_of(2) { operand } else { self.call(place, name, vec![operand]) }
    }

    fn member(&mut self) -> Expr {
        if self.enter(Nesting::Member).is_err() {
            return missing();
        }
        let before = self.depth[Nesting::Member as usize];
        let primary = self.within(Set::of(&[Token::Dot, Token::LeftBracket]), true, |parser| {
            let result = parser.primary();
            parser.settle(result)
        });
        let result = self.member_loop(primary);
        self.depth[Nesting::Member as usize] = before - 1;
        self.settle(result)
    }

    fn member_loop(&mut self, mut target: Expr) -> Rule<Expr> {
        loop {
            let place = self.place();
            match self.here() {
                Token::Dot => match (self.ahead(1), self.ahead(2)) {
                    (Token::Identifier, Token::LeftParen) => {
                        self.advance();
                        let name = self.text(self.token());
                        self.advance();
                        let open = self.place();
                        self.advance();
                        let args = self.arguments()?;
                        target = macros::receiver(self, open, name, target, args);
                    }
                    (Token::Identifier | Token::EscapedIdentifier | Token::Question, _) => {
                        self.advance();
                        target = self.select(place, target);
                    }
                    _ => return Err(self.no_alternative(1)),
                },
                Token::LeftBracket => {
                    self.advance();
                    self.sync(Set::UNARY.with(Token::Question))?;
                    let optional = self.here() == Token::Question;
                    if optional {
                        self.advance();
                    }
                    let index = self.within(Set::of(&[Token::RightBracket]), false, Self::expr);
                    self.expect(Token::RightBracket)?;
                    if optional && !self.syntax.optionals {
                        self.issues.report(place, "unsupported syntax '[?'");
                    }
                    let name = if optional { "_[?_]" } else { "_[_]" };
                    target = self.call(place, name, vec![target, index]);
                }
                _ => return Ok(target),
            }
        }
    }

    fn select(&mut self, place: Place, operand: Expr) -> Expr {
        let optional = self.here() == Token::Question;
        if optional {
            self.advance();
        }
        let name_place = self.place();
        let follow = Set::of(&[Token::Dot, Token::LeftBracket]);
        let Some(field) = self.within(follow, true, Self::escape_ident) else {
            self.issues.report(name_place, "unsupported ident kind");
            return missing();
        };
        if !optional {
            let kind = Kind::Select { operand: Box::new(operand), field, test: false };
            return self.node(place, kind);
        }
        if !self.syntax.optionals {
            self.issues.report(place, "unsupported syntax '.?'");
        }
        let name = self.node(name_place, Kind::Literal(Value::from(field)));
        self.call(place, "_?._", vec![operand, name])
    }

    fn escape_ident(&mut self) -> Option<String> {
        let allowed = Set::of(&[Token::Identifier, Token::EscapedIdentifier]);
        if self.sync(allowed).is_err() {
            self.recover();
            return None;
        }
        let spanned = self.token();
        match spanned.token {
            Token::Identifier => {}
            Token::EscapedIdentifier => {
                self.issues.report(self.place(), "unsupported syntax: '`'");
            }
            _ => {
                let _ = self.no_alternative(0);
                self.recover();
                return None;
            }
        }
        self.advance();
        Some(self.text(spanned))
    }

    /// `args)`, the opening parenthesis being read.
    fn arguments(&mut self) -> Rule<Vec<Expr>> {
        self.sync(Set::UNARY.with(Token::RightParen))?;
        let mut args = Vec::new();
        if self.here() != Token::RightParen {
            self.within(Set::of(&[Token::RightParen]), false, |parser| {
                let follow = Set::of(&[Token::Comma]);
                args.push(parser.within(follow, true, Self::expr));
                while parser.here() == Token::Comma {
                    parser.advance();
                    args.push(parser.within(follow, true, Self::expr));
                }
            });
        }
        self.expect(Token::RightParen)?;
        Ok(args)
    }

    pub(crate) fn call(&mut self, place: Place, function: &str, args: Vec<Expr>) -> Expr {
        let kind = Kind::Call { function: function.to_owned(), target: None, args };
        self.node(place, kind)
    }
}

/// What stands in the tree where an error was.
fn missing() -> Expr {
    Expr { id: 0, kind: Kind::Missing }
}

fn relation_operator(token: Token) -> Option<&'static str> {
    Some(match token {
        Token::Less => "_<_",
        Token::LessEquals => "_<=_",
        Token::Greater => "_>_",
        Token::GreaterEquals => "_>=_",
        Token::Equals => "_==_",
        Token::NotEquals => "_!=_",
        Token::In => "@in",
        _ => return None,
    })
}

/// The operator and how tightly it binds.
fn arithmetic_operator(token: Token) -> Option<(&'static str, u8)> {
    Some(match token {
        Token::Star => ("_*_", 2),
        Token::Slash => ("_/_", 2),
        Token::Percent => ("_%_", 2),
        Token::Plus => ("_+_", 1),
        Token::Minus => ("_-_", 1),
        _ => return None,
    })
}
