//! Floats as Go prints them: `strconv` with the `g` verb, and `encoding/json`.

/// A float with as few digits as tell it apart, in exponent form below 1e-4 and from 1e6 on.
pub(crate) fn general(value: f64) -> String {
    shape(&format!("{value:e}"), || format!("{value}"))
}

/// The same, with as few digits as tell it apart among floats of 32 bits.
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
