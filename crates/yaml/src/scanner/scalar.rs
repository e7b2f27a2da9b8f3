//! Plain, quoted and block scalars.
//!
//! A scalar on one line without escapes is a slice of the text; only others are built.

use std::borrow::Cow;

use super::{Fault, Scanner};
use crate::Dialect;
use crate::token::{Mark, ScalarStyle, TokenKind};

/// Line breaks between two parts of a scalar, which fold into a space.
#[derive(Default)]
struct Fold {
    /// Whether a line break (or an escaped one) was seen.
    active: bool,
    first: String,
    rest: String,
}

impl Fold {
    /// Appends what the breaks stand for.
    fn join(&mut self, out: &mut String) {
        if self.first.starts_with('\n') {
            out.push_str(if self.rest.is_empty() { " " } else { &self.rest });
        } else {
            out.push_str(&self.first);
            out.push_str(&self.rest);
        }
        self.first.clear();
        self.rest.clear();
        self.active = false;
    }
}

impl<'a> Scanner<'a> {
    fn push_scalar(&mut self, mark: Mark, value: Cow<'a, str>, style: ScalarStyle) {
        self.push(mark, TokenKind::Scalar { value, style });
    }

    /// The byte where the unbroken run of plain text at the position ends.
    pub(super) fn plain_run_end(&self) -> usize {
        let in_flow = self.flow_level > 0;
        let mut end = self.position;
        while let Some(&byte) = self.bytes.get(end) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => break,
                b':' => {
                    let next = self.bytes.get(end + 1).copied().unwrap_or(0);
                    if matches!(next, b' ' | b'\t' | b'\n' | 0) || self.break_width_at(end + 1) > 0
                    {
                        break;
                    }
                }
                b',' | b'?' | b'[' | b']' | b'{' | b'}' if in_flow => break,
                0xC2 | 0xE2 if self.break_width_at(end) > 0 => break,
                _ => {}
            }
            end += 1;
        }
        end
    }

    /// Steps over the blanks and breaks between two runs; gives whether text was on this line yet.
    fn scan_fold(&mut self, fold: &mut Fold, plain: Option<(Mark, usize)>) -> Result<(), Fault> {
        loop {
            if self.is_blank(0) {
                if let Some((mark, indent)) = plain
                    && fold.active
                    && self.column() < indent
                    && self.at(0) == b'\t'
                {
                    let problem = "found a tab character that violates indentation";
                    return Err(self.fault(mark, problem));
                }
                self.position += 1;
            } else if self.is_break(0) {
                if fold.active {
                    self.read_line(&mut fold.rest);
                } else {
                    self.read_line(&mut fold.first);
                    fold.active = true;
                }
            } else {
                return Ok(());
            }
        }
    }

    pub(super) fn scan_plain_scalar(&mut self) -> Result<(), Fault> {
        let mark = self.mark();
        let start = self.position;
        let indent = usize::try_from(self.indent + 1).unwrap_or(0);
        // Where the text so far ends: of the slice while it is one line, else what was built.
        let mut end = start;
        let mut built: Option<String> = None;
        let mut fold = Fold::default();
        loop {
            if self.column() == 0
                && (self.document_indicator(b'-') || self.document_indicator(b'.'))
            {
                break;
            }
            if self.at(0) == b'#' {
                break;
            }
            let run_end = self.plain_run_end();
            if run_end > self.position {
                if fold.active {
                    let mut out = built.take().unwrap_or_else(|| self.text[start..end].to_owned());
                    fold.join(&mut out);
                    out.push_str(&self.text[self.position..run_end]);
                    built = Some(out);
                } else if let Some(out) = &mut built {
                    // Blanks inside a line stay as they are.
                    out.push_str(&self.text[end..run_end]);
                }
                self.skip_to(run_end);
                end = run_end;
            }
            if !(self.is_blank(0) || self.is_break(0)) {
                break;
            }
            self.scan_fold(&mut fold, Some((mark, indent)))?;
            if self.flow_level == 0 && self.column() < indent {
                break;
            }
        }
        if fold.active {
            self.simple_key_allowed = true;
        }
        let value = match built {
            Some(built) => Cow::Owned(built),
            None => Cow::Borrowed(&self.text[start..end]),
        };
        self.push_scalar(mark, value, ScalarStyle::Plain);
        Ok(())
    }

    pub(super) fn scan_quoted_scalar(&mut self) -> Result<(), Fault> {
        let mark = self.mark();
        let quote = self.at(0);
        let style =
            if quote == b'"' { ScalarStyle::DoubleQuoted } else { ScalarStyle::SingleQuoted };
        self.position += 1;
        if let Some(end) = self.simple_quoted_end(quote) {
            let value = Cow::Borrowed(&self.text[self.position..end]);
            self.skip_to(end);
            self.position += 1;
            self.push_scalar(mark, value, style);
            return Ok(());
        }
        let mut out = String::new();
        let mut fold = Fold::default();
        loop {
            if self.column() == 0
                && (self.document_indicator(b'-') || self.document_indicator(b'.'))
            {
                return Err(self.fault(mark, "found unexpected document indicator"));
            }
            if self.is_end(0) {
                return Err(self.fault(mark, "found unexpected end of stream"));
            }
            self.scan_quoted_run(quote, mark, &mut out, &mut fold)?;
            if self.at(0) == quote {
                break;
            }
            let blanks = self.position;
            self.scan_fold(&mut fold, None)?;
            if fold.active {
                fold.join(&mut out);
            } else {
                out.push_str(&self.text[blanks..self.position]);
            }
        }
        self.position += 1;
        self.push_scalar(mark, Cow::Owned(out), style);
        Ok(())
    }

    /// The closing quote of a scalar that has neither escapes nor line breaks.
    fn simple_quoted_end(&self, quote: u8) -> Option<usize> {
        let mut end = self.position;
        loop {
            match *self.bytes.get(end)? {
                byte if byte == quote => break,
                b'\n' | b'\r' | b'\\' => return None,
                0xC2 | 0xE2 if self.break_width_at(end) > 0 => return None,
                _ => end += 1,
            }
        }
        let doubled = quote == b'\'' && self.bytes.get(end + 1) == Some(&b'\'');
        (!doubled).then_some(end)
    }

    /// Reads text up to a blank, a break or the closing quote.
    fn scan_quoted_run(
        &mut self,
        quote: u8,
        mark: Mark,
        out: &mut String,
        fold: &mut Fold,
    ) -> Result<(), Fault> {
        let single = quote == b'\'';
        while !self.is_blank_break_or_end(0) {
            if single && self.at(0) == b'\'' && self.at(1) == b'\'' {
                out.push('\'');
                self.position += 2;
            } else if self.at(0) == quote {
                break;
            } else if !single && self.at(0) == b'\\' && self.is_break(1) {
                self.position += 1;
                self.skip_line();
                fold.active = true;
                break;
            } else if !single && self.at(0) == b'\\' {
                self.scan_escape(mark, out)?;
            } else {
                let start = self.position;
                self.skip();
                out.push_str(&self.text[start..self.position]);
            }
        }
        Ok(())
    }

    fn scan_escape(&mut self, mark: Mark, out: &mut String) -> Result<(), Fault> {
        let digits = match self.at(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            simple => {
                let Some(character) = simple_escape(simple) else {
                    return Err(self.fault(mark, "found unknown escape character"));
                };
                out.push(character);
                self.position += 2;
                return Ok(());
            }
        };
        self.position += 2;
        let mut value: u32 = 0;
        for offset in 0..digits {
            let Some(digit) = char::from(self.at(offset)).to_digit(16) else {
                return Err(self.fault(mark, "did not find expected hexdecimal number"));
            };
            value = (value << 4) | digit;
        }
        let Some(character) = char::from_u32(value) else {
            return Err(self.fault(mark, "found invalid Unicode character escape code"));
        };
        out.push(character);
        self.position += digits;
        Ok(())
    }

    pub(super) fn scan_block_scalar(&mut self) -> Result<(), Fault> {
        let mark = self.mark();
        let literal = self.at(0) == b'|';
        self.position += 1;
        let (chomp, increment) = self.scan_block_header(mark)?;
        self.skip_blanks();
        if self.dialect == Dialect::V3 {
            self.scan_line_comment(mark);
        }
        self.skip_comment();
        if !self.is_break_or_end(0) {
            return Err(self.fault(mark, "did not find expected comment or line break"));
        }
        self.skip_line();

        let parent = usize::try_from(self.indent).unwrap_or(0);
        let mut indent = increment.map_or(0, |increment| parent + increment);
        let mut out = String::new();
        let mut first_break = String::new();
        let mut breaks = String::new();
        self.scan_block_breaks(&mut indent, &mut breaks, mark)?;
        let mut was_blank = false;
        while self.column() == indent && !self.is_end(0) {
            let blank = self.is_blank(0);
            if !literal && !was_blank && !blank && first_break.starts_with('\n') {
                if breaks.is_empty() {
                    out.push(' ');
                }
            } else {
                out.push_str(&first_break);
            }
            first_break.clear();
            out.push_str(&breaks);
            breaks.clear();
            was_blank = blank;
            let end = self.line_end();
            out.push_str(&self.text[self.position..end]);
            self.skip_to(end);
            self.read_line(&mut first_break);
            self.scan_block_breaks(&mut indent, &mut breaks, mark)?;
        }
        if chomp != Some(b'-') {
            out.push_str(&first_break);
        }
        if chomp == Some(b'+') {
            out.push_str(&breaks);
        }
        let style = if literal { ScalarStyle::Literal } else { ScalarStyle::Folded };
        self.push_scalar(mark, Cow::Owned(out), style);
        Ok(())
    }

    /// Reads the chomping and indentation indicators, which come in either order.
    fn scan_block_header(&mut self, mark: Mark) -> Result<(Option<u8>, Option<usize>), Fault> {
        let mut chomp = None;
        let mut increment = None;
        loop {
            match self.at(0) {
                sign @ (b'+' | b'-') if chomp.is_none() => chomp = Some(sign),
                b'0' if increment.is_none() => {
                    return Err(self.fault(mark, "found an indentation indicator equal to 0"));
                }
                digit @ b'1'..=b'9' if increment.is_none() => {
                    increment = Some(usize::from(digit - b'0'));
                }
                _ => return Ok((chomp, increment)),
            }
            self.position += 1;
        }
    }

    /// Steps over indentation and empty lines; finds the indentation if it is not known yet.
    fn scan_block_breaks(
        &mut self,
        indent: &mut usize,
        breaks: &mut String,
        mark: Mark,
    ) -> Result<(), Fault> {
        let mut deepest = 0;
        loop {
            while (*indent == 0 || self.column() < *indent) && self.at(0) == b' ' {
                self.position += 1;
            }
            deepest = deepest.max(self.column());
            if (*indent == 0 || self.column() < *indent) && self.at(0) == b'\t' {
                let problem = "found a tab character where an indentation space is expected";
                return Err(self.fault(mark, problem));
            }
            if !self.is_break(0) {
                break;
            }
            self.read_line(breaks);
        }
        if *indent == 0 {
            let least = usize::try_from(self.indent + 1).unwrap_or(0).max(1);
            *indent = deepest.max(least);
        }
        Ok(())
    }
}

fn simple_escape(letter: u8) -> Option<char> {
    Some(match letter {
        b'0' => '\0',
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\u{B}',
        b'f' => '\u{C}',
        b'r' => '\r',
        b'e' => '\u{1B}',
        b' ' => ' ',
        b'"' => '"',
        b'\'' => '\'',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{A0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}
