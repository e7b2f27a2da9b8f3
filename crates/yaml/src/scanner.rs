//! Scans text into tokens, like libyaml and its Go port.
//!
//! The scanner looks ahead only as far as needed to know whether it just read a key without `?` (a *simple key*): such a
//! key is recognised at its `:`, and the tokens before it are queued afterwards. Tokens depend only on text before
//! them, so an invalid second document does not affect a reader of the first.

mod character;
mod comment;
mod key;
mod property;
mod scalar;

use std::cell::Cell;
use std::collections::VecDeque;

use crate::Dialect;
use crate::input::Input;
use crate::token::{Mark, Token, TokenKind};

pub(crate) use comment::Comment;
use comment::Taken;
use key::SimpleKey;

/// What stops scanning or parsing, with the two places that go-yaml keeps.
///
/// It is rare and large, so it is boxed: results that hold one stay small.
#[derive(Debug, Clone)]
pub(crate) struct Fault(Box<FaultDetail>);

/// The content of a fault.
#[derive(Debug, Clone)]
pub(crate) struct FaultDetail {
    /// Whether the scanner found it; its lines count from zero, the parser's from one.
    pub(crate) scanner: bool,
    pub(crate) context: Mark,
    pub(crate) place: Mark,
    pub(crate) problem: &'static str,
}

impl Fault {
    /// What the scanner found.
    pub(crate) fn scanner(context: Mark, place: Mark, problem: &'static str) -> Self {
        Self(Box::new(FaultDetail { scanner: true, context, place, problem }))
    }

    /// What the parser found, or the reader.
    pub(crate) fn parser(context: Mark, place: Mark, problem: &'static str) -> Self {
        Self(Box::new(FaultDetail { scanner: false, context, place, problem }))
    }

    pub(crate) fn detail(&self) -> &FaultDetail {
        &self.0
    }
}

/// The scanner over one text.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// What is wrong with what follows the text.
    problem: Option<&'static str>,
    /// Whether the scanner looked beyond the text.
    starved: Cell<bool>,
    dialect: Dialect,
    position: usize,
    line: usize,
    /// Bytes so far that continue a character, so that `position - continued` counts characters.
    continued: usize,
    /// The character index of the first character of this line.
    line_start: usize,
    tokens: VecDeque<Token<'a>>,
    tokens_taken: usize,
    head_is_ready: bool,
    indent: isize,
    indents: Vec<isize>,
    simple_keys: Vec<SimpleKey>,
    simple_key_allowed: bool,
    flow_level: usize,
    /// The comments that no token took yet; go-yaml v2 drops them.
    pub(crate) comments: VecDeque<Comment>,
    /// The last two tokens that left the queue, the last one first.
    taken: [Taken; 2],
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(input: &'a Input<'_>, dialect: Dialect) -> Self {
        let text = input.text.as_ref();
        // A second byte order mark is skipped like the first; the input removed that one.
        let position = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
        Self {
            text,
            bytes: text.as_bytes(),
            problem: input.problem,
            starved: Cell::new(false),
            dialect,
            position,
            line: 0,
            continued: position.saturating_sub(1),
            line_start: 0,
            tokens: VecDeque::new(),
            tokens_taken: 0,
            head_is_ready: false,
            indent: -1,
            indents: Vec::new(),
            simple_keys: vec![SimpleKey::default()],
            simple_key_allowed: true,
            flow_level: 0,
            comments: VecDeque::new(),
            taken: [Taken::default(); 2],
        }
    }

    /// Makes the next token known; it stays in the queue.
    #[inline]
    pub(crate) fn ready(&mut self) -> Result<(), Fault> {
        if self.head_is_ready { Ok(()) } else { self.fetch_more_tokens() }
    }

    /// The next token, once it is ready.
    #[inline]
    pub(crate) fn head(&self) -> &Token<'a> {
        const END: Token<'_> =
            Token { mark: Mark { index: 0, line: 0, column: 0 }, kind: TokenKind::StreamEnd };
        self.tokens.front().unwrap_or(&END)
    }

    /// Takes the token that is ready out of the queue.
    pub(crate) fn take(&mut self) -> Option<Token<'a>> {
        self.head_is_ready = false;
        self.tokens_taken += 1;
        let token = self.tokens.pop_front();
        if self.dialect == Dialect::V3
            && let Some(token) = &token
        {
            self.taken = [Taken::of(token), self.taken[0]];
        }
        token
    }

    fn fault(&self, context: Mark, problem: &'static str) -> Fault {
        Fault::scanner(context, self.mark(), problem)
    }

    fn document_indicator(&self, character: u8) -> bool {
        self.at(0) == character
            && self.at(1) == character
            && self.at(2) == character
            && self.is_blank_break_or_end(3)
    }

    // --- the queue ------------------------------------------------------------------------------

    fn fetch_more_tokens(&mut self) -> Result<(), Fault> {
        // go-yaml v3 reads two tokens ahead to place comments; its errors come that much earlier.
        let in_hand = match self.dialect {
            Dialect::V2 => 0,
            Dialect::V3 => 2,
        };
        loop {
            if self.tokens.len() > in_hand && !self.head_may_be_key()? {
                break;
            }
            let fetched = self.fetch_next_token();
            if let Some(problem) = self.problem
                && self.starved.get()
            {
                return Err(Fault::parser(Mark::default(), Mark::default(), problem));
            }
            fetched?;
        }
        self.head_is_ready = true;
        Ok(())
    }

    /// Whether the token at the head of the queue may still turn out to be a simple key.
    fn head_may_be_key(&mut self) -> Result<bool, Fault> {
        let head = self.tokens_taken;
        let found = self
            .simple_keys
            .iter()
            .position(|key| key.possible && !key.forgotten && key.token_number == head);
        match found {
            Some(level) => self.simple_key_is_valid(level),
            None => Ok(false),
        }
    }

    fn push(&mut self, mark: Mark, kind: TokenKind<'a>) {
        self.tokens.push_back(Token { mark, kind });
    }

    /// Puts a token in front of the token with that number, or last where that one is gone.
    fn insert(&mut self, token_number: usize, mark: Mark, kind: TokenKind<'a>) {
        match token_number.checked_sub(self.tokens_taken) {
            Some(place) if place <= self.tokens.len() => {
                self.tokens.insert(place, Token { mark, kind });
            }
            _ => self.push(mark, kind),
        }
    }

    fn next_token_number(&self) -> usize {
        self.tokens_taken + self.tokens.len()
    }

    fn fetch_next_token(&mut self) -> Result<(), Fault> {
        let scan_mark = self.mark();
        self.scan_to_next_token();
        self.unroll_indent(self.column().cast_signed(), scan_mark);
        if self.problem.is_some() {
            // go-yaml has read the longest indicator before it looks for any.
            self.at(3);
        }

        let first = self.at(0);
        if first == 0 {
            return self.fetch_stream_end();
        }
        if self.column() == 0 {
            match first {
                b'%' => return self.fetch_directive(),
                b'-' if self.document_indicator(b'-') => {
                    return self.fetch_document_indicator(TokenKind::DocumentStart);
                }
                b'.' if self.document_indicator(b'.') => {
                    return self.fetch_document_indicator(TokenKind::DocumentEnd);
                }
                _ => {}
            }
        }
        if self.dialect == Dialect::V2 {
            return self.fetch_content_token(first);
        }
        // A comment after `:` or `,` belongs to what is before that.
        let separator = if self.flow_level == 0 { b':' } else { b',' };
        let mark = if first == separator { self.recent(0).mark } else { self.mark() };
        self.fetch_content_token(first)?;
        // One behind `-` heads what follows.
        if !self.recent(0).is_block_entry {
            self.scan_line_comment(mark);
        }
        Ok(())
    }

    fn fetch_content_token(&mut self, first: u8) -> Result<(), Fault> {
        let mark = self.mark();
        let in_flow = self.flow_level > 0;
        match first {
            b'[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if self.is_blank_break_or_end(1) => self.fetch_block_entry(),
            b'?' if in_flow || self.is_blank_break_or_end(1) => self.fetch_key(),
            b':' if in_flow || self.is_blank_break_or_end(1) => self.fetch_value(),
            b'*' | b'&' => {
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                self.scan_anchor()
            }
            b'!' => {
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                self.scan_tag()
            }
            b'|' | b'>' if !in_flow => {
                self.remove_simple_key()?;
                self.simple_key_allowed = true;
                self.scan_block_scalar()
            }
            b'\'' | b'"' => {
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                self.scan_quoted_scalar()
            }
            b' ' | b'\t' | b'\r' | b'\n' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => {
                Err(self.fault(mark, "found character that cannot start any token"))
            }
            _ => {
                if self.simple_key_allowed && !in_flow && self.fetch_block_key(mark)? {
                    return Ok(());
                }
                self.save_simple_key()?;
                self.simple_key_allowed = false;
                self.scan_plain_scalar()
            }
        }
    }

    /// Steps over blanks, comments and line breaks.
    fn scan_to_next_token(&mut self) {
        let scan_mark = self.mark();
        loop {
            // A tab may not indent: in block context it is only skipped where no key may start.
            while self.at(0) == b' '
                || (self.at(0) == b'\t' && (self.flow_level > 0 || !self.simple_key_allowed))
            {
                self.position += 1;
            }
            if self.dialect == Dialect::V3 {
                self.lift_entry_comment();
            }
            if self.at(0) == b'#' {
                match self.dialect {
                    Dialect::V2 => self.skip_comment(),
                    Dialect::V3 => self.scan_comments(scan_mark),
                }
            }
            if !self.is_break(0) {
                return;
            }
            self.skip_line();
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    // --- indicators -----------------------------------------------------------------------------

    fn fetch_stream_end(&mut self) -> Result<(), Fault> {
        if self.column() != 0 {
            self.line += 1;
            self.line_start = self.position - self.continued;
        }
        self.unroll_indent(-1, self.mark());
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let mark = self.mark();
        self.push(mark, TokenKind::StreamEnd);
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), Fault> {
        self.unroll_indent(-1, self.mark());
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_directive()
    }

    fn fetch_document_indicator(&mut self, kind: TokenKind<'a>) -> Result<(), Fault> {
        self.unroll_indent(-1, self.mark());
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let mark = self.mark();
        self.position += 3;
        self.push(mark, kind);
        Ok(())
    }

    fn push_indicator(&mut self, kind: TokenKind<'a>) {
        let mark = self.mark();
        self.position += 1;
        self.push(mark, kind);
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'a>) -> Result<(), Fault> {
        self.save_simple_key()?;
        self.increase_flow_level();
        self.simple_key_allowed = true;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'a>) -> Result<(), Fault> {
        self.remove_simple_key()?;
        self.decrease_flow_level();
        self.simple_key_allowed = false;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Fault> {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::FlowEntry);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Fault> {
        // Inside a flow collection the parser complains, as it knows the context.
        if self.flow_level == 0 {
            let mark = self.mark();
            if !self.simple_key_allowed {
                let problem = "block sequence entries are not allowed in this context";
                return Err(self.fault(mark, problem));
            }
            self.roll_indent(mark.column, None, TokenKind::BlockSequenceStart, mark);
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(TokenKind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Fault> {
        if self.flow_level == 0 {
            let mark = self.mark();
            if !self.simple_key_allowed {
                return Err(self.fault(mark, "mapping keys are not allowed in this context"));
            }
            self.roll_indent(mark.column, None, TokenKind::BlockMappingStart, mark);
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.push_indicator(TokenKind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Fault> {
        let level = self.simple_keys.len() - 1;
        if self.simple_key_is_valid(level)? {
            let key = self.simple_keys[level];
            self.insert(key.token_number, key.mark, TokenKind::Key);
            let kind = TokenKind::BlockMappingStart;
            self.roll_indent(key.mark.column, Some(key.token_number), kind, key.mark);
            self.simple_keys[level].possible = false;
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                let mark = self.mark();
                if !self.simple_key_allowed {
                    return Err(self.fault(mark, "mapping values are not allowed in this context"));
                }
                self.roll_indent(mark.column, None, TokenKind::BlockMappingStart, mark);
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.push_indicator(TokenKind::Value);
        Ok(())
    }
}
