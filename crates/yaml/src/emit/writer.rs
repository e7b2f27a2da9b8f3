//! The output buffer: column, indentation and what may come next.

use crate::Dialect;
use crate::node::Comments;

/// Text, with the place of the next character.
pub(super) struct Writer {
    pub(super) out: String,
    pub(super) dialect: Dialect,
    pub(super) column: usize,
    /// The indentation of the collection that is being written; -1 outside of all.
    pub(super) indent: isize,
    /// How much deeper a nested block is.
    pub(super) step: usize,
    /// The column after which a line is broken at the next space, if at all.
    pub(super) width: Option<usize>,
    pub(super) flow_level: usize,
    /// Whether the last character was white space.
    pub(super) whitespace: bool,
    /// Whether only indentation (and `-`, `?`, `:`) was written on this line.
    pub(super) indention: bool,
    /// The comments that wait for their place.
    pub(super) comments: Comments,
    /// The foot comment of the field before, which waits as well.
    pub(super) tail: String,
    /// The indentation of a foot comment that was just written, else -1.
    pub(super) foot_indent: isize,
}

impl Writer {
    pub(super) fn new(dialect: Dialect, step: usize, width: Option<usize>) -> Self {
        Self {
            out: String::new(),
            dialect,
            column: 0,
            indent: -1,
            step,
            width,
            flow_level: 0,
            whitespace: true,
            indention: true,
            comments: Comments::default(),
            tail: String::new(),
            foot_indent: -1,
        }
    }

    pub(super) fn put(&mut self, character: char) {
        self.out.push(character);
        self.column += 1;
    }

    /// Appends ASCII text that has no line break.
    pub(super) fn put_ascii(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.len();
    }

    pub(super) fn put_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
        if self.dialect == Dialect::V3 {
            self.indention = true;
        }
    }

    /// Writes a line break that is part of a scalar; U+2028 and its like stay what they are.
    pub(super) fn write_break(&mut self, character: char) {
        if character == '\n' {
            self.put_break();
        } else {
            self.put(character);
            self.column = 0;
            if self.dialect == Dialect::V3 {
                self.indention = true;
            }
        }
    }

    pub(super) fn is_too_wide(&self) -> bool {
        self.width.is_some_and(|width| self.column > width)
    }

    /// Starts a line at the indentation, unless that is where the line is anyway.
    pub(super) fn write_indent(&mut self) {
        let indent = usize::try_from(self.indent).unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        if self.foot_indent == indent.cast_signed() {
            self.put_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.foot_indent = -1;
        self.whitespace = true;
        if self.dialect == Dialect::V2 {
            self.indention = true;
        }
    }

    /// Writes an indicator, with a space in front where `spaced` asks for one.
    pub(super) fn write_indicator(&mut self, text: &str, spaced: bool) {
        self.write_indicator_as(text, spaced, false, false);
    }

    pub(super) fn write_indicator_as(
        &mut self,
        text: &str,
        spaced: bool,
        whitespace: bool,
        indention: bool,
    ) {
        if spaced && !self.whitespace {
            self.put(' ');
        }
        self.put_ascii(text);
        self.whitespace = whitespace;
        self.indention = self.indention && indention;
    }
}
