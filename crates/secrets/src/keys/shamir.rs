//! Shamir's secret sharing over GF(2^8).

/// Combines shares. Each share is as long as the secret, followed by its x coordinate.
pub(super) fn combine(parts: &[&[u8]]) -> Result<Vec<u8>, &'static str> {
    let [first, rest @ ..] = parts else {
        return Err("less than two parts cannot be used to reconstruct the secret");
    };
    if rest.is_empty() {
        return Err("less than two parts cannot be used to reconstruct the secret");
    }
    if first.len() < 2 {
        return Err("parts must be at least two bytes");
    }
    if rest.iter().any(|part| part.len() != first.len()) {
        return Err("all parts must be the same length");
    }
    let split: Vec<(u8, &[u8])> =
        parts.iter().filter_map(|part| part.split_last()).map(|(x, y)| (*x, y)).collect();
    let mut seen = [false; 256];
    for (x, _) in &split {
        if std::mem::replace(&mut seen[usize::from(*x)], true) {
            return Err("duplicate part detected");
        }
    }
    let weights: Vec<u8> = split.iter().map(|(x, _)| weight(*x, &split)).collect();
    let byte = |index: usize| {
        let terms = split.iter().zip(&weights);
        terms.fold(0, |sum, ((_, y), weight)| {
            sum ^ multiply(y.get(index).copied().unwrap_or(0), *weight)
        })
    };
    Ok((0..first.len() - 1).map(byte).collect())
}

/// The Lagrange coefficient of a share at zero.
fn weight(x: u8, parts: &[(u8, &[u8])]) -> u8 {
    let others = parts.iter().filter(|(other, _)| *other != x);
    others.fold(1, |product, (other, _)| multiply(product, multiply(*other, inverse(x ^ other))))
}

/// The product modulo x^8 + x^4 + x^3 + x + 1, in constant time.
fn multiply(a: u8, b: u8) -> u8 {
    let mut product = 0_u8;
    for bit in (0..8).rev() {
        let carry = (product >> 7).wrapping_neg() & 0x1b;
        let add = ((b >> bit) & 1).wrapping_neg() & a;
        product = (product << 1) ^ carry ^ add;
    }
    product
}

/// The inverse: the 254th power.
fn inverse(a: u8) -> u8 {
    let mut power = a;
    for _ in 0..6 {
        power = multiply(multiply(power, power), a);
    }
    multiply(power, power)
}

#[cfg(test)]
mod tests {
    use super::{combine, inverse, multiply};

    #[test]
    fn every_number_but_zero_has_an_inverse() {
        for number in 1..=255 {
            assert_eq!(multiply(number, inverse(number)), 1, "{number}");
        }
    }

    #[test]
    fn two_points_give_the_line() {
        // The line 0x2a + 7x at one and at two.
        let at = |x: u8| [0x2a ^ multiply(7, x), x];
        assert_eq!(combine(&[&at(1), &at(2)]), Ok(vec![0x2a]));
        assert_eq!(combine(&[&at(9), &at(200)]), Ok(vec![0x2a]));
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let none: [&[u8]; 0] = [];
        combine(&none).expect_err("none");
        combine(&[&[1, 2]]).expect_err("one");
        combine(&[&[1, 2], &[1, 2]]).expect_err("twice the same");
        combine(&[&[1, 2], &[1, 2, 3]]).expect_err("of different length");
        combine(&[&[1], &[2]]).expect_err("without content");
    }
}
