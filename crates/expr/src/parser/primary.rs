//! What expressions are made of: names, calls, literals, lists, maps and messages.

use super::recovery::Set;
use super::{Parser, RESERVED, Rule, missing};
use crate::ast::{Entry, Expr, Field, Kind};
use crate::lexer::{Spanned, Token};
use crate::literal;
use crate::macros;
use crate::source::Place;

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Rule<Expr> {
        self.sync(Set::PRIMARY)?;
        let spanned = self.token();
        let place = self.place();
        match spanned.token {
            Token::LeftParen => {
                self.advance();
                self.follow.push((Set::of(&[Token::RightParen]), false));
                let inner = self.expr();
                self.follow.pop();
                self.expect(Token::RightParen)?;
                Ok(inner)
            }
            Token::LeftBracket => self.list(place),
            Token::LeftBrace => self.map(place),
            Token::Dot | Token::Identifier => self.named(),
            _ if Set::PRIMARY.has(spanned.token) => self.literal(place, spanned),
            _ => Err(self.no_alternative(0)),
        }
    }

    /// A name, a function call, or a message literal.
    fn named(&mut self) -> Rule<Expr> {
        let dot = self.here() == Token::Dot;
        if dot && self.ahead(1) != Token::Identifier {
            return Err(self.no_alternative(1));
        }
        let first = usize::from(dot);
        let mut last = first;
        while self.ahead(last + 1) == Token::Dot && self.ahead(last + 2) == Token::Identifier {
            last += 2;
        }
        let begin = self.place();
        if self.ahead(last + 1) == Token::LeftBrace {
            return self.message(dot, last);
        }
        if dot {
            self.advance();
        }
        let spanned = self.token();
        let place = self.place();
        let word = self.text(spanned);
        self.advance();
        let reserved = RESERVED.contains(&word.as_str());
        let name = if dot { format!(".{word}") } else { word.clone() };
        if self.here() == Token::LeftParen {
            let open = self.place();
            self.advance();
            let args = self.arguments()?;
            if reserved {
                self.issues.report(begin, format!("reserved identifier: {word}"));
                return Ok(self.node(begin, Kind::Missing));
            }
            return Ok(macros::global(self, open, name, args));
        }
        if reserved {
            self.issues.report(begin, format!("reserved identifier: {word}"));
            return Ok(self.node(begin, Kind::Missing));
        }
        Ok(self.node(place, Kind::Ident(name)))
    }

    fn message(&mut self, dot: bool, last: usize) -> Rule<Expr> {
        let mut name = if dot { ".".to_owned() } else { String::new() };
        for ahead in (usize::from(dot)..=last).step_by(2) {
            if ahead > 1 {
                name.push('.');
            }
            name.push_str(&self.text(self.tokens[self.at + ahead]));
        }
        for _ in 0..=last {
            self.advance();
        }
        let place = self.place();
        self.advance();
        let starts = Set::of(&[Token::Question, Token::Identifier, Token::EscapedIdentifier]);
        self.sync(starts.with(Token::Comma).with(Token::RightBrace))?;
        let mut fields = Vec::new();
        if starts.has(self.here()) {
            let follow = Set::of(&[Token::Comma, Token::RightBrace]);
            self.within(follow, false, |parser| parser.fields(starts, &mut fields));
        }
        self.close(Token::RightBrace)?;
        Ok(self.node(place, Kind::Struct { name, fields }))
    }

    fn fields(&mut self, starts: Set, fields: &mut Vec<Field>) {
        loop {
            let optional = self.here() == Token::Question;
            if optional {
                self.advance();
            }
            let follow = Set::of(&[Token::Colon]);
            let name = self.within(follow, false, Self::escape_ident);
            let colon = self.place();
            if self.expect(Token::Colon).is_err() {
                self.recover();
                return;
            }
            let value = self.within(Set::of(&[Token::Comma]), true, Self::expr);
            let id = self.id(colon);
            if let Some(name) = name {
                fields.push(Field { id, name, value, optional });
            }
            if self.here() != Token::Comma || !starts.has(self.ahead(1)) {
                return;
            }
            self.advance();
        }
    }

    fn list(&mut self, place: Place) -> Rule<Expr> {
        self.advance();
        let starts = Set::UNARY.with(Token::Question);
        self.sync(starts.with(Token::Comma).with(Token::RightBracket))?;
        let mut elements = Vec::new();
        if starts.has(self.here()) {
            let follow = Set::of(&[Token::Comma, Token::RightBracket]);
            self.within(follow, false, |parser| {
                loop {
                    let mark = parser.place();
                    let (element, optional) =
                        parser.within(Set::of(&[Token::Comma]), true, Self::optional_expr);
                    if optional && !parser.syntax.optionals {
                        parser.issues.report(mark, "unsupported syntax '?'");
                    }
                    elements.push((element, optional));
                    if parser.here() != Token::Comma || !starts.has(parser.ahead(1)) {
                        return;
                    }
                    parser.advance();
                }
            });
        }
        self.close(Token::RightBracket)?;
        Ok(self.node(place, Kind::List(elements)))
    }

    fn map(&mut self, place: Place) -> Rule<Expr> {
        self.advance();
        let starts = Set::UNARY.with(Token::Question);
        self.sync(starts.with(Token::Comma).with(Token::RightBrace))?;
        let mut entries = Vec::new();
        if starts.has(self.here()) {
            let follow = Set::of(&[Token::Comma, Token::RightBrace]);
            self.within(follow, false, |parser| parser.entries(starts, &mut entries));
        }
        self.close(Token::RightBrace)?;
        Ok(self.node(place, Kind::Map(entries)))
    }

    fn entries(&mut self, starts: Set, entries: &mut Vec<Entry>) {
        loop {
            let mark = self.place();
            let (key, optional) = self.within(Set::of(&[Token::Colon]), false, Self::optional_expr);
            if self.expect(Token::Colon).is_err() {
                self.recover();
                return;
            }
            if optional && !self.syntax.optionals {
                self.issues.report(mark, "unsupported syntax '?'");
            }
            let value = self.within(Set::of(&[Token::Comma]), true, Self::expr);
            entries.push(Entry { key, value, optional });
            if self.here() != Token::Comma || !starts.has(self.ahead(1)) {
                return;
            }
            self.advance();
        }
    }

    fn optional_expr(&mut self) -> (Expr, bool) {
        if self.sync(Set::UNARY.with(Token::Question)).is_err() {
            self.recover();
            return (missing(), false);
        }
        let optional = self.here() == Token::Question;
        if optional {
            self.advance();
        }
        (self.within(Set::EMPTY, true, Self::expr), optional)
    }

    /// `,? close`
    fn close(&mut self, close: Token) -> Rule<()> {
        self.sync(Set::of(&[Token::Comma, close]))?;
        if self.here() == Token::Comma {
            self.advance();
        }
        self.expect(close)
    }

    fn literal(&mut self, place: Place, spanned: Spanned) -> Rule<Expr> {
        let mut text = String::new();
        let mut spanned = spanned;
        if spanned.token == Token::Minus {
            if !matches!(self.ahead(1), Token::Int | Token::Float) {
                return Err(self.no_alternative(1));
            }
            text.push('-');
            self.advance();
            spanned = self.token();
        }
        self.advance();
        text.push_str(&self.text(spanned));
        match literal::value(spanned.token, &text) {
            Ok(value) => Ok(self.node(place, Kind::Literal(value))),
            Err(message) => {
                self.issues.report(place, message);
                Ok(missing())
            }
        }
    }
}
