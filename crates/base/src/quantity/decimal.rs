//! Exact decimal numbers of any length, as digits: all that quantities need and no more.

use std::cmp::Ordering;

/// The most digits an addition may produce; beyond it the operands are absurdly far apart.
const LONGEST_SUM: i64 = 4096;

/// `digits` times ten to the `exponent`, negated when `negative`.
#[derive(Debug, Clone, Default)]
pub(super) struct Decimal {
    pub(super) negative: bool,
    /// Most significant first, without leading zeros; empty is zero.
    pub(super) digits: Vec<u8>,
    pub(super) exponent: i32,
}

impl Decimal {
    /// From ASCII digits.
    pub(super) fn new(negative: bool, ascii: impl Iterator<Item = u8>, exponent: i32) -> Self {
        let digits: Vec<u8> =
            ascii.map(|digit| digit.wrapping_sub(b'0')).skip_while(|digit| *digit == 0).collect();
        Self { negative: negative && !digits.is_empty(), digits, exponent }
    }

    pub(super) fn from_integer(value: i64) -> Self {
        Self::new(value < 0, value.unsigned_abs().to_string().into_bytes().into_iter(), 0)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether there is nothing behind the point.
    pub(super) fn is_integer(&self) -> bool {
        let behind = usize::try_from(-i64::from(self.exponent)).unwrap_or(0);
        self.digits.iter().rev().take(behind).all(|digit| *digit == 0)
    }

    /// Multiplies by a power of two, ten bits at a time.
    pub(super) fn shift_left(&mut self, bits: u32) {
        for _ in 0..bits / 10 {
            let mut carry: u32 = 0;
            for digit in self.digits.iter_mut().rev() {
                let product = u32::from(*digit) * 1024 + carry;
                *digit = last_digit(product);
                carry = product / 10;
            }
            let mut front = Vec::new();
            while carry > 0 {
                front.push(last_digit(carry));
                carry /= 10;
            }
            front.reverse();
            self.digits.splice(0..0, front);
        }
    }

    /// Divides digits by 1024 where that leaves no rest.
    pub(super) fn divide_by_1024(&mut self) -> bool {
        let mut rest: u32 = 0;
        let mut quotient = Vec::with_capacity(self.digits.len());
        for digit in &self.digits {
            let value = rest * 10 + u32::from(*digit);
            let part = last_digit(value / 1024);
            if part != 0 || !quotient.is_empty() {
                quotient.push(part);
            }
            rest = value % 1024;
        }
        if rest == 0 {
            self.digits = quotient;
        }
        rest == 0
    }

    /// Rounds away from zero so that no digit is left below ten to the `exponent`.
    pub(super) fn round_up_to(&mut self, exponent: i32) {
        let Ok(drop) = usize::try_from(i64::from(exponent) - i64::from(self.exponent)) else {
            return;
        };
        if drop == 0 || self.is_zero() {
            return;
        }
        let kept = self.digits.len().saturating_sub(drop);
        let lost = self.digits.split_off(kept);
        self.exponent = exponent;
        if lost.iter().any(|digit| *digit != 0) {
            self.increment();
        }
    }

    fn increment(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
    }

    /// Moves trailing zeros of the digits into the exponent.
    pub(super) fn normalize(&mut self) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent = self.exponent.wrapping_add(1);
        }
    }

    /// The sum, unless the operands are so far apart that it would be endlessly long.
    pub(super) fn checked_add(&self, other: &Self) -> Option<Self> {
        if self.is_zero() {
            return Some(other.clone());
        }
        if other.is_zero() {
            return Some(self.clone());
        }
        let low = self.exponent.min(other.exponent);
        let left = self.widened(low)?;
        let right = other.widened(low)?;
        let (negative, digits) = if self.negative == other.negative {
            (self.negative, add(&left, &right))
        } else {
            match compare(&left, &right) {
                Ordering::Equal => (false, Vec::new()),
                Ordering::Greater => (self.negative, subtract(&left, &right)),
                Ordering::Less => (other.negative, subtract(&right, &left)),
            }
        };
        Some(Self { negative, digits, exponent: low })
    }

    /// The digits at a lower exponent.
    fn widened(&self, exponent: i32) -> Option<Vec<u8>> {
        let zeros = i64::from(self.exponent) - i64::from(exponent);
        if zeros > LONGEST_SUM {
            return None;
        }
        let mut digits = self.digits.clone();
        digits.resize(digits.len() + usize::try_from(zeros).ok()?, 0);
        Some(digits)
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match (self.sign(), other.sign()) {
            (left, right) if left != right => left.cmp(&right),
            (0, _) => Ordering::Equal,
            (sign, _) => {
                let magnitude = self.compare_magnitude(other);
                if sign < 0 { magnitude.reverse() } else { magnitude }
            }
        }
    }

    pub(super) fn sign(&self) -> i8 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        let top = |decimal: &Self| {
            i64::try_from(decimal.digits.len()).unwrap_or(i64::MAX) + i64::from(decimal.exponent)
        };
        top(self).cmp(&top(other)).then_with(|| {
            let length = self.digits.len().max(other.digits.len());
            let digit = |decimal: &Self, at: usize| decimal.digits.get(at).copied().unwrap_or(0);
            (0..length)
                .map(|at| digit(self, at).cmp(&digit(other, at)))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }

    /// The value in units of ten to the `scale`, rounded away from zero; `None` beyond 64 bits.
    pub(super) fn scaled(&self, scale: i32) -> Option<i64> {
        let mut rounded = self.clone();
        rounded.round_up_to(scale);
        if rounded.is_zero() {
            return Some(0);
        }
        let zeros = u32::try_from(i64::from(rounded.exponent) - i64::from(scale)).ok()?;
        if zeros > 19 || rounded.digits.len() > 20 {
            return None;
        }
        let mut value: i128 = 0;
        for digit in &rounded.digits {
            value = value * 10 + i128::from(*digit);
        }
        value *= 10i128.pow(zeros);
        i64::try_from(if rounded.negative { -value } else { value }).ok()
    }

    pub(super) fn text_of_digits(&self) -> String {
        let mut text = String::with_capacity(self.digits.len() + 1);
        if self.negative {
            text.push('-');
        }
        text.extend(self.digits.iter().map(|digit| char::from(b'0' + digit)));
        text
    }
}

fn last_digit(value: u32) -> u8 {
    u8::try_from(value % 10).unwrap_or(0)
}

fn compare(left: &[u8], right: &[u8]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

fn add(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut sum = Vec::with_capacity(left.len().max(right.len()) + 1);
    let mut carry = 0;
    let (mut lefts, mut rights) = (left.iter().rev(), right.iter().rev());
    loop {
        let (one, two) = (lefts.next(), rights.next());
        if one.is_none() && two.is_none() && carry == 0 {
            break;
        }
        let value = one.unwrap_or(&0) + two.unwrap_or(&0) + carry;
        sum.push(value % 10);
        carry = value / 10;
    }
    sum.reverse();
    sum
}

/// `left - right` for a `left` that is the larger.
fn subtract(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut difference = Vec::with_capacity(left.len());
    let mut borrow = 0;
    let mut rights = right.iter().rev();
    for digit in left.iter().rev() {
        let take = rights.next().unwrap_or(&0) + borrow;
        borrow = u8::from(take > *digit);
        difference.push(digit + 10 * borrow - take);
    }
    while difference.last() == Some(&0) {
        difference.pop();
    }
    difference.reverse();
    difference
}
