//! The expected tokens, and the recovery after an unexpected one: ANTLR's default strategy (drop one token, insert one,
//! or skip to where a caller can continue).

use super::{Failed, Parser, RECOVERY_LIMIT, Rule};
use crate::lexer::{Spanned, Token};
use crate::source::Place;

/// Every token, in the grammar's order.
const ALL: &[Token] = &[
    Token::Equals,
    Token::NotEquals,
    Token::In,
    Token::Less,
    Token::LessEquals,
    Token::GreaterEquals,
    Token::Greater,
    Token::And,
    Token::Or,
    Token::LeftBracket,
    Token::RightBracket,
    Token::LeftBrace,
    Token::RightBrace,
    Token::LeftParen,
    Token::RightParen,
    Token::Dot,
    Token::Comma,
    Token::Minus,
    Token::Not,
    Token::Question,
    Token::Colon,
    Token::Plus,
    Token::Star,
    Token::Slash,
    Token::Percent,
    Token::True,
    Token::False,
    Token::Null,
    Token::Float,
    Token::Int,
    Token::Uint,
    Token::String,
    Token::Bytes,
    Token::Identifier,
    Token::EscapedIdentifier,
    Token::End,
];

/// A set of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set(u64);

impl Set {
    /// No token.
    pub(super) const EMPTY: Set = Set(0);
    /// What a primary expression begins with.
    pub(super) const PRIMARY: Set = Set::of(&[
        Token::LeftBracket,
        Token::LeftBrace,
        Token::LeftParen,
        Token::Dot,
        Token::Minus,
        Token::True,
        Token::False,
        Token::Null,
        Token::Float,
        Token::Int,
        Token::Uint,
        Token::String,
        Token::Bytes,
        Token::Identifier,
    ]);
    /// What any expression begins with.
    pub(super) const UNARY: Set = Set::PRIMARY.with(Token::Not);
    /// What may stand between operands.
    pub(super) const OPERATORS: Set = Set::of(&[
        Token::Or,
        Token::And,
        Token::Less,
        Token::LessEquals,
        Token::Greater,
        Token::GreaterEquals,
        Token::Equals,
        Token::NotEquals,
        Token::In,
        Token::Star,
        Token::Slash,
        Token::Percent,
        Token::Plus,
        Token::Minus,
    ]);

    pub(super) const fn of(tokens: &[Token]) -> Set {
        let mut bits = 0;
        let mut index = 0;
        while index < tokens.len() {
            bits |= 1 << tokens[index] as u8;
            index += 1;
        }
        Set(bits)
    }

    pub(super) const fn with(self, token: Token) -> Set {
        Set(self.0 | 1 << token as u8)
    }

    fn or(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }

    pub(super) fn has(self, token: Token) -> bool {
        self.0 & (1 << token as u8) != 0
    }

    /// The set as a message lists it.
    fn names(self) -> String {
        // The end has the lowest number of all.
        let end = self.has(Token::End).then_some("<EOF>");
        let rest = ALL
            .iter()
            .filter(|token| **token != Token::End && self.has(**token))
            .map(|token| token.name());
        let names: Vec<&str> = end.into_iter().chain(rest).collect();
        if names.len() == 1 { names[0].to_owned() } else { format!("{{{}}}", names.join(", ")) }
    }
}

impl Parser<'_> {
    /// Reads the current token, which the rule has seen to fit.
    pub(super) fn advance(&mut self) {
        if self.at < self.tokens.len() - 1 {
            self.at += 1;
        }
        self.recovering = self.aborted;
        self.last_recovery = None;
    }

    fn shown(&self, spanned: Spanned) -> String {
        let text = match spanned.token {
            Token::End => "<EOF>".to_owned(),
            _ => self.text(spanned),
        };
        quote(&text)
    }

    fn syntax_error(&mut self, spanned: Spanned, message: &str) {
        self.issues.report(Place::At(spanned.start), format!("Syntax error: {message}"));
    }

    fn report(&mut self, message: &str) {
        if self.recovering {
            return;
        }
        self.recovering = true;
        self.syntax_error(self.token(), message);
    }

    /// An error at a choice of which no alternative fits the next `count` tokens and one more.
    pub(super) fn no_alternative(&mut self, count: usize) -> Failed {
        if self.recovering {
            return Failed;
        }
        self.recovering = true;
        let first = self.token();
        let last = self.tokens[(self.at + count).min(self.tokens.len() - 1)];
        let input = if first.token == Token::End {
            "<EOF>".to_owned()
        } else {
            let readable = |at: &usize| !self.unreadable.iter().any(|range| range.contains(at));
            (first.start..last.end).filter(readable).map(|at| self.source.text[at]).collect()
        };
        let mut message = format!("no viable alternative at input {}", quote(&input));
        for word in ["true", "false", "null"] {
            let mut characters = input.chars();
            if characters.next().is_some() && characters.as_str() == word {
                message = format!("mismatched input '{word}' expecting IDENTIFIER");
            }
        }
        self.syntax_error(last, &message);
        Failed
    }

    /// Checks at the start of a choice that one of `expected` follows, dropping one token if that
    /// helps.
    pub(super) fn sync(&mut self, expected: Set) -> Rule<()> {
        if self.recovering || expected.has(self.here()) {
            return Ok(());
        }
        if expected.has(self.ahead(1)) && self.here() != Token::End {
            self.drop_token(expected);
            return Ok(());
        }
        let shown = self.shown(self.token());
        self.report(&format!("mismatched input {shown} expecting {}", expected.names()));
        Err(Failed)
    }

    /// Checks inside a loop that it goes on or ends; skips what fits neither.
    pub(super) fn sync_loop(&mut self, expected: Set) {
        if self.recovering || expected.has(self.here()) {
            return;
        }
        let shown = self.shown(self.token());
        self.report(&format!("extraneous input {shown} expecting {}", expected.names()));
        let until = expected.or(self.recovery_set());
        self.skip(until);
    }

    fn drop_token(&mut self, expected: Set) {
        let shown = self.shown(self.token());
        self.report(&format!("extraneous input {shown} expecting {}", expected.names()));
        self.advance();
    }

    /// Reads `token`, or makes the best of what is there.
    pub(super) fn expect(&mut self, token: Token) -> Rule<()> {
        if self.here() == token {
            self.advance();
            return Ok(());
        }
        if self.aborted {
            return Err(Failed);
        }
        self.attempt();
        let expected = Set::of(&[token]);
        if self.ahead(1) == token && self.here() != Token::End {
            self.drop_token(expected);
            self.advance();
            return Ok(());
        }
        if token != Token::End && self.after(token).has(self.here()) {
            let shown = self.shown(self.token());
            self.report(&format!("missing {} at {shown}", token.name()));
            return Ok(());
        }
        let shown = self.shown(self.token());
        self.report(&format!("mismatched input {shown} expecting {}", expected.names()));
        Err(Failed)
    }

    /// What may come after `token` where the parser stands.
    fn after(&self, token: Token) -> Set {
        if token == Token::Colon {
            return Set::UNARY;
        }
        // Closing tokens end a primary expression or a member.
        let mut set = Set::of(&[Token::Dot, Token::LeftBracket]);
        for (follow, may_end) in self.follow.iter().rev() {
            set = set.or(*follow);
            if !may_end {
                break;
            }
        }
        set
    }

    fn recovery_set(&self) -> Set {
        self.follow.iter().fold(Set::EMPTY, |set, (follow, _)| set.or(*follow))
    }

    fn skip(&mut self, until: Set) {
        while self.here() != Token::End && !until.has(self.here()) {
            self.at += 1;
        }
    }

    fn attempt(&mut self) {
        if self.recoveries == RECOVERY_LIMIT && !self.aborted {
            let message = format!("error recovery attempt limit exceeded: {RECOVERY_LIMIT}");
            self.syntax_error(self.token(), &message);
            self.abort();
        }
        self.recoveries += 1;
    }

    /// After an error was reported in a rule: skips to where one of its callers can go on.
    pub(super) fn recover(&mut self) {
        if self.aborted {
            return;
        }
        self.attempt();
        if self.last_recovery == Some(self.at) && self.here() != Token::End {
            self.at += 1;
        }
        self.last_recovery = Some(self.at);
        self.skip(self.recovery_set());
        self.last_recovery = Some(self.at);
    }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"))
}
