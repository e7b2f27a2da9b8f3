//! Floats and strings in Go's formats: `strconv` with the `g` verb, `encoding/json`, and `%#v`.

/// A float with the fewest digits that identify it, in exponent form below 1e-4 and from 1e6 on.
pub(crate) fn general(value: f64) -> String {
    shape(&format!("{value:e}"), || format!("{value}"))
}

/// The same for 32-bit floats.
pub(crate) fn general_32(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "the narrower float is what is printed")]
    let narrow = value as f32;
    shape(&format!("{narrow:e}"), || format!("{narrow}"))
}

/// A finite float as `encoding/json` writes it: exponents only below 1e-6 and from 1e21 on.
pub(crate) fn json(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return format!("{value}");
    }
    let text = format!("{value:e}");
    if text.contains("e-") { text } else { text.replace('e', "e+") }
}

fn shape(scientific: &str, positional: impl Fn() -> String) -> String {
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return match scientific {
            "inf" => ".inf",
            "-inf" => "-.inf",
            _ => ".nan",
        }
        .to_owned();
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return positional();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A float as `%v` prints it.
pub(crate) fn general_go(value: f64) -> String {
    match general(value).as_str() {
        ".inf" => "+Inf".to_owned(),
        "-.inf" => "-Inf".to_owned(),
        ".nan" => "NaN".to_owned(),
        text => text.to_owned(),
    }
}

/// `text` in Go's double quotes.
pub(crate) fn quoted(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{B}' => out.push_str("\\v"),
            '\u{C}' => out.push_str("\\f"),
            control if u32::from(control) < 0x20 || u32::from(control) == 0x7F => {
                let _ = write!(out, "\\x{:02x}", u32::from(control));
            }
            hidden @ ('\u{80}'..='\u{A0}'
            | '\u{AD}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202F}'
            | '\u{FEFF}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(hidden));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::{general, general_32};

    #[test]
    fn floats_print_like_go() {
        let cases = [
            (1.5, "1.5"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123_456.5, "123456.5"),
            (1_234_567.5, "1.2345675e+06"),
            (1e21, "1e+21"),
            (f64::INFINITY, ".inf"),
            (f64::NEG_INFINITY, "-.inf"),
            (f64::NAN, ".nan"),
        ];
        for (value, text) in cases {
            assert_eq!(general(value), text);
        }
        assert_eq!(general_32(1.1), "1.1");
        assert_eq!(general_32(16_777_217.0), "1.6777216e+07");
    }
}
