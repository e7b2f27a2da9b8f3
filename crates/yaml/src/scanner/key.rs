//! Simple keys, which are recognised by the `:` after them, and the indentation they open.

use std::borrow::Cow;

use super::{Fault, Scanner};
use crate::Dialect;
use crate::token::{Mark, ScalarStyle, TokenKind};

/// A key without `?` must be followed by its `:` within this many characters.
const SIMPLE_KEY_LENGTH: usize = 1024;

/// A place where a simple key may have started.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SimpleKey {
    pub(super) possible: bool,
    required: bool,
    /// go-yaml forgets to wait for the `:` of an empty flow collection; see `decrease_flow_level`.
    pub(super) forgotten: bool,
    pub(super) token_number: usize,
    pub(super) mark: Mark,
}

impl<'a> Scanner<'a> {
    pub(super) fn simple_key_is_valid(&mut self, level: usize) -> Result<bool, Fault> {
        let now = self.mark();
        let Some(key) = self.simple_keys.get_mut(level) else { return Ok(false) };
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < now.line || key.mark.index + SIMPLE_KEY_LENGTH < now.index {
            if key.required {
                let context = key.mark;
                return Err(self.fault(context, "could not find expected ':'"));
            }
            key.possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    /// Fetches an ordinary key, one word followed by `:`, without queueing. False for anything
    /// else.
    pub(super) fn fetch_block_key(&mut self, mark: Mark) -> Result<bool, Fault> {
        let end = self.plain_run_end();
        // What is wrong with the rest of a text must be found where go-yaml finds it.
        if self.problem.is_some()
            || self.byte(end) != b':'
            || end - self.position > SIMPLE_KEY_LENGTH
        {
            return Ok(false);
        }
        self.remove_simple_key()?;
        let value = Cow::Borrowed(&self.text[self.position..end]);
        self.skip_to(end);
        self.roll_indent(mark.column, None, TokenKind::BlockMappingStart, mark);
        self.push(mark, TokenKind::Key);
        self.push(mark, TokenKind::Scalar { value, style: ScalarStyle::Plain });
        self.push_indicator(TokenKind::Value);
        self.simple_key_allowed = false;
        Ok(true)
    }

    /// Notes that a simple key may start here.
    pub(super) fn save_simple_key(&mut self) -> Result<(), Fault> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let required = self.flow_level == 0 && self.indent == self.column().cast_signed();
        let key = SimpleKey {
            possible: true,
            required,
            forgotten: false,
            token_number: self.next_token_number(),
            mark: self.mark(),
        };
        self.remove_simple_key()?;
        if let Some(last) = self.simple_keys.last_mut() {
            *last = key;
        }
        Ok(())
    }

    /// Gives up on the simple key of this flow level.
    pub(super) fn remove_simple_key(&mut self) -> Result<(), Fault> {
        let Some(&key) = self.simple_keys.last() else { return Ok(()) };
        if key.possible && key.required {
            return Err(self.fault(key.mark, "could not find expected ':'"));
        }
        if let Some(last) = self.simple_keys.last_mut() {
            last.possible = false;
        }
        Ok(())
    }

    pub(super) fn increase_flow_level(&mut self) {
        let key = SimpleKey {
            token_number: self.next_token_number(),
            mark: self.mark(),
            ..SimpleKey::default()
        };
        self.simple_keys.push(key);
        self.flow_level += 1;
    }

    pub(super) fn decrease_flow_level(&mut self) {
        if self.flow_level == 0 {
            return;
        }
        self.flow_level -= 1;
        let inner = self.simple_keys.pop();
        // go-yaml's index of keys by token loses the key of the collection itself when no key was
        // noted inside it: `[]: a` is then read as a sequence before its colon is seen.
        if let (Some(inner), Some(outer)) = (inner, self.simple_keys.last_mut())
            && inner.token_number == outer.token_number
        {
            outer.forgotten = true;
        }
    }

    /// Opens a block collection at `column` if that is deeper than the one around it.
    pub(super) fn roll_indent(
        &mut self,
        column: usize,
        number: Option<usize>,
        kind: TokenKind<'a>,
        mark: Mark,
    ) {
        if self.flow_level > 0 || self.indent >= column.cast_signed() {
            return;
        }
        self.indents.push(self.indent);
        self.indent = column.cast_signed();
        match number {
            Some(number) => self.insert(number, mark, kind),
            None => self.push(mark, kind),
        }
    }

    /// Closes the block collections that are deeper than `column`. Their ends are put before the
    /// comments since `scan_mark` that are as deep as what is around them.
    pub(super) fn unroll_indent(&mut self, column: isize, scan_mark: Mark) {
        if self.flow_level > 0 {
            return;
        }
        let mut mark = match self.dialect {
            Dialect::V2 => self.mark(),
            Dialect::V3 => Mark { index: scan_mark.index.saturating_sub(1), ..scan_mark },
        };
        while self.indent > column {
            if !self.comments.is_empty() {
                mark = self.block_end_before_comments(mark);
            }
            self.push(mark, TokenKind::BlockEnd);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }
}
