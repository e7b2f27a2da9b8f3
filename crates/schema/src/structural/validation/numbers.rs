//! Bounds and multiples, with integers compared as `int64` and everything else as `float64`.

use serde_json::{Number, Value};
use sluice_base::go;

use super::outcome::{Failure, Outcome};
use crate::structural::Schema;

/// The largest integer that JSON numbers hold exactly.
const MAX_JSON_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A float converted to an integer as amd64 does it: towards zero, and to the smallest integer when
/// it does not fit.
pub(super) fn truncate(value: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
        let integer = value as i64;
        integer
    } else {
        i64::MIN
    }
}

/// Whether a float counts as an integer: whole, or off by less than a billionth.
pub(super) fn is_json_integer(value: f64) -> bool {
    if !value.is_finite() || value.abs() > MAX_JSON_INTEGER {
        return false;
    }
    if value.fract() == 0.0 {
        return true;
    }
    let whole = value.trunc();
    value > 0.0 && whole != 0.0 && (value - whole) / (value + whole) < 1e-9
}

pub(super) fn check(number: &Number, schema: &Schema, name: &str) -> Outcome {
    let mut outcome = match number.as_i64() {
        Some(integer) => check_integer(integer, schema, name),
        None => check_float(number.as_f64().unwrap_or_default(), schema, name),
    };
    outcome.matches += 1;
    outcome
}

fn bound(exclusive: bool, greater: bool) -> &'static str {
    match (greater, exclusive) {
        (true, true) => "greater than",
        (true, false) => "greater than or equal to",
        (false, true) => "less than",
        (false, false) => "less than or equal to",
    }
}

fn outside(name: &str, value: Value, words: &str, limit: &str) -> Failure {
    Failure::invalid(name, value, format!("{name} in body should be {words} {limit}"))
}

fn not_positive(name: &str, factor: Value, shown: &str) -> Failure {
    let message = format!("factor MultipleOf declared for {name} must be positive: {shown}");
    Failure::invalid(name, factor, message)
}

fn check_integer(value: i64, schema: &Schema, name: &str) -> Outcome {
    let mut outcome = Outcome::default();
    if let Some(factor) = schema.multiple_of.map(truncate) {
        if factor <= 0 {
            outcome.add(not_positive(name, factor.into(), &factor.to_string()));
        } else if value % factor != 0 {
            outcome.add(outside(name, value.into(), "a multiple of", &factor.to_string()));
        }
    }
    if let Some(limit) = schema.minimum.map(truncate)
        && (value < limit || schema.exclusive_minimum && value == limit)
    {
        let words = bound(schema.exclusive_minimum, true);
        outcome.add(outside(name, value.into(), words, &limit.to_string()));
    }
    if let Some(limit) = schema.maximum.map(truncate)
        && (value > limit || schema.exclusive_maximum && value == limit)
    {
        let words = bound(schema.exclusive_maximum, false);
        outcome.add(outside(name, value.into(), words, &limit.to_string()));
    }
    outcome
}

fn check_float(value: f64, schema: &Schema, name: &str) -> Outcome {
    let mut outcome = Outcome::default();
    if let Some(factor) = schema.multiple_of {
        let shown = go::float::general(factor);
        let quotient = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
        if factor <= 0.0 {
            outcome.add(not_positive(name, factor.into(), &shown));
        } else if !is_json_integer(quotient) {
            outcome.add(outside(name, value.into(), "a multiple of", &shown));
        }
    }
    if let Some(limit) = schema.minimum
        && (value < limit || schema.exclusive_minimum && value <= limit)
    {
        let words = bound(schema.exclusive_minimum, true);
        outcome.add(outside(name, value.into(), words, &go::float::general(limit)));
    }
    if let Some(limit) = schema.maximum
        && (value > limit || schema.exclusive_maximum && value >= limit)
    {
        let words = bound(schema.exclusive_maximum, false);
        outcome.add(outside(name, value.into(), words, &go::float::general(limit)));
    }
    outcome
}
