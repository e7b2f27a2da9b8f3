//! `format`: directives in a text replaced by values. Kubernetes is held to the first rules of this
//! function, Flux has the later ones; they print numbers, bytes and maps differently.

use sluice_base::go::{float, quote};

use super::{Call, convert};
use crate::value::{EvalError, Outcome, TEXT_LIMIT, Value};

/// The precision of a directive that names none.
const PRECISION: usize = 6;
/// The highest precision a directive may name.
const PRECISION_LIMIT: usize = 1000;

/// A directive of a format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Directive {
    Text,
    Decimal,
    Fixed(usize),
    Scientific(usize),
    Binary,
    Hexadecimal { upper: bool },
    Octal,
}

/// A piece of a format.
pub(crate) enum Piece<'t> {
    /// Text as it is.
    Literal(&'t str),
    /// A directive, or what is wrong with it.
    Directive(Result<Directive, String>),
    /// A percent sign at the very end.
    Dangling,
}

/// The pieces of a format in order.
pub(crate) fn pieces(format: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        if at > 0 {
            pieces.push(Piece::Literal(&rest[..at]));
        }
        let after = &rest[at + 1..];
        if after.is_empty() {
            pieces.push(Piece::Dangling);
            return pieces;
        }
        if let Some(after) = after.strip_prefix('%') {
            pieces.push(Piece::Literal("%"));
            rest = after;
            continue;
        }
        match directive(after) {
            Ok((directive, length)) => {
                pieces.push(Piece::Directive(Ok(directive)));
                rest = &after[length..];
            }
            Err(message) => {
                pieces.push(Piece::Directive(Err(message)));
                return pieces;
            }
        }
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest));
    }
    pieces
}

/// The directive at the start of a text and its length.
fn directive(text: &str) -> Result<(Directive, usize), String> {
    let mut precision = None;
    let mut length = 0;
    if let Some(after) = text.strip_prefix('.') {
        let wrong = |why: &str| format!("error while parsing precision: {why}");
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits == after.len() {
            return Err(wrong("could not find end of precision specifier"));
        }
        let number = &after[..digits];
        let value: usize = number.parse().map_err(|_| {
            let why = if number.is_empty() { "invalid syntax" } else { "value out of range" };
            wrong(&format!(
                "error while converting precision to integer: strconv.Atoi: parsing \
                 {}: {why}",
                quote(number)
            ))
        })?;
        if value > PRECISION_LIMIT {
            return Err(wrong(&format!("precision {value} out of range")));
        }
        precision = Some(value);
        length = digits + 1;
    }
    let precision = precision.unwrap_or(PRECISION);
    let byte = text.as_bytes()[length];
    let directive = match byte {
        b's' => Directive::Text,
        b'd' => Directive::Decimal,
        b'f' => Directive::Fixed(precision),
        b'e' => Directive::Scientific(precision),
        b'b' => Directive::Binary,
        b'x' => Directive::Hexadecimal { upper: false },
        b'X' => Directive::Hexadecimal { upper: true },
        b'o' => Directive::Octal,
        other => {
            let shown = char::from(other);
            return Err(format!("unrecognized formatting clause \"{shown}\""));
        }
    };
    Ok((directive, length + 1))
}

/// What a directive says about a value of a type it does not take.
pub(crate) fn refusal(directive: Directive, type_name: &str, later: bool) -> String {
    let what = match (directive, later) {
        (Directive::Text, _) => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, \
             types, durations, and timestamps"
        }
        (Directive::Decimal, false) => "decimal clause can only be used on integers",
        (Directive::Decimal, true) => "decimal clause can only be used on ints, uints, and doubles",
        (Directive::Fixed(_), false) => "fixed-point clause can only be used on doubles",
        (Directive::Fixed(_), true) => {
            "fixed-point clause can only be used on ints, uints, and doubles"
        }
        (Directive::Scientific(_), false) => "scientific clause can only be used on doubles",
        (Directive::Scientific(_), true) => {
            "scientific clause can only be used on ints, uints, and doubles"
        }
        (Directive::Binary, false) => "only integers and bools can be formatted as binary",
        (Directive::Binary, true) => "only ints, uints, and bools can be formatted as binary",
        (Directive::Hexadecimal { .. }, false) => {
            "only integers, byte buffers, and strings can be formatted as hex"
        }
        (Directive::Hexadecimal { .. }, true) => {
            "only ints, uints, bytes, and strings can be formatted as hex"
        }
        (Directive::Octal, false) => "octal clause can only be used on integers",
        (Directive::Octal, true) => "octal clause can only be used on ints and uints",
    };
    format!("{what}, was given {type_name}")
}

pub(super) fn format<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::String(format), Value::List(values)] = args else {
        return Err(call.mismatch(args));
    };
    let later = call.later_format;
    let mut out = String::new();
    let mut index = 0;
    for piece in pieces(format) {
        let directive = match piece {
            Piece::Literal(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Directive(directive) => Some(directive),
            Piece::Dangling => None,
        };
        let Some(value) = values.get(index) else {
            return Err(EvalError::new(format!("index {index} out of range")));
        };
        index += 1;
        let Some(directive) = directive else {
            return Err(EvalError::new("unexpected end of string"));
        };
        let directive = directive
            .map_err(|why| EvalError::new(format!("could not parse formatting clause: {why}")))?;
        let shown = apply(directive, &value?, later)
            .map_err(|why| EvalError::new(format!("error during formatting: {why}")))?;
        out.push_str(&shown);
        if out.len() > TEXT_LIMIT {
            return Err(EvalError::cost_limit());
        }
    }
    Ok(Value::from(out))
}

fn apply(directive: Directive, value: &Value, later: bool) -> Result<String, String> {
    let refused = || Err(refusal(directive, value.type_name(), later));
    match directive {
        Directive::Text => text(value, later),
        Directive::Decimal => match value {
            Value::Int(value) => Ok(value.to_string()),
            Value::Uint(value) => Ok(value.to_string()),
            Value::Double(value) if later => Ok(later_double(*value)),
            _ => refused(),
        },
        Directive::Fixed(precision) | Directive::Scientific(precision)
            if later && matches!(value, Value::Int(_) | Value::Uint(_)) =>
        {
            Ok(misprinted(directive, value, precision))
        }
        Directive::Fixed(precision) => match double(value, later) {
            Some(value) if later => Ok(later_fixed(value, precision)),
            Some(value) => Ok(grouped(value, precision)),
            None => refused(),
        },
        Directive::Scientific(precision) => match double(value, later) {
            Some(value) if later => Ok(later_scientific(value, precision)),
            Some(value) => Ok(scientific(value, precision)),
            None => refused(),
        },
        Directive::Binary => match value {
            Value::Int(value) => Ok(signed(*value, |size| format!("{size:b}"))),
            Value::Uint(value) => Ok(format!("{value:b}")),
            Value::Bool(value) => Ok(u8::from(*value).to_string()),
            _ => refused(),
        },
        Directive::Octal => match value {
            Value::Int(value) => Ok(signed(*value, |size| format!("{size:o}"))),
            Value::Uint(value) => Ok(format!("{value:o}")),
            _ => refused(),
        },
        Directive::Hexadecimal { upper } => {
            let shown = match value {
                Value::Int(value) => signed(*value, |size| format!("{size:x}")),
                Value::Uint(value) => format!("{value:x}"),
                Value::String(text) => bytes(text.as_bytes()),
                Value::Bytes(value) => bytes(value),
                _ => return refused(),
            };
            Ok(if upper { shown.to_ascii_uppercase() } else { shown })
        }
    }
}

fn bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        for half in [byte >> 4, byte & 15] {
            out.extend(char::from_digit(u32::from(half), 16));
        }
    }
    out
}

fn signed(value: i64, show: impl Fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", show(value.unsigned_abs()))
}

/// The later rules let integers pass to a verb that Go prints this way.
fn misprinted(directive: Directive, value: &Value, precision: usize) -> String {
    let verb = if matches!(directive, Directive::Fixed(_)) { 'f' } else { 'e' };
    match value {
        Value::Uint(value) => format!("%!{verb}(uint64={value:0precision$})"),
        Value::Int(value) => {
            let digits = signed(*value, |size| format!("{size:0precision$}"));
            format!("%!{verb}(int64={digits})")
        }
        _ => String::new(),
    }
}

/// The number a directive for doubles takes; the first rules also take three words.
fn double(value: &Value, later: bool) -> Option<f64> {
    match value {
        Value::Double(value) => Some(*value),
        Value::String(text) if !later => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// A number as American English writes it.
fn grouped(value: f64, precision: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}∞");
    }
    let text = format!("{:.precision$}", value.abs());
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), ""), |parts| parts);
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if precision > 0 {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A number with a power of ten in superscript. What the directive names as its precision is taken
/// for the least width, and six digits are shown.
fn scientific(value: f64, width: usize) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let shown = if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        format!("{sign}∞")
    } else {
        let text = format!("{:.6e}", value.abs());
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (minus, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ("⁻", exponent),
            None => ("", exponent),
        };
        let raised: String = format!("{exponent:0>2}")
            .chars()
            .filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10)? as usize))
            .collect();
        format!("{sign}{digits}×10{minus}{raised}")
    };
    format!("{shown:>width$}")
}

fn named(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value.is_infinite() {
        Some(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        None
    }
}

fn later_double(value: f64) -> String {
    named(value).map_or_else(|| float::fixed(value), str::to_owned)
}

fn later_fixed(value: f64, precision: usize) -> String {
    named(value).map_or_else(|| float::fixed_to(value, precision), str::to_owned)
}

fn later_scientific(value: f64, precision: usize) -> String {
    named(value).map_or_else(|| float::exponent_to(value, precision), str::to_owned)
}

/// A value for `%s`.
fn text(value: &Value, later: bool) -> Result<String, String> {
    match value {
        Value::List(list) => {
            let mut parts = Vec::with_capacity(list.len());
            for element in list.iter() {
                let element = element.map_err(|error| error.to_string())?;
                parts.push(nested(&element, later)?);
            }
            Ok(format!("[{}]", parts.join(", ")))
        }
        Value::Map(map) => {
            let mut entries = Vec::with_capacity(map.len());
            for key in map.keys() {
                let Some(value) = map.find(&key) else { continue };
                let value = value.map_err(|error| error.to_string())?;
                let keyed = matches!(
                    key,
                    Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_)
                );
                if !keyed && !later {
                    let name = key.type_name();
                    return Err(format!("no formatting function for map key of type {name}"));
                }
                entries.push((nested(&key, later)?, nested(&value, later)?));
            }
            entries.sort();
            let between = if later { ": " } else { ":" };
            let shown: Vec<String> =
                entries.iter().map(|(key, value)| format!("{key}{between}{value}")).collect();
            Ok(format!("{{{}}}", shown.join(", ")))
        }
        Value::Double(value) if later => Ok(later_double(*value)),
        Value::Bytes(bytes) if later => Ok(String::from_utf8_lossy(bytes).into_owned()),
        Value::Timestamp(time) if later => {
            Ok(crate::time::Timestamp { offset: 0, ..*time }.to_string())
        }
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err("could not convert argument \"invalid UTF-8 in bytes, cannot convert \
                           to string\" to string"
                .to_owned()),
        },
        other => match convert::text(other) {
            Some(text) => text.map_err(|error| error.to_string()),
            None => Err(refusal(Directive::Text, other.type_name(), later)),
        },
    }
}

/// A value inside a list or a map.
fn nested(value: &Value, later: bool) -> Result<String, String> {
    if later {
        return text(value, later);
    }
    Ok(match value {
        Value::String(text) => quote(text),
        Value::Bytes(_) => format!("b{}", quote(&text(value, later)?)),
        Value::Timestamp(_) | Value::Duration(_) => {
            let name = if matches!(value, Value::Duration(_)) { "duration" } else { "timestamp" };
            format!("{name}({})", quote(&text(value, later)?))
        }
        Value::Double(value) if value.is_finite() => format!("{value:.6}"),
        Value::Double(value) => quote(&float::fixed(*value)),
        Value::Int(_)
        | Value::Uint(_)
        | Value::Bool(_)
        | Value::Null
        | Value::Type(_)
        | Value::List(_)
        | Value::Map(_) => text(value, later)?,
        other => return Err(format!("no formatting function for {}", other.type_name())),
    })
}
