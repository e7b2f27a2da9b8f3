//! The parser: texts, and substitutions whose arguments may hold substitutions.

use std::borrow::Cow;

use super::scan::{Accept, Escapes, Scanner, Token};
use super::{Dialect, Envsubst, EnvsubstError, MAX_DEPTH, letters};

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node<'t> {
    Text(Cow<'t, [u8]>),
    Call(Call<'t>),
}

/// A substitution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call<'t> {
    /// Where its `${` stands.
    pub(super) offset: usize,
    pub(super) name: Cow<'t, str>,
    pub(super) operator: Operator,
    pub(super) arguments: Vec<Node<'t>>,
}

/// What becomes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// Nothing; also what `^,` and `,^` do.
    Plain,
    Length,
    LowerFirst,
    Lower,
    UpperFirst,
    Upper,
    Substring,
    TrimShortestPrefix,
    TrimLongestPrefix,
    TrimShortestSuffix,
    TrimLongestSuffix,
    ReplaceFirst,
    ReplaceAll,
    ReplacePrefix,
    ReplaceSuffix,
    Default,
    /// `-`, which only [`Dialect::Exact`] has.
    DefaultIfUnset,
    /// `:?` and `:+`, which are defaults for upstream.
    Required,
    Alternative,
}

type Result<T> = std::result::Result<T, EnvsubstError>;

pub(super) fn parse(text: &[u8], dialect: Dialect) -> Result<Vec<Node<'_>>> {
    let mut parser = Parser { scanner: Scanner::new(text), depth: 0, dialect };
    let mut nodes = Vec::new();
    loop {
        match parser.scanner.word_or_open(|_, _| true, Escapes::Dollar) {
            Token::Word(text) => nodes.push(Node::Text(text)),
            Token::Open => nodes.push(parser.call()?),
            Token::End | Token::Other => return Ok(nodes),
        }
    }
}

struct Parser<'t> {
    scanner: Scanner<'t>,
    depth: usize,
    dialect: Dialect,
}

impl<'t> Parser<'t> {
    /// A substitution, after its `${`.
    fn call(&mut self) -> Result<Node<'t>> {
        let offset = self.scanner.offset() - 2;
        if self.depth == MAX_DEPTH {
            return Err(EnvsubstError { reason: Envsubst::TooDeep, offset });
        }
        self.depth += 1;
        // A failure inside an argument has named its own place already.
        let call = self.read(offset).map_err(|failure| match failure {
            Wrong::Here(reason) => EnvsubstError { reason, offset },
            Wrong::Inside(error) => error,
        });
        self.depth -= 1;
        call.map(Node::Call)
    }

    fn read(&mut self, offset: usize) -> std::result::Result<Call<'t>, Wrong> {
        if self.scanner.peek() == '#' {
            return Ok(self.length(offset)?);
        }
        let name = self.name().ok_or(Envsubst::VariableName)?;
        let (operator, arguments) = match self.scanner.peek() {
            ':' if matches!(self.scanner.peek_second(), '=' | '-' | '?' | '+') => self.default()?,
            ':' => self.substring()?,
            '=' => self.default()?,
            '-' if self.dialect == Dialect::Exact => self.default()?,
            ',' | '^' => self.casing()?,
            '/' => self.replace()?,
            '#' | '%' => self.trim()?,
            _ if self.scanner.close() => (Operator::Plain, Vec::new()),
            _ => return Err(Envsubst::MissingClosingBrace.into()),
        };
        Ok(Call { offset, name, operator, arguments })
    }

    fn name(&mut self) -> Option<Cow<'t, str>> {
        self.scanner.word(|letter, _| letters::is_in_name(letter)).map(String::from_utf8_lossy)
    }

    /// `#name}`.
    fn length(&mut self, offset: usize) -> std::result::Result<Call<'t>, Envsubst> {
        self.operator(|letter, length| letter == '#' && length == 1)?;
        let name = self.name().ok_or(Envsubst::BadSubstitution)?;
        self.close()?;
        Ok(Call { offset, name, operator: Operator::Length, arguments: Vec::new() })
    }

    /// `:position}` and `:position:length}`.
    fn substring(&mut self) -> Operation<'t> {
        // Upstream steps back by the width of the next letter and not by that of the colon.
        if self.scanner.second_width() != 1 {
            return Err(Envsubst::BadSubstitution.into());
        }
        self.operator(|letter, length| letter == ':' && length == 1)?;
        let position = self.argument(|letter, _| letter != ':' && letter != '}', Escapes::None)?;
        if self.scanner.close() {
            return Ok((Operator::Substring, vec![position]));
        }
        self.operator(|letter, _| letter == ':')?;
        let length = self.argument(is_not_closing, Escapes::None)?;
        self.close()?;
        Ok((Operator::Substring, vec![position, length]))
    }

    /// `#pattern}`, `##pattern}`, `%pattern}` and `%%pattern}`.
    fn trim(&mut self) -> Operation<'t> {
        let operator = match self.scanner.peek() {
            '#' => self.operator(|letter, length| letter == '#' && length < 3)?,
            _ => self.operator(|letter, length| letter == '%' && length < 3)?,
        };
        let operator = match operator {
            b"#" => Operator::TrimShortestPrefix,
            b"##" => Operator::TrimLongestPrefix,
            b"%" => Operator::TrimShortestSuffix,
            _ => Operator::TrimLongestSuffix,
        };
        let pattern = self.argument(is_not_closing, Escapes::None)?;
        self.close()?;
        Ok((operator, vec![pattern]))
    }

    /// `/old/new}` and its variants with `//`, `/#` and `/%`; the new text may be left out.
    fn replace(&mut self) -> Operation<'t> {
        let operator = self.operator(|letter, length| match length {
            1 => letter == '/',
            2 => matches!(letter, '/' | '#' | '%'),
            _ => false,
        })?;
        let operator = match operator {
            b"//" => Operator::ReplaceAll,
            b"/#" => Operator::ReplacePrefix,
            b"/%" => Operator::ReplaceSuffix,
            _ => Operator::ReplaceFirst,
        };
        let mut arguments = vec![self.argument(|letter, _| letter != '/', Escapes::All)?];
        self.operator(|letter, _| letter == '/')?;
        if self.scanner.peek() != '}' {
            arguments.push(self.argument(is_not_closing, Escapes::All)?);
        }
        self.close()?;
        Ok((operator, arguments))
    }

    /// `=word}`, `:=word}`, `:-word}`, `:?word}` and `:+word}`; the word is any number of parts.
    fn default(&mut self) -> Operation<'t> {
        let sign = if self.scanner.peek() == ':' {
            self.operator(|letter, length| match length {
                1 => letter == ':',
                2 => matches!(letter, '=' | '-' | '?' | '+'),
                _ => false,
            })?
        } else {
            self.operator(|letter, length| matches!(letter, '=' | '-') && length == 1)?
        };
        let operator = match (self.dialect, sign) {
            (Dialect::Exact, b"-") => Operator::DefaultIfUnset,
            (Dialect::Exact, b":?") => Operator::Required,
            (Dialect::Exact, b":+") => Operator::Alternative,
            _ => Operator::Default,
        };
        let mut parts = Vec::new();
        while !self.scanner.close() {
            parts.push(self.argument(is_not_closing, Escapes::None)?);
        }
        Ok((operator, parts))
    }

    /// `,}`, `,,}`, `^}` and `^^}`.
    fn casing(&mut self) -> Operation<'t> {
        let operator = self.operator(|letter, length| matches!(letter, ',' | '^') && length < 3)?;
        let operator = match operator {
            b"," => Operator::LowerFirst,
            b",," => Operator::Lower,
            b"^" => Operator::UpperFirst,
            b"^^" => Operator::Upper,
            _ => Operator::Plain,
        };
        self.close()?;
        Ok((operator, Vec::new()))
    }

    fn operator(&mut self, accept: Accept) -> std::result::Result<&'t [u8], Envsubst> {
        self.scanner.word(accept).ok_or(Envsubst::BadSubstitution)
    }

    fn argument(
        &mut self,
        accept: Accept,
        escapes: Escapes,
    ) -> std::result::Result<Node<'t>, Wrong> {
        match self.scanner.word_or_open(accept, escapes) {
            Token::Open => self.call().map_err(Wrong::Inside),
            Token::Word(text) => Ok(Node::Text(text)),
            Token::End | Token::Other => Err(Envsubst::Argument.into()),
        }
    }

    fn close(&mut self) -> std::result::Result<(), Envsubst> {
        if self.scanner.close() { Ok(()) } else { Err(Envsubst::BadSubstitution) }
    }
}

/// An operator with its arguments.
type Operation<'t> = std::result::Result<(Operator, Vec<Node<'t>>), Wrong>;

/// What is wrong with a substitution, or with one inside it.
enum Wrong {
    Here(Envsubst),
    Inside(EnvsubstError),
}

impl From<Envsubst> for Wrong {
    fn from(reason: Envsubst) -> Self {
        Self::Here(reason)
    }
}

fn is_not_closing(letter: char, _: usize) -> bool {
    letter != '}'
}
