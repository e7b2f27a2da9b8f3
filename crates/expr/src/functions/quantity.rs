//! Quantities.
//!
//! Upstream keeps a small number as an integer and a power of ten, and any other as a decimal; only
//! the former ever is an integer to `isInteger`, so the difference is kept.

use std::cmp::Ordering;

use super::{Call, Implementation, semver};
use crate::value::{EvalError, Outcome, Value};

/// A quantity.
#[derive(Clone, Copy, Debug)]
pub struct Quantity(Amount);

#[derive(Clone, Copy, Debug)]
enum Amount {
    /// `value` times ten to the power of `scale`.
    Int { value: i64, scale: i32 },
    /// `unscaled` divided by ten to the power of `scale`; saturates far beyond what is allowed.
    Decimal { unscaled: i128, scale: i32 },
}

/// The digits that surely fit an integer.
const INTEGER_DIGITS: i32 = 18;
const NANO: i32 = -9;

fn power(exponent: i32) -> i128 {
    let exponent = u32::try_from(exponent).unwrap_or(0);
    10_i128.checked_pow(exponent).unwrap_or(i128::MAX)
}

impl Quantity {
    /// The value in billionths.
    pub fn nanos(&self) -> i128 {
        match self.0 {
            Amount::Int { value, scale } => i128::from(value).saturating_mul(power(scale + 9)),
            Amount::Decimal { unscaled, scale } if scale <= 9 => {
                unscaled.saturating_mul(power(9 - scale))
            }
            Amount::Decimal { unscaled, scale } => unscaled / power(scale - 9),
        }
    }

    fn as_int(&self) -> Option<i64> {
        match self.0 {
            Amount::Int { value, scale: 0 } => Some(value),
            Amount::Int { value, scale } if scale > 0 => {
                i64::try_from(i128::from(value).checked_mul(power(scale))?).ok()
            }
            _ => None,
        }
    }

    fn approximate(&self) -> f64 {
        let (base, exponent) = match self.0 {
            Amount::Int { value, scale } => (super::numbers::as_double(value), scale),
            #[expect(clippy::cast_precision_loss, reason = "the function says approximate")]
            Amount::Decimal { unscaled, scale } => (unscaled as f64, -scale),
        };
        if exponent == 0 { base } else { base * 10_f64.powi(exponent) }
    }

    fn add(&self, other: &Quantity) -> Quantity {
        if let (Amount::Int { value: one, scale }, Amount::Int { value: two, scale: other_scale }) =
            (self.0, other.0)
        {
            if two == 0 {
                return *self;
            }
            if one == 0 {
                return *other;
            }
            let common = scale.min(other_scale);
            let sum = i128::from(one)
                .saturating_mul(power(scale - common))
                .saturating_add(i128::from(two).saturating_mul(power(other_scale - common)));
            let fits = |value: i64, from: i32| {
                i64::try_from(i128::from(value).saturating_mul(power(from - common))).is_ok()
            };
            if fits(one, scale)
                && fits(two, other_scale)
                && let Ok(value) = i64::try_from(sum)
            {
                return Quantity(Amount::Int { value, scale: common });
            }
        }
        let (one, two) = (self.decimal(), other.decimal());
        let scale = one.1.max(two.1);
        let widen = |(value, from): (i128, i32)| value.saturating_mul(power(scale - from));
        Quantity(Amount::Decimal { unscaled: widen(one).saturating_add(widen(two)), scale })
    }

    fn decimal(&self) -> (i128, i32) {
        match self.0 {
            Amount::Int { value, scale } => (i128::from(value), -scale),
            Amount::Decimal { unscaled, scale } => (unscaled, scale),
        }
    }

    fn negated(&self) -> Quantity {
        Quantity(match self.0 {
            Amount::Int { value, scale } => match value.checked_neg() {
                Some(value) => Amount::Int { value, scale },
                None => Amount::Decimal { unscaled: -i128::from(value), scale: -scale },
            },
            Amount::Decimal { unscaled, scale } => {
                Amount::Decimal { unscaled: unscaled.saturating_neg(), scale }
            }
        })
    }

    fn whole(value: i64) -> Quantity {
        Quantity(Amount::Int { value, scale: 0 })
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos() == other.nanos()
    }
}

impl Eq for Quantity {}

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "quantity" | "isQuantity" => convert,
        "sign" | "asInteger" | "isInteger" | "asApproximateFloat" => read,
        "add" | "sub" => calculate,
        // Semantic versions compare by methods of the same names.
        "isGreaterThan" | "isLessThan" | "compareTo" => compare,
        _ => return semver::find(name),
    })
}

fn convert<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::String(text)] = args else { return Err(call.mismatch(args)) };
    if call.function == "isQuantity" {
        return Ok(Value::Bool(parse(text).is_ok()));
    }
    parse(text).map(Value::Quantity).map_err(EvalError::new)
}

fn read<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::Quantity(quantity)] = args else { return Err(call.mismatch(args)) };
    Ok(match call.function {
        "sign" => Value::Int(i64::try_from(quantity.nanos().signum()).unwrap_or(0)),
        "isInteger" => Value::Bool(quantity.as_int().is_some()),
        "asApproximateFloat" => Value::Double(quantity.approximate()),
        _ => Value::Int(
            quantity.as_int().ok_or_else(|| EvalError::new("cannot convert value to integer"))?,
        ),
    })
}

fn calculate<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let (one, two) = match args {
        [Value::Quantity(one), Value::Quantity(two)] => (one, *two),
        [Value::Quantity(one), Value::Int(two)] => (one, Quantity::whole(*two)),
        _ => return Err(call.mismatch(args)),
    };
    let two = if call.function == "sub" { two.negated() } else { two };
    Ok(Value::Quantity(one.add(&two)))
}

fn compare<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let ordering = match args {
        [Value::Quantity(one), Value::Quantity(two)] => one.nanos().cmp(&two.nanos()),
        [Value::Semver(one), Value::Semver(two)] => one.compare(two),
        _ => return Err(call.mismatch(args)),
    };
    Ok(match call.function {
        "isGreaterThan" => Value::Bool(ordering == Ordering::Greater),
        "isLessThan" => Value::Bool(ordering == Ordering::Less),
        _ => Value::Int(ordering as i64),
    })
}

const WRONG_FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// The base and the exponent of a suffix, and whether it is a power of two.
fn suffix(text: &str) -> Option<(bool, i32)> {
    Some(match text {
        "" => (false, 0),
        "n" => (false, -9),
        "u" => (false, -6),
        "m" => (false, -3),
        "k" => (false, 3),
        "M" => (false, 6),
        "G" => (false, 9),
        "T" => (false, 12),
        "P" => (false, 15),
        "E" => (false, 18),
        "Ki" => (true, 10),
        "Mi" => (true, 20),
        "Gi" => (true, 30),
        "Ti" => (true, 40),
        "Pi" => (true, 50),
        "Ei" => (true, 60),
        _ => {
            let exponent = text.strip_prefix(['e', 'E']).filter(|rest| !rest.is_empty())?;
            (false, i32::try_from(exponent.parse::<i64>().ok()?).ok()?)
        }
    })
}

/// A quantity's text: the sign, the digits before and after the point, the suffix.
fn split(text: &str) -> Option<(bool, &str, &str, &str)> {
    let (positive, rest) = match text.as_bytes().first()? {
        b'-' => (false, &text[1..]),
        b'+' => (true, &text[1..]),
        _ => (true, text),
    };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(rest);
    let number = rest[..whole].trim_start_matches('0');
    let mut rest = &rest[whole..];
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        let count = digits(after);
        fraction = &after[..count];
        rest = &after[count..];
    }
    let letters = rest.bytes().take_while(|byte| b"eEinumkKMGTP".contains(byte)).count();
    let mut tail = &rest[letters..];
    if let Some(after) = tail.strip_prefix(['-', '+']) {
        tail = after;
    }
    tail = &tail[digits(tail)..];
    if !tail.is_empty() {
        return None;
    }
    Some((positive, if number.is_empty() { "0" } else { number }, fraction, rest))
}

fn parse(text: &str) -> Result<Quantity, &'static str> {
    let (positive, number, fraction, ending) = split(text).ok_or(WRONG_FORMAT)?;
    let (binary, exponent) = suffix(ending).ok_or("unable to parse quantity's suffix")?;
    let length = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX);
    let signed = |value: i64| if positive { value } else { -value };
    let (mut scale, mut factor, mut room) = (0, 1_i64, -1);
    if !binary {
        scale = exponent;
        room = INTEGER_DIGITS.saturating_sub(length(number).saturating_add(length(fraction)));
    } else if fraction.is_empty() {
        factor = 1_i64 << exponent;
        room = 15 - length(number) - exponent * 3 / 10 - 1;
    }
    let digits = format!("{number}{fraction}");
    if room >= 0 {
        let scale = scale.saturating_sub(length(fraction));
        if scale >= NANO {
            let value: i64 =
                digits.parse().map_err(|_| "unable to parse numeric part of quantity")?;
            if let Some(value) = value.checked_mul(factor) {
                return Ok(Quantity(Amount::Int { value: signed(value), scale }));
            }
        }
    }
    let exact: i128 = digits.parse().unwrap_or(i128::MAX);
    let mut unscaled = exact;
    let mut places = length(fraction);
    if binary {
        unscaled = unscaled.saturating_mul(1_i128 << exponent);
    } else {
        places = places.saturating_sub(exponent);
    }
    if unscaled != 0 {
        // Upstream rounds to billionths, up.
        if places > 9 {
            let unit = power(places - 9);
            unscaled = unscaled / unit + i128::from(unscaled % unit != 0);
        } else {
            unscaled = unscaled.saturating_mul(power(9 - places));
        }
        places = 9;
    }
    let most = i128::from(i64::MAX).saturating_mul(power(places));
    if binary && unscaled > most {
        unscaled = most;
    }
    let unscaled = if positive { unscaled } else { -unscaled };
    Ok(Quantity(Amount::Decimal { unscaled, scale: places }))
}
