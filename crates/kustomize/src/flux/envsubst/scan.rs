//! The scanner: words whose letters a rule accepts, and the braces around substitutions.

use std::borrow::Cow;

/// Which letters belong to a word: the letter, and the length of the word with it, in bytes.
pub(super) type Accept = fn(char, usize) -> bool;

/// Which escapes a word may have; of an escape, the second sign stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    None,
    /// `$$`.
    Dollar,
    /// `$$`, `\/` and `\\`.
    All,
}

/// What the scanner found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// The end of the text.
    End,
    /// `${`.
    Open,
    /// A word.
    Word(Cow<'t, [u8]>),
    /// A letter that no rule accepts.
    Other,
}

/// A place in a text. A zero byte counts as its end.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Where the next letter stands.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    fn letter_at(&self, at: usize) -> (char, usize) {
        decode(self.text.get(at..).unwrap_or_default())
    }

    /// The next letter; NUL at the end.
    pub(super) fn peek(&self) -> char {
        self.letter_at(self.at).0
    }

    /// The letter after the next one, which is one byte long.
    pub(super) fn peek_second(&self) -> char {
        self.letter_at(self.at + 1).0
    }

    /// How wide that letter is.
    pub(super) fn second_width(&self) -> usize {
        self.letter_at(self.at + 1).1
    }

    fn is_open(&self, at: usize) -> bool {
        self.text.get(at..).is_some_and(|rest| rest.starts_with(b"${"))
    }

    /// Goes past a `}`, if it is next.
    pub(super) fn close(&mut self) -> bool {
        let is_close = self.peek() == '}';
        self.at += usize::from(is_close);
        is_close
    }

    /// A word in which nothing is special.
    pub(super) fn word(&mut self, accept: Accept) -> Option<&'t [u8]> {
        let start = self.at;
        loop {
            let (letter, width) = self.letter_at(self.at);
            if letter == '\0' || !accept(letter, self.at + width - start) {
                break;
            }
            self.at += width;
        }
        self.text.get(start..self.at).filter(|word| !word.is_empty())
    }

    /// A word that ends where a substitution opens, or such an opening.
    pub(super) fn word_or_open(&mut self, accept: Accept, escapes: Escapes) -> Token<'t> {
        if self.is_open(self.at) {
            self.at += 2;
            return Token::Open;
        }
        let mut word = Word { text: self.text, start: self.at, end: self.at, before: Vec::new() };
        loop {
            let (letter, width) = self.letter_at(word.end);
            if letter == '\0' || self.is_open(word.end) {
                break;
            }
            if is_escape(letter, self.letter_at(word.end + width).0, escapes) {
                word.skip();
            } else if accept(letter, word.len() + width) {
                word.end += width;
            } else {
                break;
            }
        }
        if word.len() > 0 {
            self.at = word.end;
            Token::Word(word.finish())
        } else if self.peek() == '\0' {
            Token::End
        } else {
            Token::Other
        }
    }
}

/// A word while it is read: a stretch of the text, and what came before the last escape.
struct Word<'t> {
    text: &'t [u8],
    start: usize,
    end: usize,
    before: Vec<u8>,
}

impl<'t> Word<'t> {
    fn stretch(&self) -> &'t [u8] {
        self.text.get(self.start..self.end).unwrap_or_default()
    }

    fn len(&self) -> usize {
        self.before.len() + self.end - self.start
    }

    /// Leaves out the escaping sign and takes the one after it, both one byte long.
    fn skip(&mut self) {
        self.before.extend_from_slice(self.stretch());
        self.start = self.end + 1;
        self.end += 2;
    }

    fn finish(mut self) -> Cow<'t, [u8]> {
        if self.before.is_empty() {
            return Cow::Borrowed(self.stretch());
        }
        self.before.extend_from_slice(self.stretch());
        Cow::Owned(self.before)
    }
}

fn is_escape(letter: char, next: char, escapes: Escapes) -> bool {
    match escapes {
        Escapes::None => false,
        Escapes::Dollar => letter == '$' && next == '$',
        Escapes::All => matches!((letter, next), ('$', '$') | ('\\', '/' | '\\')),
    }
}

/// The first letter and its width, as Go decodes UTF-8: what is none counts as one byte, the end as none.
pub(super) fn decode(bytes: &[u8]) -> (char, usize) {
    let Some(&first) = bytes.first() else { return ('\0', 0) };
    let width = match first {
        0..0x80 => return (char::from(first), 1),
        0xC2..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0..0xF5 => 4,
        _ => return (char::REPLACEMENT_CHARACTER, 1),
    };
    let letter = bytes.get(..width).and_then(|letter| std::str::from_utf8(letter).ok());
    match letter.and_then(|letter| letter.chars().next()) {
        Some(letter) => (letter, width),
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}
