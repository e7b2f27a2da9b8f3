//! Text in double quotes: `strconv.Quote`, and the places in Go and cel-go that quote differently.

use std::fmt::Write as _;

/// What `strconv.IsPrint` accepts, as ranges in order.
static PRINTABLE: [(u32, u32); 711] = include!("printable.in");

/// `text` as `strconv.Quote` and `%q` write it: only what Go takes for printable stays as it is.
///
/// A no-break space (U+00A0) and the line separators (U+2028, U+2029) are escaped.
pub fn quote(text: &str) -> String {
    let mut out = opened(text.len());
    push_escaped(&mut out, text);
    out.push('"');
    out
}

/// Bytes as `strconv.Quote` writes a Go string with them: what is no UTF-8 in hexadecimal.
pub fn quote_bytes(bytes: &[u8]) -> String {
    let mut out = opened(bytes.len());
    for chunk in bytes.utf8_chunks() {
        push_escaped(&mut out, chunk.valid());
        push_hexadecimal(&mut out, chunk.invalid());
    }
    out.push('"');
    out
}

/// `["a" "b"]`, as `%q` prints a list.
pub fn quote_all<T: AsRef<str>>(items: &[T]) -> String {
    let quoted: Vec<String> = items.iter().map(|item| quote(item.as_ref())).collect();
    format!("[{}]", quoted.join(" "))
}

/// `text` as package `time` quotes it in its errors: what is not ASCII byte by byte in hexadecimal.
pub fn quote_ascii(text: &str) -> String {
    let mut out = opened(text.len());
    for character in text.chars() {
        if character < ' ' || !character.is_ascii() {
            push_hexadecimal(&mut out, character.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            if matches!(character, '"' | '\\') {
                out.push('\\');
            }
            out.push(character);
        }
    }
    out.push('"');
    out
}

/// `text` as CEL's `strings.quote` writes it: escapes that have a letter, and everything else as it is.
pub fn quote_named(text: &str) -> String {
    let mut out = opened(text.len());
    for character in text.chars() {
        match named_escape(character) {
            Some(escape) => out.push_str(escape),
            None => out.push(character),
        }
    }
    out.push('"');
    out
}

fn opened(length: usize) -> String {
    let mut out = String::with_capacity(length + 2);
    out.push('"');
    out
}

/// The escapes of Go that have a letter or a sign of their own.
fn named_escape(character: char) -> Option<&'static str> {
    Some(match character {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{b}' => "\\v",
        _ => return None,
    })
}

fn push_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        let code = u32::from(character);
        // Writing to a String cannot fail.
        let _ = match named_escape(character) {
            Some(escape) => out.write_str(escape),
            None if is_printable(character) => out.write_char(character),
            None if code < 0x20 || code == 0x7f => write!(out, "\\x{code:02x}"),
            None if code < 0x10000 => write!(out, "\\u{code:04x}"),
            None => write!(out, "\\U{code:08x}"),
        };
    }
}

fn push_hexadecimal(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(out, "\\x{byte:02x}");
    }
}

/// Whether `strconv.IsPrint` accepts a character: letters, marks, numbers, punctuation, symbols and the space.
pub fn is_printable(character: char) -> bool {
    let code = u32::from(character);
    let after = PRINTABLE.partition_point(|(first, _)| *first <= code);
    after.checked_sub(1).and_then(|at| PRINTABLE.get(at)).is_some_and(|(_, last)| code <= *last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_go_takes_for_printable_stays() {
        let cases = [
            ("plain é 日本", "\"plain é 日本\""),
            ("a\u{a0}b\u{2028}\u{2029}", r#""a\u00a0b\u2028\u2029""#),
            ("\u{1}\u{7f}\u{85}", r#""\x01\x7f\u0085""#),
            ("\u{feff}\u{200b}\u{ad}", r#""\ufeff\u200b\u00ad""#),
            ("\u{e0001}\u{1f600}", "\"\\U000e0001\u{1f600}\""),
            ("\"'\\\t", r#""\"'\\\t""#),
        ];
        for (text, expected) in cases {
            assert_eq!(quote(text), expected);
        }
        assert_eq!(quote_bytes(b"a\xff\xe2\x82"), r#""a\xff\xe2\x82""#);
        assert_eq!(quote_all(&["a", "b\n"]), r#"["a" "b\n"]"#);
        assert_eq!(quote_named("\u{1}\n\u{a0}"), "\"\u{1}\\n\u{a0}\"");
        assert_eq!(quote_ascii("é\u{1}\""), r#""\xc3\xa9\x01\"""#);
    }
}
