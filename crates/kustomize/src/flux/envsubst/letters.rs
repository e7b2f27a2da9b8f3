//! Letters as Go's `unicode` has them: those of Unicode 15, and case mappings from one letter to one letter.

use std::sync::LazyLock;

use regex::Regex;

use super::scan::decode;

static LETTER_OR_DIGIT: LazyLock<Regex> = LazyLock::new(|| class(r"[\p{L}\p{Nd}]"));
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| class(r"\p{any}"));

/// One letter of a class, as far as Unicode 15 has it.
fn class(class: &str) -> Regex {
    Regex::new(&format!(r"^[{class}&&\p{{age:15.0}}]$")).expect("the classes are fixed")
}

fn is_in(class: &Regex, letter: char) -> bool {
    class.is_match(letter.encode_utf8(&mut [0; 4]))
}

/// Whether a letter may stand in the name of a variable.
pub(super) fn is_in_name(letter: char) -> bool {
    if letter.is_ascii() {
        return letter.is_ascii_alphanumeric() || letter == '_';
    }
    is_in(&LETTER_OR_DIGIT, letter)
}

/// `unicode.ToUpper`.
pub(super) fn to_upper(letter: char) -> char {
    let mut all = letter.to_uppercase();
    let upper = match (all.next(), all.next()) {
        (Some(upper), None) => upper,
        // Letters that have a mapping to several, and another one to just one.
        _ => match letter {
            '\u{1F80}'..='\u{1F87}' | '\u{1F90}'..='\u{1F97}' | '\u{1FA0}'..='\u{1FA7}' => {
                char::from_u32(u32::from(letter) + 8).unwrap_or(letter)
            }
            '\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}' => {
                char::from_u32(u32::from(letter) + 9).unwrap_or(letter)
            }
            _ => letter,
        },
    };
    known(letter, upper)
}

/// `unicode.ToLower`.
pub(super) fn to_lower(letter: char) -> char {
    let mut all = letter.to_lowercase();
    let lower = match (all.next(), all.next()) {
        (Some(lower), None) => lower,
        (Some(lower), Some(_)) if letter == '\u{130}' => lower,
        _ => letter,
    };
    known(letter, lower)
}

/// A mapping, if Unicode 15 has it.
fn known(letter: char, mapped: char) -> char {
    let is_known = |letter: char| letter.is_ascii() || is_in(&ASSIGNED, letter);
    if letter == mapped || (is_known(letter) && is_known(mapped)) { mapped } else { letter }
}

/// Every letter mapped; bytes that are no UTF-8 become replacement characters, as in `strings.Map`.
pub(super) fn map(text: &[u8], change: fn(char) -> char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (letter, _) in letters(text) {
        push(&mut out, change(letter));
    }
    out
}

/// The first letter mapped.
pub(super) fn map_first(text: &[u8], change: fn(char) -> char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    if let Some((letter, width)) = letters(text).next() {
        push(&mut out, change(letter));
        out.extend_from_slice(text.get(width..).unwrap_or_default());
    }
    out
}

/// The letters from the last to the first.
pub(super) fn reverse(text: &[u8]) -> Vec<u8> {
    let all: Vec<char> = letters(text).map(|(letter, _)| letter).collect();
    let mut out = Vec::with_capacity(text.len());
    all.into_iter().rev().for_each(|letter| push(&mut out, letter));
    out
}

/// The letters with their widths.
pub(super) fn letters(text: &[u8]) -> impl Iterator<Item = (char, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (letter, width) = decode(rest);
        rest = rest.get(width..).unwrap_or_default();
        (width > 0).then_some((letter, width))
    })
}

fn push(out: &mut Vec<u8>, letter: char) {
    out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}
