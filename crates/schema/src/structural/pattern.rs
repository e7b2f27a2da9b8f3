//! Go's regular expressions on Rust's engine.
//!
//! Both are RE2, with differences that schemas do meet: in Go `\d`, `\w`, `\s` and `\b` are ASCII,
//! a `{` that starts no repetition is a literal, and character classes know no nesting. The text is
//! rewritten accordingly; what Go refuses is refused with Go's words.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::CharIndices;

use regex::{Regex, RegexBuilder};

/// A pattern of a schema, compiled once.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    compiled: Result<Regex, String>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Pattern {
    /// Compiles `text`; a pattern that does not compile keeps its error.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: compile(text) }
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The compiled pattern, or why it does not compile, in Go's words.
    pub fn regex(&self) -> Result<&Regex, &str> {
        self.compiled.as_ref().map_err(String::as_str)
    }
}

/// Compiles a Go regular expression. The error is what Go's `regexp.Compile` says.
pub fn compile(text: &str) -> Result<Regex, String> {
    let rewritten = rewrite(text).map_err(|why| format!("error parsing regexp: {why}"))?;
    RegexBuilder::new(&rewritten)
        .size_limit(64 << 20)
        .build()
        .map_err(|_| format!("error parsing regexp: invalid or unsupported syntax: `{text}`"))
}

const DIGIT: &str = "0-9";
const SPACE: &str = "\\t\\n\\x0C\\r\\x20";
const WORD: &str = "0-9A-Za-z_";

struct Rewriter<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
    out: String,
    depth: usize,
}

/// Where an atom ended up, for the checks on repetition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Atom,
    Repeat(usize),
}

fn rewrite(text: &str) -> Result<String, String> {
    let mut rewriter =
        Rewriter { text, rest: text.char_indices().peekable(), out: String::new(), depth: 0 };
    rewriter.run()?;
    Ok(rewriter.out)
}

impl Rewriter<'_> {
    fn run(&mut self) -> Result<(), String> {
        let mut last = Last::Nothing;
        while let Some((index, character)) = self.rest.next() {
            last = match character {
                '\\' => self.escape(index)?,
                '[' => self.class(index)?,
                '(' => {
                    self.group(index)?;
                    Last::Nothing
                }
                ')' => {
                    if self.depth == 0 {
                        return Err(format!("unexpected ): `{}`", self.text));
                    }
                    self.depth -= 1;
                    self.out.push(')');
                    Last::Atom
                }
                '|' => {
                    self.out.push('|');
                    Last::Nothing
                }
                '*' | '+' | '?' => self.repeat(index, character, last)?,
                '{' => self.counted(index, last)?,
                other => {
                    self.out.push(other);
                    Last::Atom
                }
            };
        }
        if self.depth > 0 { Err(format!("missing closing ): `{}`", self.text)) } else { Ok(()) }
    }

    fn repeat(&mut self, index: usize, operator: char, last: Last) -> Result<Last, String> {
        let lazy = usize::from(self.rest.peek().is_some_and(|(_, next)| *next == '?'));
        self.check_repeat(index, index + 1, last, lazy == 1)?;
        self.out.push(operator);
        if lazy == 1 {
            self.rest.next();
            self.out.push('?');
        }
        Ok(Last::Repeat(index))
    }

    fn check_repeat(&self, from: usize, to: usize, last: Last, lazy: bool) -> Result<(), String> {
        let to = to + usize::from(lazy);
        match last {
            Last::Atom => Ok(()),
            Last::Nothing => {
                Err(format!("missing argument to repetition operator: `{}`", &self.text[from..to]))
            }
            Last::Repeat(start) => {
                Err(format!("invalid nested repetition operator: `{}`", &self.text[start..to]))
            }
        }
    }

    fn counted(&mut self, index: usize, last: Last) -> Result<Last, String> {
        let Some((low, high, length)) = parse_count(&self.text[index..]) else {
            self.out.push_str("\\{");
            return Ok(Last::Atom);
        };
        let end = index + length;
        let lazy = self.text[end..].starts_with('?');
        if low > 1000 || high.is_some_and(|high| high > 1000 || high < low) {
            return Err(format!("invalid repeat count: `{}`", &self.text[index..end]));
        }
        self.check_repeat(index, end, last, lazy)?;
        self.out.push_str(&self.text[index..end]);
        for _ in 1..length {
            self.rest.next();
        }
        if lazy {
            self.rest.next();
            self.out.push('?');
        }
        Ok(Last::Repeat(index))
    }

    fn group(&mut self, index: usize) -> Result<(), String> {
        let rest = &self.text[index..];
        self.depth += 1;
        if !rest.starts_with("(?") {
            self.out.push('(');
            return Ok(());
        }
        if rest.starts_with("(?P<") || rest.starts_with("(?<") {
            let start = rest.find('<').unwrap_or_default() + 1;
            let end = rest.find('>').unwrap_or(rest.len());
            let name = rest.get(start..end).unwrap_or_default();
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if end == rest.len() || name.is_empty() || !name.chars().all(word) {
                let shown = rest.get(..=end).unwrap_or(rest);
                return Err(format!("invalid named capture: `{shown}`"));
            }
            self.take(end);
            self.out.push_str(&rest[..=end]);
            return Ok(());
        }
        let body = &rest[2..];
        let flags =
            body.find(|c: char| !matches!(c, 'i' | 'm' | 's' | 'U' | '-')).unwrap_or(body.len());
        match body[flags..].chars().next() {
            Some(end @ (':' | ')')) if flags > 0 || end == ':' => {
                self.take(1 + flags + 1);
                self.out.push_str(&rest[..=2 + flags]);
                if end == ')' {
                    self.depth -= 1;
                }
                Ok(())
            }
            bad => {
                let end = 2 + flags + bad.map_or(0, char::len_utf8);
                Err(format!("invalid or unsupported Perl syntax: `{}`", &rest[..end]))
            }
        }
    }

    fn take(&mut self, characters: usize) {
        for _ in 0..characters {
            self.rest.next();
        }
    }

    /// After a backslash outside a class.
    fn escape(&mut self, index: usize) -> Result<Last, String> {
        let Some((_, character)) = self.rest.next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        match character {
            'd' => self.push_class("", DIGIT),
            'D' => self.push_class("^", DIGIT),
            's' => self.push_class("", SPACE),
            'S' => self.push_class("^", SPACE),
            'w' => self.push_class("", WORD),
            'W' => self.push_class("^", WORD),
            'b' => self.out.push_str("(?-u:\\b)"),
            'B' => self.out.push_str("(?-u:\\B)"),
            'A' | 'z' => {
                self.out.push('\\');
                self.out.push(character);
            }
            'Q' => {
                let rest = &self.text[index + 2..];
                let (literal, skipped) = match rest.find("\\E") {
                    Some(end) => (&rest[..end], end + 2),
                    None => (rest, rest.len()),
                };
                self.take(rest[..skipped].chars().count());
                self.out.push_str(&regex::escape(literal));
            }
            _ => self.literal_escape(index, character)?,
        }
        Ok(Last::Atom)
    }

    fn push_class(&mut self, not: &str, members: &str) {
        let _ = write!(self.out, "[{not}{members}]");
    }

    /// Escapes that mean one character or a Unicode class, in and outside classes.
    fn literal_escape(&mut self, index: usize, character: char) -> Result<(), String> {
        match character {
            'a' | 'f' | 't' | 'n' | 'r' | 'v' => {
                self.out.push('\\');
                self.out.push(character);
            }
            'p' | 'P' => {
                let rest = &self.text[index..];
                let length = match rest.as_bytes().get(2) {
                    Some(b'{') => rest.find('}').map_or(rest.len(), |end| end + 1),
                    _ => rest.char_indices().nth(3).map_or(rest.len(), |(end, _)| end),
                };
                let class = &rest[..length];
                if Regex::new(class).is_err() {
                    return Err(format!("invalid character class range: `{class}`"));
                }
                self.out.push_str(class);
                self.take(class.chars().count() - 2);
            }
            'x' => {
                let rest = &self.text[index + 2..];
                let (digits, length) = match rest.strip_prefix('{') {
                    Some(inner) => {
                        let end = inner.find('}').unwrap_or(inner.len());
                        (&inner[..end], end + 2)
                    }
                    None => (rest.get(..2).unwrap_or(""), 2),
                };
                let valid = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                let (Some(character), true) = (valid, length <= rest.len()) else {
                    return Err(format!(
                        "invalid escape sequence: `{}`",
                        &self.text[index..self.text.len().min(index + 3)]
                    ));
                };
                self.take(length);
                let _ = write!(self.out, "\\x{{{:x}}}", u32::from(character));
            }
            '0'..='7' => {
                let mut code = character.to_digit(8).unwrap_or_default();
                // A lone digit 1-7 is a back reference, which RE2 does not have.
                let octal = self.rest.peek().is_some_and(|(_, next)| matches!(next, '0'..='7'));
                if character != '0' && !octal {
                    return Err(format!("invalid escape sequence: `\\{character}`"));
                }
                for _ in 0..2 {
                    let Some(digit) = self.rest.peek().and_then(|(_, next)| next.to_digit(8))
                    else {
                        break;
                    };
                    code = code * 8 + digit;
                    self.rest.next();
                }
                let _ = write!(self.out, "\\x{{{code:x}}}");
            }
            punctuation if punctuation.is_ascii() && !punctuation.is_ascii_alphanumeric() => {
                let _ = write!(self.out, "\\x{{{:x}}}", u32::from(punctuation));
            }
            other => return Err(format!("invalid escape sequence: `\\{other}`")),
        }
        Ok(())
    }

    fn class(&mut self, index: usize) -> Result<Last, String> {
        let missing = || format!("missing closing ]: `{}`", &self.text[index..]);
        let missing = missing();
        self.out.push('[');
        if self.rest.next_if(|(_, next)| *next == '^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some((at, character)) = self.rest.next() else { return Err(missing) };
            match character {
                ']' if !first => {
                    self.out.push(']');
                    return Ok(Last::Atom);
                }
                '[' if self.text[at..].starts_with("[:") && self.text[at..].contains(":]") => {
                    let end = self.text[at..].find(":]").unwrap_or_default();
                    let class = &self.text[at..at + end + 2];
                    if !is_posix_class(class) {
                        return Err(format!("invalid character class range: `{class}`"));
                    }
                    self.out.push_str(class);
                    self.take(self.text[at + 1..at + end + 2].chars().count());
                }
                '\\' => self.class_escape(at)?,
                '-' => self.dash(at, first)?,
                ']' | '[' | '&' | '~' => {
                    self.out.push('\\');
                    self.out.push(character);
                }
                other => self.out.push(other),
            }
            first = false;
        }
    }

    /// A dash is a range between two members and a literal at either end.
    fn dash(&mut self, at: usize, first: bool) -> Result<(), String> {
        let before = self.text[..at].chars().next_back();
        let after = self.text[at + 1..].chars().next();
        let at_start = first || before == Some('^') && self.out.ends_with("[^");
        if at_start || after == Some(']') {
            self.out.push_str("\\-");
            return Ok(());
        }
        if let Some(class) = self.text[at + 1..].get(..2)
            && matches!(class, r"\d" | r"\D" | r"\s" | r"\S" | r"\w" | r"\W")
        {
            return Err(format!("invalid escape sequence: `{class}`"));
        }
        if let (Some(low), Some(high)) = (before, after)
            && high != '\\'
            && high != '['
            && !self.text[..at - low.len_utf8()].ends_with('\\')
            && low > high
        {
            return Err(format!("invalid character class range: `{low}-{high}`"));
        }
        self.out.push('-');
        Ok(())
    }

    fn class_escape(&mut self, index: usize) -> Result<(), String> {
        let Some((_, character)) = self.rest.next() else {
            return Err(format!("missing closing ]: `{}`", &self.text[index..]));
        };
        match character {
            'd' => self.out.push_str(DIGIT),
            's' => self.out.push_str(SPACE),
            'w' => self.out.push_str(WORD),
            'D' => self.push_class("^", DIGIT),
            'S' => self.push_class("^", SPACE),
            'W' => self.push_class("^", WORD),
            _ => self.literal_escape(index, character)?,
        }
        Ok(())
    }
}

/// `[:alpha:]` and the like.
fn is_posix_class(text: &str) -> bool {
    let name = text.trim_start_matches("[:").trim_start_matches('^').trim_end_matches(":]");
    matches!(
        name,
        "alnum"
            | "alpha"
            | "ascii"
            | "blank"
            | "cntrl"
            | "digit"
            | "graph"
            | "lower"
            | "print"
            | "punct"
            | "space"
            | "upper"
            | "word"
            | "xdigit"
    )
}

/// `{2}`, `{2,}` or `{2,5}` at the start of `text`: the bounds and the length.
fn parse_count(text: &str) -> Option<(u32, Option<u32>, usize)> {
    let end = text.find('}')?;
    let body = &text[1..end];
    let digits = |part: &str| -> Option<u32> {
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(part.parse().unwrap_or(u32::MAX))
    };
    match body.split_once(',') {
        None => digits(body).map(|count| (count, Some(count), end + 1)),
        Some((low, "")) => digits(low).map(|low| (low, None, end + 1)),
        Some((low, high)) => Some((digits(low)?, Some(digits(high)?), end + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perl_classes_are_ascii_and_braces_may_be_literal() {
        let cases = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "١٢", false),
            (r"^\w$", "é", false),
            (r"^[\w.-]+$", "a.b-c", true),
            (r"^[\d-x]+$", "1-x", true),
            (r"^\{[a-z]+}$", "{ab}", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^{$", "{", true),
            (r"^a{2,3}$", "aaa", true),
            (r"^[a[]$", "[", true),
            (r"^[^]a]$", "b", true),
            (r"^[[:alpha:]_]+$", "a_", true),
            (r"^[a&&b]+$", "&", true),
            (r"^\Qa.b\E+$", "a.bb", true),
            (r"(?i)^ABC$", "abc", true),
            (r"^(?:a|b)$", "b", true),
            (r"^(?P<n>x)$", "x", true),
            (r"\.", "a.b", true),
            (r"^\S+$", "a b", false),
            (r"^[-a-z0-9]+$", "-a", true),
            (r"\bfoo\b", "a foo b", true),
            (r"^\x41\x{42}$", "AB", true),
            (r"^[^-/]$", "-", false),
        ];
        for (pattern, text, expected) in cases {
            let regex = compile(pattern).unwrap_or_else(|why| panic!("{pattern}: {why}"));
            assert_eq!(regex.is_match(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn refusals_are_in_gos_words() {
        let cases = [
            ("(", "missing closing ): `(`"),
            ("a)", "unexpected ): `a)`"),
            ("[a", "missing closing ]: `[a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
            (r"\y", r"invalid escape sequence: `\y`"),
            (r"\1", r"invalid escape sequence: `\1`"),
            ("a{2,1}", "invalid repeat count: `{2,1}`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("a\\", "trailing backslash at end of expression: ``"),
        ];
        for (pattern, expected) in cases {
            let why = compile(pattern).expect_err(pattern);
            assert_eq!(why, format!("error parsing regexp: {expected}"));
        }
    }
}
