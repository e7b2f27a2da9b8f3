//! Quantities as Kubernetes has them: exact numbers with a suffix, and their canonical form.
//!
//! The canonical form is what `resource.Quantity` prints, with its peculiarities: a text that looks
//! canonical to upstream's quick scan is kept as it was written (`+5`, `1.500`), and a number too
//! large for the decimal suffixes loses its suffix.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use self::decimal::Decimal;

mod decimal;

/// Digits that always fit a 64-bit integer.
const SAFE_DIGITS: usize = 18;

/// The smallest power of ten a quantity keeps.
const NANO: i32 = -9;

const DECIMAL_SUFFIXES: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

const BINARY_SUFFIXES: [(&str, i32); 6] =
    [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// Which family of suffixes a quantity was written with and is printed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`
    BinarySi,
    /// `12M`
    DecimalSi,
}

/// Why a text is no quantity, in upstream's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text has not the shape of a number with a suffix.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// The number cannot be read.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// An exact amount with the format it is printed in. Equality and order are those of the amounts.
#[derive(Debug, Clone)]
pub struct Quantity {
    amount: Decimal,
    format: Format,
    /// The text as written, when upstream takes it for canonical.
    written: Option<String>,
}

/// The canonical text of a quantity's text.
pub fn canonicalize(text: &str) -> Result<String, QuantityError> {
    Ok(Quantity::parse(text)?.to_string())
}

impl Quantity {
    /// Reads a quantity like `resource.ParseQuantity`.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let parts = Parts::split(text)?;
        let (exponent, format) = interpret(parts.suffix).ok_or(QuantityError::Suffix)?;
        let digits = parts.whole.len() + parts.fraction.len();
        let places = i32::try_from(parts.fraction.len()).map_err(|_| QuantityError::Numeric)?;
        let ascii = parts.whole.bytes().chain(parts.fraction.bytes());
        let binary = format == Format::BinarySi;
        let small = if binary {
            let taken = usize::try_from(exponent * 3 / 10 + 1).unwrap_or(0);
            places == 0 && parts.whole.len() + taken <= 15
        } else {
            digits <= SAFE_DIGITS
        };
        let power = if binary { 0 } else { exponent };
        let mut amount = Decimal::new(parts.negative, ascii, power.wrapping_sub(places));
        if small && amount.exponent >= NANO {
            let looks_canonical = if binary {
                !is_multiple_of_eight(&amount.digits)
            } else {
                amount.exponent % 3 == 0
                    && !amount.digits.ends_with(&[0, 0, 0])
                    && !parts.whole.starts_with('0')
            };
            if binary {
                amount.shift_left(exponent.unsigned_abs());
            }
            let written = (looks_canonical && !amount.is_zero()).then(|| text.to_owned());
            return Ok(Self { amount, format, written });
        }
        if !parts.has_digits {
            return Err(QuantityError::Numeric);
        }
        if binary {
            amount.shift_left(exponent.unsigned_abs());
        }
        amount.round_up_to(NANO);
        let mut format = format;
        if binary {
            let negative = std::mem::take(&mut amount.negative);
            let limit = Decimal::from_integer(i64::MAX);
            if amount.compare(&limit).is_gt() {
                amount = limit;
            }
            if !amount.is_zero() && amount.compare(&Decimal::from_integer(1)).is_lt() {
                format = Format::DecimalSi;
            }
            amount.negative = negative;
        }
        Ok(Self { amount, format, written: None })
    }

    /// A whole number in the given format.
    pub fn from_integer(value: i64, format: Format) -> Self {
        Self { amount: Decimal::from_integer(value), format, written: None }
    }

    /// A number of thousandths, printed with decimal suffixes.
    pub fn from_milli(value: i64) -> Self {
        let amount = Decimal { exponent: -3, ..Decimal::from_integer(value) };
        Self { amount, format: Format::DecimalSi, written: None }
    }

    /// The format the quantity is printed in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// -1, 0 or 1.
    pub fn sign(&self) -> i8 {
        self.amount.sign()
    }

    /// Whether the amount is nothing.
    pub fn is_zero(&self) -> bool {
        self.amount.is_zero()
    }

    /// Whether the amount has no fraction.
    pub fn is_integer(&self) -> bool {
        self.amount.is_integer()
    }

    /// The amount rounded away from zero to a whole number; `None` beyond 64 bits.
    pub fn value(&self) -> Option<i64> {
        self.amount.scaled(0)
    }

    /// The amount in thousandths, rounded away from zero; `None` beyond 64 bits.
    pub fn milli_value(&self) -> Option<i64> {
        self.amount.scaled(-3)
    }

    /// The nearest float.
    pub fn to_f64(&self) -> f64 {
        let text = format!("{}e{}", self.amount.text_of_digits(), self.amount.exponent);
        if self.is_zero() { 0.0 } else { text.parse().unwrap_or(f64::NAN) }
    }

    /// The sum in this quantity's format (in the other's when this is zero); `None` when the two
    /// are so many powers of ten apart that the sum could not be written down.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        let format = if self.is_zero() { other.format } else { self.format };
        Some(Self { amount: self.amount.checked_add(&other.amount)?, format, written: None })
    }

    /// The difference, with the format rule and the limit of [`Quantity::checked_add`].
    pub fn checked_sub(&self, other: &Self) -> Option<Self> {
        self.checked_add(&other.negated())
    }

    /// The same amount with the other sign.
    #[must_use]
    pub fn negated(&self) -> Self {
        let mut amount = self.amount.clone();
        amount.negative = !amount.negative && !amount.is_zero();
        Self { amount, format: self.format, written: None }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(written) = &self.written {
            return formatter.write_str(written);
        }
        if self.is_zero() {
            return formatter.write_str("0");
        }
        let bound = |value| Decimal::from_integer(value);
        let within =
            self.amount.compare(&bound(-1024)).is_gt() && self.amount.compare(&bound(1024)).is_lt();
        if self.format == Format::BinarySi
            && !within
            && self.amount.is_integer()
            && let Some(text) = binary_text(&self.amount)
        {
            return formatter.write_str(&text);
        }
        let mut amount = self.amount.clone();
        amount.normalize();
        let zeros = amount.exponent.rem_euclid(3);
        amount.digits.extend((0..zeros).map(|_| 0));
        amount.exponent = amount.exponent.wrapping_sub(zeros);
        formatter.write_str(&amount.text_of_digits())?;
        match (self.format, amount.exponent) {
            (Format::DecimalExponent, 0) => Ok(()),
            (Format::DecimalExponent, exponent) => write!(formatter, "e{exponent}"),
            (_, exponent) => {
                // Upstream prints no suffix at all where it has no name for the exponent.
                let known = DECIMAL_SUFFIXES.iter().find(|(_, power)| *power == exponent);
                formatter.write_str(known.map_or("", |(name, _)| name))
            }
        }
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.compare(&other.amount)
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let text = match &value {
            serde_json::Value::String(text) => text.clone(),
            other => crate::gojson::to_string(other),
        };
        // Upstream trims as well, although it means to stop.
        Self::parse(text.trim()).map_err(de::Error::custom)
    }
}

/// A quantity's text cut into its parts.
struct Parts<'a> {
    negative: bool,
    /// Without leading zeros, but `0` where nothing is left.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    /// Whether any digit was written at all; upstream's long way insists on one.
    has_digits: bool,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, QuantityError> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (zeros, rest) = digits_then_rest(unsigned, |byte| byte == b'0');
        let (whole, rest) = digits_then_rest(rest, |byte| byte.is_ascii_digit());
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => digits_then_rest(rest, |byte| byte.is_ascii_digit()),
            None => ("", rest),
        };
        let (_, tail) = digits_then_rest(suffix, |byte| b"eEinumkKMGTP".contains(&byte));
        let tail = tail.strip_prefix(['-', '+']).unwrap_or(tail);
        if !tail.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(QuantityError::Format);
        }
        let has_digits = !(zeros.is_empty() && whole.is_empty() && fraction.is_empty());
        let whole = if whole.is_empty() { "0" } else { whole };
        Ok(Self { negative, whole, fraction, suffix, has_digits })
    }
}

fn digits_then_rest(text: &str, belongs: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|byte| !belongs(byte)).unwrap_or(text.len());
    text.split_at(end)
}

/// The power (of ten, or of two for binary suffixes) and the format that a suffix stands for.
fn interpret(suffix: &str) -> Option<(i32, Format)> {
    if let Some((_, power)) = DECIMAL_SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        return Some((*power, Format::DecimalSi));
    }
    if let Some((_, power)) = BINARY_SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        return Some((*power, Format::BinarySi));
    }
    let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "upstream wraps the exponent to 32 bits")]
    let wrapped = exponent as i32;
    Some((wrapped, Format::DecimalExponent))
}

/// A whole amount with the largest binary suffix that keeps it whole.
fn binary_text(amount: &Decimal) -> Option<String> {
    let zeros = usize::try_from(amount.exponent.max(0)).ok().filter(|zeros| *zeros <= 4096)?;
    let mut whole = amount.clone();
    whole.round_up_to(0);
    whole.digits.resize(whole.digits.len() + zeros, 0);
    let mut power = 0;
    while whole.divide_by_1024() {
        power += 10;
    }
    let suffix = BINARY_SUFFIXES.iter().find(|(_, known)| *known == power);
    Some(whole.text_of_digits() + suffix.map_or("", |(name, _)| name))
}

fn is_multiple_of_eight(digits: &[u8]) -> bool {
    let last = digits.iter().rev().take(3).rev();
    last.fold(0u32, |value, digit| value * 10 + u32::from(*digit)) % 8 == 0
}

#[cfg(test)]
mod tests {
    use super::{Quantity, QuantityError, canonicalize};

    #[test]
    fn canonical_texts() {
        let cases = [
            ("1000m", "1"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.1n", "1n"),
            ("1500", "1500"),
            ("100000", "100k"),
            ("12e6", "12e6"),
            ("9Ei", "9223372036854775807"),
            ("0.5Ki", "512"),
            ("-0", "0"),
        ];
        for (text, expected) in cases {
            assert_eq!(canonicalize(text), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_huge_exponent_costs_nothing_and_never_panics() {
        let huge = Quantity::parse("1e2147483646").unwrap();
        let one = Quantity::parse("1").unwrap();
        assert!(huge > one);
        assert!(huge.checked_add(&one).is_none());
        assert_eq!(huge.value(), None);
        assert_eq!(canonicalize("10e2147483647"), Ok("10e2147483647".into()));
        assert_eq!(canonicalize("1e-2147483648"), Ok("1e-9".into()));
    }

    #[test]
    fn sums_keep_the_format_of_the_first() {
        let sum = |left: &str, right: &str| {
            Quantity::parse(left).unwrap().checked_add(&Quantity::parse(right).unwrap()).unwrap()
        };
        assert_eq!(sum("1Gi", "1024Mi").to_string(), "2Gi");
        assert_eq!(sum("0", "100m").to_string(), "100m");
        assert_eq!(sum("1", "-250m").to_string(), "750m");
        assert_eq!(sum("-1", "1").to_string(), "0");
    }

    #[test]
    fn a_quantity_is_read_from_text_or_number() {
        let read = |json: &str| serde_json::from_str::<Quantity>(json).map(|q| q.to_string());
        assert_eq!(read("\" 2Gi \"").unwrap(), "2Gi");
        assert_eq!(read("0.5").unwrap(), "500m");
        assert!(read("true").is_err());
        assert_eq!(Quantity::parse("1x").err(), Some(QuantityError::Format));
        assert_eq!(Quantity::parse("1ee").err(), Some(QuantityError::Suffix));
    }
}
