//! Pending comments of the emitter.

use super::writer::Writer;

fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

impl Writer {
    /// Writes the waiting tail of the field before, and the waiting head comment.
    pub(super) fn write_head_comment(&mut self) {
        if !self.tail.is_empty() {
            let tail = std::mem::take(&mut self.tail);
            self.write_indent();
            self.write_comment(&tail);
            self.foot_indent = self.indent.max(0);
        }
        if !self.comments.head.is_empty() {
            let head = std::mem::take(&mut self.comments.head);
            self.write_indent();
            self.write_comment(&head);
        }
    }

    /// Writes the waiting line comment; false when none waits.
    pub(super) fn write_line_comment(&mut self) -> bool {
        if self.comments.line.is_empty() {
            return false;
        }
        let line = std::mem::take(&mut self.comments.line);
        if !self.whitespace {
            self.put(' ');
        }
        self.write_comment(&line);
        true
    }

    /// Writes the waiting foot comment; an empty line follows it where it could be taken for a head.
    pub(super) fn write_foot_comment(&mut self) {
        if self.comments.foot.is_empty() {
            return;
        }
        let foot = std::mem::take(&mut self.comments.foot);
        self.write_indent();
        self.write_comment(&foot);
        self.foot_indent = self.indent.max(0);
    }

    fn write_comment(&mut self, text: &str) {
        let mut breaks = false;
        let mut pound = false;
        for character in text.chars() {
            if is_break(character) {
                self.write_break(character);
                breaks = true;
                pound = false;
                continue;
            }
            if breaks {
                self.write_indent();
            }
            if !pound {
                if character != '#' {
                    self.put_ascii("# ");
                }
                pound = true;
            }
            self.put(character);
            self.indention = false;
            breaks = false;
        }
        if !breaks {
            self.put_break();
        }
        self.whitespace = true;
    }

    /// Writes a tag's suffix, with everything escaped that a URI cannot hold.
    pub(super) fn write_tag_content(&mut self, text: &str) {
        for byte in text.bytes() {
            if byte.is_ascii_alphanumeric() || b"_-;/?:@&=+$,.~*'()[]".contains(&byte) {
                self.put(char::from(byte));
            } else {
                self.put_ascii(&format!("%{byte:02X}"));
            }
        }
        self.whitespace = false;
        self.indention = false;
    }
}
