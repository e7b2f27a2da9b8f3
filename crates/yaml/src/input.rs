//! Decodes bytes: byte order marks, UTF-16, and the characters that YAML allows.
//!
//! The result is valid UTF-8 without NUL, so the scanner may use NUL for the end of the text.

use std::borrow::Cow;

/// go-yaml reads this many bytes at a time.
const CHUNK: usize = 512;

/// A text as far as it can be read.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    pub(crate) text: Cow<'a, str>,
    /// What is wrong with what follows; an error when the scanner gets there, not before.
    pub(crate) problem: Option<&'static str>,
}

/// Reads `bytes` as go-yaml's reader does.
pub(crate) fn decode(bytes: &[u8]) -> Input<'_> {
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest, 3),
        _ => utf8(bytes, 0),
    }
}

/// The allowed ASCII characters.
static ALLOWED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0x20;
    while byte <= 0x7E {
        table[byte] = true;
        byte += 1;
    }
    table[0x09] = true;
    table[0x0A] = true;
    table[0x0D] = true;
    table
};

fn is_allowed(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{D7FF}'
        | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}

/// The position of the first character that is not allowed.
fn first_control(text: &str) -> Option<usize> {
    if text.bytes().all(|byte| ALLOWED[usize::from(byte)]) {
        return None;
    }
    text.char_indices().find(|(_, character)| !is_allowed(*character)).map(|(index, _)| index)
}

fn utf8(bytes: &[u8], mark: usize) -> Input<'_> {
    let (text, mut bad) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            let text = std::str::from_utf8(valid).unwrap_or_default();
            (text, Some((valid.len(), utf8_problem(rest))))
        }
    };
    if let Some(index) = first_control(text) {
        bad = Some((index, "control characters are not allowed"));
    }
    let Some((index, problem)) = bad else { return Input { text: text.into(), problem: None } };
    let end = if problem == INCOMPLETE { index } else { chunk_start(text, index, mark) };
    Input { text: text[..end].into(), problem: Some(problem) }
}

const INCOMPLETE: &str = "incomplete UTF-8 octet sequence";

/// Where the chunk starts that holds the byte at `index`. All of it is lost with that byte.
fn chunk_start(text: &str, index: usize, mark: usize) -> usize {
    let mut start = 0;
    let mut end = CHUNK - mark;
    loop {
        // A character that is cut off at the end of a chunk is read again with the next.
        let next = text.floor_char_boundary(end);
        if index < next || next >= text.len() {
            return start;
        }
        start = next;
        end = start + CHUNK;
    }
}

/// What is wrong with the sequence at the start of `rest`, the first that is not UTF-8.
fn utf8_problem(rest: &[u8]) -> &'static str {
    let lead = rest.first().copied().unwrap_or_default();
    let width = match lead {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => return "invalid leading UTF-8 octet",
    };
    let Some(sequence) = rest.get(..width) else {
        return INCOMPLETE;
    };
    if sequence.iter().skip(1).any(|octet| octet & 0xC0 != 0x80) {
        return "invalid trailing UTF-8 octet";
    }
    let mut value = u32::from(lead) & (0x7F >> width);
    for octet in &sequence[1..] {
        value = (value << 6) | u32::from(octet & 0x3F);
    }
    let shortest = [0x80, 0x800, 0x1_0000];
    if value < shortest[width - 2] {
        "invalid length of a UTF-8 sequence"
    } else {
        "invalid Unicode character"
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Input<'_> {
    let mut text = String::with_capacity(bytes.len() / 2);
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let mut problem = None;
    let mut decoded = char::decode_utf16(units);
    while let Some(next) = decoded.next() {
        match next {
            Ok(character) if is_allowed(character) => text.push(character),
            Ok(_) => problem = Some("control characters are not allowed"),
            Err(error) if error.unpaired_surrogate() >= 0xDC00 => {
                problem = Some("unexpected low surrogate area");
            }
            Err(_) if decoded.clone().next().is_none() => {
                problem = Some("incomplete UTF-16 surrogate pair");
            }
            Err(_) => problem = Some("expected low surrogate area"),
        }
        if problem.is_some() {
            text.clear();
            break;
        }
    }
    if problem.is_none() && bytes.len() % 2 == 1 {
        problem = Some("incomplete UTF-16 character");
    }
    Input { text: text.into(), problem }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn the_first_bad_byte_names_the_problem() {
        let cases: [(&[u8], &str); 7] = [
            (b"a\xff", "invalid leading UTF-8 octet"),
            (b"a\xe2\x82", "incomplete UTF-8 octet sequence"),
            (b"a\xe2a\x82", "invalid trailing UTF-8 octet"),
            (b"a\xc0\x80", "invalid length of a UTF-8 sequence"),
            (b"a\xed\xa0\x80", "invalid Unicode character"),
            (b"a\x00\xff", "control characters are not allowed"),
            (b"\xff\xfea", "incomplete UTF-16 character"),
        ];
        for (bytes, problem) in cases {
            assert_eq!(decode(bytes).problem, Some(problem));
        }
    }

    #[test]
    fn a_bad_byte_takes_its_chunk_with_it() {
        let text = format!("{}\u{1}", "a".repeat(600));
        assert_eq!(decode(text.as_bytes()).text.len(), 512);
        let text = format!("{}é{}\u{1}", "a".repeat(511), "a".repeat(600));
        assert_eq!(decode(text.as_bytes()).text.len(), 511 + 512);
    }

    #[test]
    fn byte_order_marks_choose_the_encoding() {
        for bytes in [&b"\xef\xbb\xbfa: b"[..], b"\xff\xfea\0:\0 \0b\0", b"\xfe\xff\0a\0:\0 \0b"] {
            assert_eq!(decode(bytes).text, "a: b");
        }
    }
}
