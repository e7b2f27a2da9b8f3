//! Bytes to text: byte order marks, UTF-16, and the characters that YAML allows at all.
//!
//! What leaves here is valid UTF-8 without NUL, so the scanner may use NUL for the end of the text.

use std::borrow::Cow;

use crate::error::Error;

/// `bytes` as text, or the error go-yaml's reader gives.
pub(crate) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, Error> {
    let text = match bytes {
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)?),
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)?),
        [0xEF, 0xBB, 0xBF, rest @ ..] => Cow::Borrowed(utf8(rest)?),
        _ => Cow::Borrowed(utf8(bytes)?),
    };
    if text.bytes().all(|byte| byte.is_ascii() && ALLOWED[usize::from(byte)])
        || text.chars().all(is_allowed)
    {
        Ok(text)
    } else {
        Err(Error::problem("control characters are not allowed"))
    }
}

/// The ASCII characters that may stand in a text.
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

fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        let rest = bytes.get(error.valid_up_to()..).unwrap_or_default();
        Error::problem(utf8_problem(rest))
    })
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
        return "incomplete UTF-8 octet sequence";
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

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, Error> {
    let mut out = String::with_capacity(bytes.len() / 2);
    let units = || bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    for decoded in char::decode_utf16(units()) {
        match decoded {
            Ok(character) => out.push(character),
            Err(error) if error.unpaired_surrogate() >= 0xDC00 => {
                return Err(Error::problem("unexpected low surrogate area"));
            }
            Err(_) => return Err(Error::problem("expected low surrogate area")),
        }
    }
    if bytes.len() % 2 == 1 {
        return Err(Error::problem("incomplete UTF-16 character"));
    }
    Ok(out)
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
            (b"a\x00", "control characters are not allowed"),
            (b"\xff\xfea", "incomplete UTF-16 character"),
        ];
        for (bytes, problem) in cases {
            let error = decode(bytes).expect_err("not text");
            assert_eq!(error.to_string(), format!("yaml: {problem}"));
        }
    }

    #[test]
    fn byte_order_marks_choose_the_encoding() {
        for bytes in [&b"\xef\xbb\xbfa: b"[..], b"\xff\xfea\0:\0 \0b\0", b"\xfe\xff\0a\0:\0 \0b"] {
            assert_eq!(decode(bytes).unwrap(), "a: b");
        }
    }
}
