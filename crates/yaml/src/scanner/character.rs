//! Steps through the text: characters, line breaks, and positions.

use super::Scanner;
use crate::token::Mark;

impl Scanner<'_> {
    pub(super) fn at(&self, offset: usize) -> u8 {
        self.byte(self.position + offset)
    }

    /// The byte at `position`; NUL, which no text holds, at its end.
    pub(super) fn byte(&self, position: usize) -> u8 {
        if let Some(byte) = self.bytes.get(position) {
            *byte
        } else {
            self.starved.set(true);
            0
        }
    }

    pub(super) fn mark(&self) -> Mark {
        let index = self.position - self.continued;
        Mark { index, line: self.line, column: index - self.line_start }
    }

    pub(super) fn column(&self) -> usize {
        self.position - self.continued - self.line_start
    }

    /// Steps over one character.
    pub(super) fn skip(&mut self) {
        let width = match self.at(0) {
            0..=0x7F => 1,
            0x80..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0.. => 4,
        };
        self.position += width;
        self.continued += width - 1;
    }

    /// Steps to byte `end`, which is on the same line.
    pub(super) fn skip_to(&mut self, end: usize) {
        let passed = &self.bytes[self.position..end];
        if !passed.is_ascii() {
            self.continued += passed.iter().filter(|byte| **byte & 0xC0 == 0x80).count();
        }
        self.position = end;
    }

    pub(super) fn break_width_at(&self, position: usize) -> usize {
        let byte = |offset: usize| self.byte(position + offset);
        match byte(0) {
            b'\r' if byte(1) == b'\n' => 2,
            b'\n' | b'\r' => 1,
            0xC2 if byte(1) == 0x85 => 2,
            0xE2 if byte(1) == 0x80 && matches!(byte(2), 0xA8 | 0xA9) => 3,
            _ => 0,
        }
    }

    pub(super) fn is_break(&self, offset: usize) -> bool {
        self.break_width_at(self.position + offset) > 0
    }

    pub(super) fn is_blank(&self, offset: usize) -> bool {
        matches!(self.at(offset), b' ' | b'\t')
    }

    pub(super) fn is_end(&self, offset: usize) -> bool {
        self.at(offset) == 0
    }

    pub(super) fn is_break_or_end(&self, offset: usize) -> bool {
        self.is_end(offset) || self.is_break(offset)
    }

    pub(super) fn is_blank_break_or_end(&self, offset: usize) -> bool {
        self.is_blank(offset) || self.is_break_or_end(offset)
    }

    /// Steps over a line break, if there is one.
    pub(super) fn skip_line(&mut self) {
        let width = self.break_width_at(self.position);
        if width == 0 {
            return;
        }
        // CR LF counts as two characters, every other break as one.
        self.continued += if self.at(0) == b'\r' { 0 } else { width - 1 };
        self.position += width;
        self.line += 1;
        self.line_start = self.position - self.continued;
    }

    /// Steps over a line break and appends it to `out`, as a line feed unless it is U+2028 or 2029.
    pub(super) fn read_line(&mut self, out: &mut String) {
        let width = self.break_width_at(self.position);
        if width == 3 {
            out.push_str(&self.text[self.position..self.position + width]);
        } else if width > 0 {
            out.push('\n');
        }
        self.skip_line();
    }

    /// The byte where this line ends.
    pub(super) fn line_end(&self) -> usize {
        let mut end = self.position;
        while let Some(byte) = self.bytes.get(end) {
            match byte {
                b'\n' | b'\r' => break,
                0xC2 | 0xE2 if self.break_width_at(end) > 0 => break,
                _ => end += 1,
            }
        }
        end
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.is_blank(0) {
            self.position += 1;
        }
    }

    pub(super) fn skip_comment(&mut self) {
        if self.at(0) == b'#' {
            self.skip_to(self.line_end());
        }
    }
}
