//! Floats as Go prints them, with as few digits as tell them apart.
//!
//! The printers differ in where they switch to an exponent and in their names of infinity:
//!
//! | function | in Go | exponent | example |
//! |---|---|---|---|
//! | [`general`] | `%v`, `FormatFloat(x, 'g', -1, 64)` | below 1e-4 and from 1e6 on | `1e+06` |
//! | [`fixed`] | `FormatFloat(x, 'f', -1, 64)` | never | `1000000` |
//! | [`exponent`] | `FormatFloat(x, 'e', -1, 64)` | always | `1e+06` |
//! | [`json`] | `encoding/json` | below 1e-6, from 1e21 on, not padded | `1000000`, `1e-7` |
//! | [`yaml`] | go-yaml, both versions | as [`general`], `.inf` and `.nan` | `1e+06` |

use std::fmt::LowerExp;
use std::str::FromStr;

/// `FormatFloat(value, 'g', -1, 64)`, which is also what `%v` prints.
pub fn general(value: f64) -> String {
    shape(&digits(&value))
}

/// `FormatFloat(value, 'g', -1, 32)`: as few digits as tell it apart among floats of 32 bits.
pub fn general_32(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "the narrower float is what is printed")]
    let narrow = value as f32;
    shape(&digits(&narrow))
}

/// `FormatFloat(value, 'f', -1, 64)`: without an exponent.
pub fn fixed(value: f64) -> String {
    not_finite(value).map_or_else(|| positional(&digits(&value)), str::to_owned)
}

/// `FormatFloat(value, 'f', precision, 64)`.
pub fn fixed_to(value: f64, precision: usize) -> String {
    not_finite(value).map_or_else(|| format!("{value:.precision$}"), str::to_owned)
}

/// `FormatFloat(value, 'e', -1, 64)`: with an exponent.
pub fn exponent(value: f64) -> String {
    not_finite(value).map_or_else(|| padded(&digits(&value)), str::to_owned)
}

/// `FormatFloat(value, 'e', precision, 64)`.
pub fn exponent_to(value: f64, precision: usize) -> String {
    not_finite(value).map_or_else(|| padded(&format!("{value:.precision$e}")), str::to_owned)
}

/// A finite float as `encoding/json` writes it, which refuses the others.
pub fn json(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return fixed(value);
    }
    let text = digits(&value);
    if text.contains("e-") { text } else { text.replace('e', "e+") }
}

/// A float as go-yaml writes it.
pub fn yaml(value: f64) -> String {
    yaml_names(general(value))
}

/// The float of 32 bits, as `sigs.k8s.io/yaml` makes the key of a mapping from a float.
pub fn yaml_32(value: f64) -> String {
    yaml_names(general_32(value))
}

fn yaml_names(text: String) -> String {
    match text.as_str() {
        "+Inf" => ".inf".to_owned(),
        "-Inf" => "-.inf".to_owned(),
        "NaN" => ".nan".to_owned(),
        _ => text,
    }
}

fn not_finite(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value.is_infinite() {
        Some(if value > 0.0 { "+Inf" } else { "-Inf" })
    } else {
        None
    }
}

/// The digits that Go chooses, as Rust writes them: `1.25e3`.
///
/// Both write as few digits as tell a float apart, and the closest of that length. Where the float is exactly between
/// two of them, as 1000000000000000.25 is, Go takes the even one and Rust the upper one; Rust's rounding to a given
/// number of digits takes the even one too.
fn digits<F: LowerExp + FromStr + PartialEq>(value: &F) -> String {
    /// Fewer digits than this tell no float apart that is between two of them.
    const TIE: usize = 6;
    let shortest = format!("{value:e}");
    let mantissa = shortest.split('e').next().unwrap_or_default();
    let count = mantissa.bytes().filter(u8::is_ascii_digit).count();
    if count <= TIE {
        return shortest;
    }
    let even = format!("{value:.*e}", count - 1);
    let is_same = even != shortest && even.parse().is_ok_and(|again: F| again == *value);
    if is_same && even.len() == shortest.len() { even } else { shortest }
}

/// The same without an exponent.
fn positional(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let count = i32::try_from(digits.len()).unwrap_or_default();
    // Digits before the point, if it is in or behind them.
    let whole = usize::try_from(exponent + 1).unwrap_or_default();
    if exponent < 0 {
        let zeros = usize::try_from(-exponent - 1).unwrap_or_default();
        format!("{sign}0.{}{digits}", "0".repeat(zeros))
    } else if exponent + 1 >= count {
        format!("{sign}{digits:0<whole$}")
    } else {
        format!("{sign}{}.{}", &digits[..whole], &digits[whole..])
    }
}

/// Chooses the form with an exponent or the one without, as Go's `g` does for the shortest digits.
fn shape(scientific: &str) -> String {
    let Some((_, exponent)) = scientific.split_once('e') else {
        return match scientific {
            "inf" => "+Inf",
            "-inf" => "-Inf",
            _ => "NaN",
        }
        .to_owned();
    };
    match exponent.parse::<i32>() {
        Ok(-4..6) => positional(scientific),
        _ => padded(scientific),
    }
}

/// Go signs every exponent and writes at least two digits of it.
fn padded(scientific: &str) -> String {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_printer_has_its_own_thresholds() {
        // the value, then general, fixed, exponent, json, yaml
        let cases = [
            (1e5, ["100000", "100000", "1e+05", "100000", "100000"]),
            (1e6, ["1e+06", "1000000", "1e+06", "1000000", "1e+06"]),
            (0.0001, ["0.0001", "0.0001", "1e-04", "0.0001", "0.0001"]),
            (-2.5e-7, ["-2.5e-07", "-0.00000025", "-2.5e-07", "-2.5e-7", "-2.5e-07"]),
            (1e21, ["1e+21", "1000000000000000000000", "1e+21", "1e+21", "1e+21"]),
            (-0.0, ["-0", "-0", "-0e+00", "-0", "-0"]),
        ];
        for (value, expected) in cases {
            let ours = [general(value), fixed(value), exponent(value), json(value), yaml(value)];
            assert_eq!(ours, expected);
        }
        // 1000000000000000.25 is exactly between two decimals.
        assert_eq!(fixed(f64::from_bits(0x430c_6bf5_2634_0002)), "1000000000000000.2");
        assert_eq!(yaml(f64::NEG_INFINITY), "-.inf");
        assert_eq!(general(f64::INFINITY), "+Inf");
        assert_eq!(general_32(16_777_217.0), "1.6777216e+07");
        assert_eq!((fixed_to(2.0, 1), exponent_to(1234.0, 2)), ("2.0".into(), "1.23e+03".into()));
    }
}
