//! Scalars: the allowed styles of a string, and how each is written.

use super::writer::Writer;
use crate::Dialect;
use crate::token::ScalarStyle;

/// Which styles can hold a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Analysis {
    pub(super) multiline: bool,
    flow_plain: bool,
    block_plain: bool,
    single_quoted: bool,
    block: bool,
}

fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether libyaml takes the character for printable; it knows none beyond 16 bits.
fn is_printable(character: char) -> bool {
    matches!(character,
        '\n' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FEFE}' | '\u{FF00}'..='\u{FFFD}')
}

impl Analysis {
    pub(super) fn of(text: &str, dialect: Dialect) -> Self {
        if text.is_empty() {
            return Self {
                multiline: false,
                flow_plain: false,
                block_plain: true,
                single_quoted: true,
                block: false,
            };
        }
        let document_marker = text.starts_with("---") || text.starts_with("...");
        let (mut block_indicators, mut flow_indicators) = (document_marker, document_marker);
        let (mut line_breaks, mut special, mut tabs) = (false, false, false);
        let (mut break_space, mut space_break) = (false, false);
        let (mut after_space, mut after_break) = (false, false);
        let mut after_white = true;
        let mut characters = text.chars().peekable();
        let mut first = true;
        while let Some(character) = characters.next() {
            let before_white = matches!(characters.peek(), None | Some(' ' | '\t'));
            match character {
                ',' | '[' | ']' | '{' | '}' => {
                    flow_indicators = true;
                    block_indicators |= first;
                }
                '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' if first => {
                    flow_indicators = true;
                    block_indicators = true;
                }
                '#' if first || after_white => {
                    flow_indicators = true;
                    block_indicators = true;
                }
                '?' if !first => flow_indicators = true,
                '?' | ':' => {
                    flow_indicators = true;
                    block_indicators |= before_white;
                }
                '-' if first && before_white => {
                    flow_indicators = true;
                    block_indicators = true;
                }
                _ => {}
            }
            if character == '\t' && dialect == Dialect::V3 {
                tabs = true;
            } else if !is_printable(character) {
                special = true;
            }
            if character == ' ' {
                break_space |= after_break;
                (after_space, after_break) = (true, false);
            } else if is_break(character) {
                line_breaks = true;
                space_break |= after_space;
                (after_space, after_break) = (false, true);
            } else {
                (after_space, after_break) = (false, false);
            }
            after_white = matches!(character, ' ' | '\t') || is_break(character);
            first = false;
        }
        let leads = text.starts_with(|first| first == ' ' || is_break(first));
        let trails = text.ends_with(|last| last == ' ' || is_break(last));
        let plain =
            !(leads || trails || break_space || space_break || tabs || special || line_breaks);
        Self {
            multiline: line_breaks,
            flow_plain: plain && !flow_indicators,
            block_plain: plain && !block_indicators,
            single_quoted: !(break_space || space_break || tabs || special),
            block: !(text.ends_with(' ') || space_break || special),
        }
    }
}

impl Writer {
    /// The style that is used where `wanted` is asked for.
    pub(super) fn select_style(
        &self,
        wanted: ScalarStyle,
        text: &str,
        analysis: Analysis,
        simple_key: bool,
    ) -> ScalarStyle {
        let in_flow = self.flow_level > 0;
        let mut style = wanted;
        if simple_key && analysis.multiline {
            style = ScalarStyle::DoubleQuoted;
        }
        if style == ScalarStyle::Plain {
            let allowed = if in_flow { analysis.flow_plain } else { analysis.block_plain };
            if !allowed || (text.is_empty() && (in_flow || simple_key)) {
                style = ScalarStyle::SingleQuoted;
            }
        }
        if style == ScalarStyle::SingleQuoted && !analysis.single_quoted {
            style = ScalarStyle::DoubleQuoted;
        }
        if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
            && (!analysis.block || in_flow || simple_key)
        {
            style = ScalarStyle::DoubleQuoted;
        }
        style
    }

    /// Writes `text` in `style`; a simple key is never broken over lines.
    pub(super) fn write_scalar(&mut self, text: &str, style: ScalarStyle, simple_key: bool) {
        match style {
            ScalarStyle::Plain => self.write_plain(text, !simple_key),
            ScalarStyle::SingleQuoted => self.write_single_quoted(text, !simple_key),
            ScalarStyle::DoubleQuoted => self.write_double_quoted(text, !simple_key),
            ScalarStyle::Literal => self.write_literal(text),
            ScalarStyle::Folded => self.write_folded(text),
        }
    }

    fn write_plain(&mut self, text: &str, may_break: bool) {
        if text.is_empty() && self.dialect == Dialect::V3 {
            self.indention = false;
            return;
        }
        if !self.whitespace {
            self.put(' ');
        }
        self.write_breakable(text, may_break, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn write_single_quoted(&mut self, text: &str, may_break: bool) {
        self.write_indicator("'", true);
        self.write_breakable(text, may_break, true);
        self.write_indicator("'", false);
        self.whitespace = false;
        self.indention = false;
    }

    /// The body of a plain or single-quoted scalar: long lines broken, line breaks doubled.
    fn write_breakable(&mut self, text: &str, may_break: bool, single_quoted: bool) {
        let mut spaces = false;
        let mut breaks = false;
        let mut characters = text.char_indices().peekable();
        while let Some((index, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if character == ' ' {
                let inside = !single_quoted || (index > 0 && next.is_some());
                if may_break && !spaces && self.is_too_wide() && inside && next != Some(' ') {
                    self.write_indent();
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else if is_break(character) {
                if !breaks && character == '\n' {
                    self.put_break();
                }
                self.write_break(character);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                if single_quoted && character == '\'' {
                    self.put('\'');
                }
                self.put(character);
                self.indention = false;
                spaces = false;
                breaks = false;
            }
        }
    }

    fn write_double_quoted(&mut self, text: &str, may_break: bool) {
        self.write_indicator("\"", true);
        // libyaml's port looks for the byte order mark at the start of the text for every character.
        let escape_all = text.starts_with('\u{FEFF}');
        let mut spaces = false;
        let mut characters = text.char_indices().peekable();
        while let Some((index, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if escape_all
                || !is_printable(character)
                || is_break(character)
                || matches!(character, '"' | '\\')
            {
                self.write_escape(character);
                spaces = false;
            } else if character == ' ' {
                if may_break && !spaces && self.is_too_wide() && index > 0 && next.is_some() {
                    self.write_indent();
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else {
                self.put(character);
                spaces = false;
            }
        }
        self.write_indicator("\"", false);
        self.whitespace = false;
        self.indention = false;
    }

    fn write_escape(&mut self, character: char) {
        self.put('\\');
        let letter = match character {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{B}' => 'v',
            '\u{C}' => 'f',
            '\r' => 'r',
            '\u{1B}' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{A0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            other => {
                let value = u32::from(other);
                let text = match value {
                    0..=0xFF => format!("x{value:02X}"),
                    0x100..=0xFFFF => format!("u{value:04X}"),
                    _ => format!("U{value:08X}"),
                };
                self.put_ascii(&text);
                return;
            }
        };
        self.put(letter);
    }

    /// Writes the indentation and chomping indicators of a block scalar.
    pub(super) fn write_block_hints(&mut self, text: &str) {
        if text.starts_with(|first| first == ' ' || is_break(first)) {
            self.write_indicator(&self.step.to_string(), false);
        }
        let mut backwards = text.chars().rev();
        match (backwards.next(), backwards.next()) {
            (None, _) => self.write_indicator("-", false),
            (Some(last), _) if !is_break(last) => self.write_indicator("-", false),
            (Some(_), None) => self.write_indicator("+", false),
            (Some(_), Some(before)) if is_break(before) => self.write_indicator("+", false),
            _ => {}
        }
    }

    fn write_literal(&mut self, text: &str) {
        self.write_indicator("|", true);
        self.write_block_hints(text);
        self.end_block_header();
        let mut breaks = true;
        for character in text.chars() {
            if is_break(character) {
                self.write_break(character);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                self.put(character);
                self.indention = false;
                breaks = false;
            }
        }
    }

    fn write_folded(&mut self, text: &str) {
        self.write_indicator(">", true);
        self.write_block_hints(text);
        self.end_block_header();
        let mut breaks = true;
        let mut leading_spaces = true;
        // libyaml checks the start of the text where it means the current break; so does go-yaml.
        let after_breaks = text.trim_start_matches(is_break).chars().next();
        let starts_dark =
            after_breaks.is_some_and(|first| !matches!(first, ' ' | '\t') && !is_break(first));
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            if is_break(character) {
                if !breaks && !leading_spaces && character == '\n' && starts_dark {
                    self.put_break();
                }
                self.write_break(character);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                    leading_spaces = matches!(character, ' ' | '\t');
                }
                if !breaks
                    && character == ' '
                    && characters.peek() != Some(&' ')
                    && self.is_too_wide()
                {
                    self.write_indent();
                } else {
                    self.put(character);
                }
                self.indention = false;
                breaks = false;
            }
        }
    }

    /// Ends the line of `|` or `>`.
    fn end_block_header(&mut self) {
        if !self.write_line_comment() {
            self.put_break();
        }
        self.indention = true;
        self.whitespace = true;
    }
}
