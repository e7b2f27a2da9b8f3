//! The parser.
//!
//! The rules, the positions of errors and the recovery are those of cel-go's parser, which ANTLR generates, so that users
//! see the same messages.

mod binary;
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
/// How much of the depth a step takes, and how much a fold: macros make several steps of one, and a hundred of `map` in
/// each other are what the stack of a thread takes.
const WEIGHT: usize = 2;
const FOLD_WEIGHT: usize = 3;
/// How many characters an expression may have.
const SIZE_LIMIT: usize = 100_000;
/// How many nodes an expression may have once its macros are expanded: one that copies its target,
/// applied to itself, would otherwise double the tree each time.
const NODE_LIMIT: usize = 300_000;
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

/// The left-recursive and the nesting rules, which are limited in depth.
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
        if self.places.len() == NODE_LIMIT && !self.aborted {
            let message = format!("expression expands beyond limit: {NODE_LIMIT} nodes");
            self.issues.report(Place::Nowhere, message);
            self.abort();
        }
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
        let weight = match &node.kind {
            Kind::Fold(_) => FOLD_WEIGHT,
            _ if nests => WEIGHT,
            _ => 0,
        };
        self.heights[node.id] = below + weight;
        if self.heights[node.id] > DEPTH_LIMIT * WEIGHT && !self.aborted {
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

    /// Runs a rule with a caller that continues with one of `follow`, or ends if `may_end`.
    fn within<T>(&mut self, follow: Set, may_end: bool, rule: impl FnOnce(&mut Self) -> T) -> T {
        self.follow.push((follow, may_end));
        let result = rule(self);
        self.follow.pop();
        result
    }

    /// Goes `levels` deeper into a rule; what nests too deep ends everything.
    fn enter(&mut self, rule: Nesting, levels: usize) -> Result<(), Abort> {
        self.depth[rule as usize] += levels;
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

    fn leave(&mut self, rule: Nesting, levels: usize) {
        self.depth[rule as usize] -= levels;
    }

    /// Whether parsing has been ended.
    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted
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

    /// Conditions, and everything below them.
    ///
    /// Rules nest through this one, so the way down from here to the next is kept to few calls.
    pub(super) fn expr(&mut self) -> Expr {
        if self.enter(Nesting::Expr, 1).is_err() {
            return missing();
        }
        let result = self.conditional();
        self.leave(Nesting::Expr, 1);
        result
    }

    fn conditional(&mut self) -> Expr {
        self.follow.push((Set::of(&[Token::Question]), true));
        let condition = self.binary();
        self.follow.pop();
        if self.here() != Token::Question {
            return condition;
        }
        let place = self.place();
        self.advance();
        self.follow.push((Set::of(&[Token::Colon]), false));
        let then = self.binary();
        self.follow.pop();
        if self.expect(Token::Colon).is_err() {
            self.recover();
            return missing();
        }
        self.follow.push((Set::EMPTY, true));
        let otherwise = self.expr();
        self.follow.pop();
        self.call(place, "_?_:_", vec![condition, then, otherwise])
    }

    fn unary(&mut self) -> Expr {
        let place = self.place();
        let Ok(prefix) = self.prefix() else {
            self.recover();
            return missing();
        };
        self.follow.push((Set::EMPTY, true));
        let member = self.member();
        self.follow.pop();
        // Two of them cancel each other.
        match prefix {
            (Some(name), count) if !count.is_multiple_of(2) => self.call(place, name, vec![member]),
            _ => member,
        }
    }

    /// The operators before an operand, and how many there are.
    fn prefix(&mut self) -> Rule<(Option<&'static str>, usize)> {
        self.sync(Set::UNARY)?;
        let mut count = 0;
        match self.here() {
            Token::Not => {
                while self.here() == Token::Not {
                    self.advance();
                    count += 1;
                    self.sync_loop(Set::UNARY);
                }
                Ok((Some("!_"), count))
            }
            // A minus before a number belongs to the number, but only if it is the only one.
            Token::Minus if !matches!(self.ahead(1), Token::Int | Token::Float) => {
                while self.here() == Token::Minus {
                    if !Set::PRIMARY.has(self.ahead(1)) {
                        return Err(self.no_alternative(1));
                    }
                    self.advance();
                    count += 1;
                }
                Ok((Some("-_"), count))
            }
            token if Set::PRIMARY.has(token) => Ok((None, 0)),
            _ => Err(self.no_alternative(0)),
        }
    }

    fn member(&mut self) -> Expr {
        if self.enter(Nesting::Member, 1).is_err() {
            return missing();
        }
        self.follow.push((Set::of(&[Token::Dot, Token::LeftBracket]), true));
        let primary = self.primary();
        let mut target = self.settle(primary);
        self.follow.pop();
        while matches!(self.here(), Token::Dot | Token::LeftBracket) {
            let selected = self.selector(target);
            let failed = selected.is_err();
            target = self.settle(selected);
            if failed {
                break;
            }
        }
        self.leave(Nesting::Member, 1);
        target
    }

    /// The result of a rule, or after recovery a hole.
    fn settle(&mut self, result: Rule<Expr>) -> Expr {
        result.unwrap_or_else(|Failed| {
            self.recover();
            missing()
        })
    }

    /// A field, a method or an index.
    fn selector(&mut self, target: Expr) -> Rule<Expr> {
        let place = self.place();
        if self.here() == Token::LeftBracket {
            return self.index(place, target);
        }
        match (self.ahead(1), self.ahead(2)) {
            (Token::Identifier, Token::LeftParen) => {
                self.advance();
                let name = self.text(self.token());
                self.advance();
                let open = self.place();
                self.advance();
                let args = self.arguments()?;
                Ok(macros::receiver(self, open, name, target, args))
            }
            (Token::Identifier | Token::EscapedIdentifier | Token::Question, _) => {
                self.advance();
                Ok(self.select(place, target))
            }
            _ => Err(self.no_alternative(1)),
        }
    }

    fn index(&mut self, place: Place, target: Expr) -> Rule<Expr> {
        self.advance();
        self.sync(Set::UNARY.with(Token::Question))?;
        let optional = self.here() == Token::Question;
        if optional {
            self.advance();
        }
        self.follow.push((Set::of(&[Token::RightBracket]), false));
        let index = self.expr();
        self.follow.pop();
        self.expect(Token::RightBracket)?;
        if optional && !self.syntax.optionals {
            self.issues.report(place, "unsupported syntax '[?'");
        }
        let name = if optional { "_[?_]" } else { "_[_]" };
        Ok(self.call(place, name, vec![target, index]))
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
            self.follow.push((Set::of(&[Token::RightParen]), false));
            self.follow.push((Set::of(&[Token::Comma]), true));
            args.push(self.expr());
            while self.here() == Token::Comma {
                self.advance();
                args.push(self.expr());
            }
            self.follow.truncate(self.follow.len() - 2);
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
