//! Patterns in Go's syntax of regular expressions, for the `regex` crate.
//!
//! Both are RE2's, but not to the letter: here classes such as `\d` are ASCII, `[` in a class is itself, a
//! `{` that counts nothing too, `\Q…\E` quotes, and what only the crate knows is refused.

use std::fmt::Write as _;

use regex::Regex;

use crate::failure::{Failure, Result};

/// The most that Go lets a pattern repeat.
const MAX_REPEAT: u32 = 1000;

/// The pattern, as `regexp.Compile` takes it.
pub(crate) fn compile(pattern: &str) -> Result<Regex> {
    let wrong = |why: String| {
        Failure::new(format!("error parsing regexp: {why}"))
            .hint("the pattern is a regular expression in Go's (RE2) syntax")
    };
    let mut translation = Translation { rest: pattern, out: String::new(), last: Last::Nothing };
    translation.run().map_err(wrong)?;
    Regex::new(&translation.out).map_err(|_| wrong(format!("invalid pattern: `{pattern}`")))
}

/// What the piece before was, which decides what a repetition means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Piece,
    Repetition,
    LazyRepetition,
}

struct Translation<'p> {
    /// What is not carried over yet.
    rest: &'p str,
    out: String,
    last: Last,
}

impl<'p> Translation<'p> {
    fn run(&mut self) -> std::result::Result<(), String> {
        while let Some(letter) = self.rest.chars().next() {
            match letter {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.group()?,
                '*' | '+' | '?' => self.repetition(1)?,
                '{' => match repetition_length(self.rest)? {
                    Some(length) => self.repetition(length)?,
                    None => self.literal("\\{", 1),
                },
                '|' => {
                    self.take(1);
                    self.last = Last::Nothing;
                }
                ')' => {
                    self.take(1);
                    self.last = Last::Piece;
                }
                letter => {
                    self.take(letter.len_utf8());
                    self.last = Last::Piece;
                }
            }
        }
        Ok(())
    }

    /// Carries a piece of the pattern over as it is.
    fn take(&mut self, length: usize) {
        let (piece, rest) = self.rest.split_at(length);
        self.out.push_str(piece);
        self.rest = rest;
    }

    /// Puts something else in the place of a piece of the pattern.
    fn literal(&mut self, by: &str, length: usize) {
        self.out.push_str(by);
        self.rest = self.rest.get(length..).unwrap_or_default();
        self.last = Last::Piece;
    }

    fn repetition(&mut self, length: usize) -> std::result::Result<(), String> {
        let operator = self.rest.get(..length).unwrap_or_default().to_owned();
        match self.last {
            Last::Nothing => {
                return Err(format!("missing argument to repetition operator: `{operator}`"));
            }
            Last::Repetition if operator == "?" => self.last = Last::LazyRepetition,
            Last::Repetition | Last::LazyRepetition => {
                return Err(format!("invalid nested repetition operator: `{operator}`"));
            }
            Last::Piece => self.last = Last::Repetition,
        }
        self.take(length);
        Ok(())
    }

    /// `(`, `(?flags)`, `(?flags:`, `(?P<name>` and `(?<name>`.
    fn group(&mut self) -> std::result::Result<(), String> {
        let Some(inner) = self.rest.strip_prefix("(?") else {
            self.take(1);
            self.last = Last::Nothing;
            return Ok(());
        };
        if inner.starts_with("P<") || inner.starts_with('<') {
            let end = inner.find('>').map_or(self.rest.len(), |end| end + 3);
            let name = inner.trim_start_matches(['P', '<']).split('>').next().unwrap_or_default();
            let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            if name.is_empty() || !name.chars().all(is_word) {
                return Err(format!("invalid named capture: `{}`", &self.rest[..end]));
            }
            // Go lets a name start with a digit; nothing asks for names here.
            self.literal("(", end);
            self.last = Last::Nothing;
            return Ok(());
        }
        let end = inner.find([':', ')']).ok_or("missing closing )")?;
        if !inner[..end].chars().all(|letter| "imsU-".contains(letter)) {
            return Err(format!("invalid or unsupported Perl syntax: `(?{}`", &inner[..end]));
        }
        self.take(end + 3);
        // Neither flags nor the start of a group could be repeated.
        self.last = Last::Nothing;
        Ok(())
    }

    fn escape(&mut self, in_class: bool) -> std::result::Result<(), String> {
        let mut letters = self.rest.chars();
        letters.next();
        let Some(letter) = letters.next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let unknown = || Err(format!("invalid escape sequence: `\\{letter}`"));
        let brackets = |class: &str| if in_class { class.to_owned() } else { format!("[{class}]") };
        match letter {
            'd' => self.literal(&brackets("0-9"), 2),
            'w' => self.literal(&brackets("0-9A-Za-z_"), 2),
            's' => self.literal(&brackets("\\t\\n\\x0C\\r\\x20"), 2),
            'D' => self.literal("[^0-9]", 2),
            'W' => self.literal("[^0-9A-Za-z_]", 2),
            'S' => self.literal("[^\\t\\n\\x0C\\r\\x20]", 2),
            'b' | 'B' if !in_class => self.literal(&format!("(?-u:\\{letter})"), 2),
            'Q' if !in_class => {
                let quoted = self.rest[2..].split("\\E").next().unwrap_or_default();
                let length = (2 + quoted.len() + 2).min(self.rest.len());
                let quoted = regex::escape(quoted);
                self.literal(&quoted, length);
            }
            'A' | 'z' if !in_class => {
                let rest = self.rest;
                self.literal(&rest[..2], 2);
            }
            'p' | 'P' => {
                let length = match letters.next() {
                    Some('{') => self.rest.find('}').map(|end| end + 1),
                    Some(one) => Some(2 + one.len_utf8()),
                    None => None,
                };
                let Some(length) = length else {
                    return Err(format!("invalid character class range: `{}`", self.rest));
                };
                let rest = self.rest;
                self.literal(&rest[..length], length);
            }
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => {
                let rest = self.rest;
                self.literal(&rest[..2], 2);
            }
            'x' => {
                let length = match letters.next() {
                    Some('{') => self.rest.find('}').map_or(self.rest.len(), |end| end + 1),
                    _ => self.rest.len().min(4),
                };
                let rest: &'p str = self.rest;
                let Some(code) = rest.get(..length) else { return unknown() };
                self.literal(code, length);
            }
            '0'..='7' => {
                let digits = self.rest[1..].bytes().take(3);
                let digits = digits.take_while(|digit| (b'0'..=b'7').contains(digit)).count();
                if letter != '0' && digits == 1 {
                    return unknown();
                }
                let code = u32::from_str_radix(&self.rest[1..=digits], 8).unwrap_or_default();
                let mut made = String::new();
                let _ = write!(made, "\\x{{{code:X}}}");
                self.literal(&made, 1 + digits);
            }
            letter if letter.is_ascii() && !letter.is_ascii_alphanumeric() => {
                self.literal(&format!("\\x{{{:X}}}", u32::from(letter)), 2);
            }
            _ => return unknown(),
        }
        Ok(())
    }

    /// `[…]`: only escapes, ranges and `[:names:]` mean something in it.
    fn class(&mut self) -> std::result::Result<(), String> {
        let all = self.rest;
        let missing = || format!("missing closing ]: `{all}`");
        self.take(1);
        if self.rest.starts_with('^') {
            self.take(1);
        }
        let mut is_first = true;
        loop {
            let letter = self.rest.chars().next().ok_or_else(missing)?;
            match letter {
                ']' if !is_first => {
                    self.take(1);
                    self.last = Last::Piece;
                    return Ok(());
                }
                '\\' => self.escape(true)?,
                '[' => {
                    let name = self.rest.strip_prefix("[:").and_then(|rest| rest.find(":]"));
                    match name {
                        Some(end) => self.take(end + 4),
                        None => self.literal("\\[", 1),
                    }
                }
                // Doubled, these are operators of the crate's.
                ']' | '&' | '~' | '^' => self.literal(&format!("\\{letter}"), 1),
                '-' => {
                    let is_range = !is_first && !self.rest.starts_with("-]");
                    self.literal(if is_range { "-" } else { "\\-" }, 1);
                }
                letter => self.take(letter.len_utf8()),
            }
            is_first = false;
        }
    }
}

/// How long `{n}`, `{n,}` or `{n,m}` is; anything else after a brace is text.
fn repetition_length(text: &str) -> std::result::Result<Option<usize>, String> {
    let Some(end) = text.find('}') else { return Ok(None) };
    let inner = &text[1..end];
    let number = |text: &str| {
        let plain = !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text.len() == 1 || !text.starts_with('0'));
        plain.then(|| text.parse::<u32>().unwrap_or(u32::MAX))
    };
    let (least, most) = inner.split_once(',').unwrap_or((inner, inner));
    let Some(least) = number(least) else { return Ok(None) };
    let most = match most {
        "" => least,
        most => match number(most) {
            Some(most) => most,
            None => return Ok(None),
        },
    };
    if least > MAX_REPEAT || most > MAX_REPEAT || least > most {
        return Err(format!("invalid repeat count: `{{{inner}}}`"));
    }
    Ok(Some(end + 1))
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let cases = [
            (r"^\d+$", "12", true),
            (r"^\d$", "٣", false),
            (r"^[a[]$", "[", true),
            (r"^[a&&b]$", "&", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^a{2}$", "aa", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^\101$", "A", true),
            (r"^a\_b\<$", "a_b<", true),
            (r"^[\w-]+$", "a-b", true),
            (r"^(?P<x>a|b)+?$", "ab", true),
            (r"^(?i)A$", "a", true),
            (r"^[[:alpha:]]$", "a", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(compile(pattern).unwrap().is_match(text), expected, "{pattern} {text}");
        }
        for pattern in [
            "*", "a**", "(", ")", "[a", r"\1", r"\q", "a{2}{3}", "(?x)a", "a{1001}", "a{2,1}",
            "(?=a)", r"a\", "+a", "(*)", "|*", r"\u{61}", "[b-a]",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
