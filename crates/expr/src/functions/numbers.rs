//! Numbers of different kinds compared and converted without loss.

use std::cmp::Ordering;

/// 2^63 and 2^64, exactly.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

/// The order of a double that is a number and an integer.
pub(crate) fn compare_double_int(double: f64, int: i64) -> Ordering {
    if double < -TWO_TO_63 {
        return Ordering::Less;
    }
    if double > TWO_TO_63 {
        return Ordering::Greater;
    }
    double.partial_cmp(&as_double(int)).unwrap_or(Ordering::Equal)
}

/// The order of a double that is a number and an unsigned integer.
pub(crate) fn compare_double_uint(double: f64, uint: u64) -> Ordering {
    if double < 0.0 {
        return Ordering::Less;
    }
    if double > TWO_TO_64 {
        return Ordering::Greater;
    }
    double.partial_cmp(&uint_as_double(uint)).unwrap_or(Ordering::Equal)
}

/// The order of a signed and an unsigned integer.
pub(crate) fn compare_int_uint(int: i64, uint: u64) -> Ordering {
    i128::from(int).cmp(&i128::from(uint))
}

/// The nearest double.
#[expect(clippy::cast_precision_loss, reason = "the language rounds to the nearest double")]
pub(crate) fn as_double(int: i64) -> f64 {
    int as f64
}

/// The nearest double.
#[expect(clippy::cast_precision_loss, reason = "the language rounds to the nearest double")]
pub(crate) fn uint_as_double(uint: u64) -> f64 {
    uint as f64
}

/// The double without its fraction, if an integer can hold it.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
pub(crate) fn truncate_int(double: f64) -> Option<i64> {
    (double > -TWO_TO_63 && double < TWO_TO_63).then_some(double as i64)
}

/// The double without its fraction, if an unsigned integer can hold it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
pub(crate) fn truncate_uint(double: f64) -> Option<u64> {
    (0.0..TWO_TO_64).contains(&double).then_some(double as u64)
}

/// The integer a double is, if it is one.
pub(crate) fn exact_int(double: f64) -> Option<i64> {
    truncate_int(double).filter(|int| as_double(*int).to_bits() == (double + 0.0).to_bits())
}

/// The unsigned integer a double is, if it is one.
pub(crate) fn exact_uint(double: f64) -> Option<u64> {
    truncate_uint(double).filter(|uint| uint_as_double(*uint).to_bits() == (double + 0.0).to_bits())
}

/// The seconds of a duration as Go's `Seconds` computes them.
pub(crate) fn seconds(nanos: i64) -> f64 {
    as_double(nanos / 1_000_000_000) + as_double(nanos % 1_000_000_000) / 1e9
}
