//! JSON text as a tree that keeps what Go's decoder sees: the order of keys, duplicate keys, and the text of numbers.
//! Syntax errors have Go's messages.

use serde_json::{Map, Number, Value};

/// Deeper nesting is refused; API objects stay far below, and the walkers recurse.
const MAX_DEPTH: usize = 256;

/// A JSON value as it was written.
#[derive(Debug, Clone, PartialEq)]
pub enum Document {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number's literal text.
    Number(String),
    /// A string, unescaped.
    Text(String),
    /// An array.
    List(Vec<Document>),
    /// An object; keys in the order of the text, possibly more than once.
    Object(Vec<(String, Document)>),
}

/// Why a text is not JSON, with the messages of Go's `encoding/json`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SyntaxError(String);

impl Document {
    /// Reads JSON text.
    pub fn parse(text: &[u8]) -> Result<Self, SyntaxError> {
        let mut reader = Reader { text, at: 0 };
        let document = reader.value(0)?;
        reader.skip_space();
        match reader.peek() {
            None => Ok(document),
            Some(byte) => Err(unexpected(byte, "after top-level value")),
        }
    }

    /// The value of a key, if this is an object; of duplicates the last one counts.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().rev().find(|(name, _)| name == key).map(|(_, member)| member)
            }
            _ => None,
        }
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value without order and duplicates; numbers are integers if Go would read them into an
    /// `int64`.
    pub fn into_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Number(literal) => number(&literal),
            Self::Text(text) => Value::String(text),
            Self::List(items) => Value::Array(items.into_iter().map(Self::into_value).collect()),
            Self::Object(members) => Value::Object(
                members
                    .into_iter()
                    .map(|(key, member)| (key, member.into_value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            // As Go would write it: a whole float has no decimals and fits an integer field.
            Value::Number(number) => {
                let mut literal = String::new();
                sluice_base::gojson::write_number(&mut literal, &number);
                Self::Number(literal)
            }
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(members) => {
                Self::Object(members.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
        }
    }
}

/// A number literal as Go reads it into an empty interface: `int64` where possible, else `float64`.
fn number(literal: &str) -> Value {
    match literal.parse::<i64>() {
        Ok(integer) => Value::from(integer),
        Err(_) => {
            literal.parse().ok().and_then(Number::from_f64).map_or(Value::Null, Value::Number)
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Inside a literal Go's scanner meets the end of the text as a space.
    fn peek_or_space(&self) -> u8 {
        self.peek().unwrap_or(b' ')
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The next byte that is no space, still unread.
    fn next_token(&mut self) -> Result<u8, SyntaxError> {
        self.skip_space();
        self.peek().ok_or_else(ended)
    }

    fn value(&mut self, depth: usize) -> Result<Document, SyntaxError> {
        if depth > MAX_DEPTH {
            return Err(SyntaxError("exceeded max depth".to_owned()));
        }
        match self.next_token()? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => Ok(Document::Text(self.text()?)),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word("true", Document::Bool(true)),
            b'f' => self.word("false", Document::Bool(false)),
            b'n' => self.word("null", Document::Null),
            other => Err(unexpected(other, "looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Document, SyntaxError> {
        self.at += 1;
        let mut members = Vec::new();
        if self.next_token()? == b'}' {
            self.at += 1;
            return Ok(Document::Object(members));
        }
        loop {
            match self.next_token()? {
                b'"' => {}
                other => {
                    return Err(unexpected(other, "looking for beginning of object key string"));
                }
            }
            let key = self.text()?;
            match self.next_token()? {
                b':' => self.at += 1,
                other => return Err(unexpected(other, "after object key")),
            }
            members.push((key, self.value(depth + 1)?));
            match self.next_token()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(Document::Object(members));
                }
                other => return Err(unexpected(other, "after object key:value pair")),
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Document, SyntaxError> {
        self.at += 1;
        let mut items = Vec::new();
        if self.next_token()? == b']' {
            self.at += 1;
            return Ok(Document::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            match self.next_token()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(Document::List(items));
                }
                other => return Err(unexpected(other, "after array element")),
            }
        }
    }

    fn word(&mut self, word: &str, document: Document) -> Result<Document, SyntaxError> {
        for expected in word.bytes() {
            let byte = self.peek_or_space();
            if byte != expected {
                let place = format!("in literal {word} (expecting {})", quote(u32::from(expected)));
                return Err(unexpected(byte, &place));
            }
            self.at += 1;
        }
        Ok(document)
    }

    fn number(&mut self) -> Result<Document, SyntaxError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits("in numeric literal")?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(Document::Number(String::from_utf8_lossy(&self.text[start..self.at]).into_owned()))
    }

    /// One digit or more.
    fn digits(&mut self, place: &str) -> Result<(), SyntaxError> {
        let first = self.peek_or_space();
        if !first.is_ascii_digit() {
            return Err(unexpected(first, place));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    /// A string; what is no UTF-8 becomes U+FFFD as in Go.
    fn text(&mut self) -> Result<String, SyntaxError> {
        self.at += 1;
        let mut out = String::new();
        let mut start = self.at;
        loop {
            match self.peek().ok_or_else(ended)? {
                b'"' => {
                    out.push_str(&String::from_utf8_lossy(&self.text[start..self.at]));
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => {
                    out.push_str(&String::from_utf8_lossy(&self.text[start..self.at]));
                    self.at += 1;
                    out.push(self.escape()?);
                    start = self.at;
                }
                control if control < 0x20 => {
                    return Err(unexpected(control, "in string literal"));
                }
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let byte = self.peek_or_space();
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                // A high surrogate joins a low one that follows; alone it is replaced.
                let after = self.at;
                if self.text.get(self.at..self.at + 2) == Some(b"\\u") {
                    self.at += 2;
                    let second = self.hex()?;
                    if (0xdc00..0xe000).contains(&second) {
                        let joined = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                        return Ok(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                }
                self.at = after;
                char::REPLACEMENT_CHARACTER
            }
            other => return Err(unexpected(other, "in string escape code")),
        })
    }

    fn hex(&mut self) -> Result<u32, SyntaxError> {
        let mut value = 0;
        for _ in 0..4 {
            let byte = self.peek_or_space();
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(unexpected(byte, "in \\u hexadecimal character escape"));
            };
            value = value * 16 + digit;
            self.at += 1;
        }
        Ok(value)
    }
}

fn unexpected(byte: u8, place: &str) -> SyntaxError {
    SyntaxError(format!("invalid character {} {place}", quote(u32::from(byte))))
}

fn ended() -> SyntaxError {
    SyntaxError("unexpected end of JSON input".to_owned())
}

/// A byte in single quotes as Go's scanner shows it.
fn quote(code: u32) -> String {
    match char::from_u32(code) {
        Some('\'') => "'\\''".to_owned(),
        Some('"') => "'\"'".to_owned(),
        Some(other) => {
            let quoted = sluice_base::go::quote(&other.to_string());
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
        None => "'\u{fffd}'".to_owned(),
    }
}
