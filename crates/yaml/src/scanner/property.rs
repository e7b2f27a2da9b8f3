//! Anchors, aliases, tags and directives.

use std::borrow::Cow;

use super::{Fault, Scanner};
use crate::token::{Mark, TokenKind};

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_uri(byte: u8) -> bool {
    is_word(byte) || b";/?:@&=+$,.!~*'()[]%".contains(&byte)
}

impl<'a> Scanner<'a> {
    fn read_word(&mut self) -> &'a str {
        let start = self.position;
        while is_word(self.at(0)) {
            self.position += 1;
        }
        &self.text[start..self.position]
    }

    pub(super) fn scan_anchor(&mut self) -> Result<(), Fault> {
        let mark = self.mark();
        let is_alias = self.at(0) == b'*';
        self.position += 1;
        let name = self.read_word();
        let ends_well = self.is_blank_break_or_end(0)
            || matches!(self.at(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ends_well {
            let problem = "did not find expected alphabetic or numeric character";
            return Err(self.fault(mark, problem));
        }
        self.push(mark, if is_alias { TokenKind::Alias(name) } else { TokenKind::Anchor(name) });
        Ok(())
    }

    pub(super) fn scan_tag(&mut self) -> Result<(), Fault> {
        let mark = self.mark();
        let (handle, suffix);
        if self.at(1) == b'<' {
            self.position += 2;
            handle = "";
            suffix = self.scan_tag_uri("", mark)?;
            if self.at(0) != b'>' {
                return Err(self.fault(mark, "did not find the expected '>'"));
            }
            self.position += 1;
        } else {
            let head = self.scan_tag_handle(false, mark)?;
            if head.len() > 1 && head.ends_with('!') {
                handle = head;
                suffix = self.scan_tag_uri("", mark)?;
            } else {
                let rest = self.scan_tag_uri(head, mark)?;
                // A lone `!` is a tag of its own, not a handle.
                (handle, suffix) =
                    if rest.is_empty() { ("", Cow::Borrowed("!")) } else { ("!", rest) };
            }
        }
        if !self.is_blank_break_or_end(0) {
            return Err(self.fault(mark, "did not find expected whitespace or line break"));
        }
        self.push(mark, TokenKind::Tag { handle, suffix });
        Ok(())
    }

    fn scan_tag_handle(&mut self, directive: bool, mark: Mark) -> Result<&'a str, Fault> {
        if self.at(0) != b'!' {
            return Err(self.fault(mark, "did not find expected '!'"));
        }
        let start = self.position;
        self.position += 1;
        self.read_word();
        if self.at(0) == b'!' {
            self.position += 1;
        } else if directive && self.position > start + 1 {
            return Err(self.fault(mark, "did not find expected '!'"));
        }
        Ok(&self.text[start..self.position])
    }

    /// Reads a tag's URI; `head` is what was read as a handle and turned out to be its start.
    fn scan_tag_uri(&mut self, head: &'a str, mark: Mark) -> Result<Cow<'a, str>, Fault> {
        let head_text = head.strip_prefix('!').unwrap_or(head);
        let start = self.position - head_text.len();
        let mut escaped: Option<Vec<u8>> = None;
        while is_uri(self.at(0)) {
            if self.at(0) == b'%' {
                let so_far = &self.bytes[start..self.position];
                let mut out = escaped.take().unwrap_or_else(|| so_far.to_vec());
                self.scan_uri_escapes(&mut out, mark)?;
                escaped = Some(out);
            } else {
                if let Some(out) = &mut escaped {
                    out.push(self.bytes[self.position]);
                }
                self.position += 1;
            }
        }
        if head.is_empty() && self.position == start {
            return Err(self.fault(mark, "did not find expected tag URI"));
        }
        Ok(match escaped {
            None => Cow::Borrowed(&self.text[start..self.position]),
            Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }

    /// Reads the `%XX` of one character.
    fn scan_uri_escapes(&mut self, out: &mut Vec<u8>, mark: Mark) -> Result<(), Fault> {
        let mut left = None;
        while left != Some(0) {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let (Some(high), Some(low), b'%') = (digit(self.at(1)), digit(self.at(2)), self.at(0))
            else {
                return Err(self.fault(mark, "did not find URI escaped octet"));
            };
            let octet = u8::try_from(high * 16 + low).unwrap_or_default();
            left = Some(match left {
                None => match octet {
                    0..=0x7F => 0,
                    0xC0..=0xDF => 1,
                    0xE0..=0xEF => 2,
                    0xF0..=0xF7 => 3,
                    _ => {
                        return Err(self.fault(mark, "found an incorrect leading UTF-8 octet"));
                    }
                },
                Some(_) if octet & 0xC0 != 0x80 => {
                    return Err(self.fault(mark, "found an incorrect trailing UTF-8 octet"));
                }
                Some(left) => left - 1,
            });
            out.push(octet);
            self.position += 3;
        }
        Ok(())
    }

    pub(super) fn scan_directive(&mut self) -> Result<(), Fault> {
        let mark = self.mark();
        self.position += 1;
        let name = self.read_word();
        if name.is_empty() {
            return Err(self.fault(mark, "could not find expected directive name"));
        }
        if !self.is_blank_break_or_end(0) {
            return Err(self.fault(mark, "found unexpected non-alphabetical character"));
        }
        let kind = match name {
            "YAML" => self.scan_version(mark)?,
            "TAG" => self.scan_tag_directive(mark)?,
            _ => return Err(self.fault(mark, "found unknown directive name")),
        };
        self.skip_blanks();
        self.skip_comment();
        if !self.is_break_or_end(0) {
            return Err(self.fault(mark, "did not find expected comment or line break"));
        }
        self.skip_line();
        self.push(mark, kind);
        Ok(())
    }

    fn scan_version(&mut self, mark: Mark) -> Result<TokenKind<'a>, Fault> {
        self.skip_blanks();
        let major = self.scan_version_number(mark)?;
        if self.at(0) != b'.' {
            return Err(self.fault(mark, "did not find expected digit or '.' character"));
        }
        self.position += 1;
        let minor = self.scan_version_number(mark)?;
        Ok(TokenKind::VersionDirective { major, minor })
    }

    fn scan_version_number(&mut self, mark: Mark) -> Result<u32, Fault> {
        let start = self.position;
        let mut value = 0;
        while self.at(0).is_ascii_digit() {
            if self.position - start == 2 {
                return Err(self.fault(mark, "found extremely long version number"));
            }
            value = value * 10 + u32::from(self.at(0) - b'0');
            self.position += 1;
        }
        if self.position == start {
            return Err(self.fault(mark, "did not find expected version number"));
        }
        Ok(value)
    }

    fn scan_tag_directive(&mut self, mark: Mark) -> Result<TokenKind<'a>, Fault> {
        self.skip_blanks();
        let handle = self.scan_tag_handle(true, mark)?;
        if !self.is_blank(0) {
            return Err(self.fault(mark, "did not find expected whitespace"));
        }
        self.skip_blanks();
        let prefix = self.scan_tag_uri("", mark)?;
        if !self.is_blank_break_or_end(0) {
            return Err(self.fault(mark, "did not find expected whitespace or line break"));
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }
}
