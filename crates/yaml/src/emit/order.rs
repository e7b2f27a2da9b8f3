//! The order in which go-yaml writes the keys of a map: letters by code, digits by their number.

use std::cmp::Ordering;

use crate::Dialect;

/// Sorts `items` by key. go-yaml's order is not a total one for every set of keys, so this is a
/// merge sort of our own: the standard library's may panic then.
pub(crate) fn sort_by_key<T: Copy>(items: &mut [T], dialect: Dialect, key: impl Fn(&T) -> &str) {
    let less = |a: &T, b: &T| less(key(a), key(b), dialect);
    if items.windows(2).all(|pair| !less(&pair[1], &pair[0])) {
        return;
    }
    let mut buffer = items.to_vec();
    let mut width = 1;
    while width < items.len() {
        for (source, target) in items.chunks(2 * width).zip(buffer.chunks_mut(2 * width)) {
            let (left, right) = source.split_at(width.min(source.len()));
            merge(left, right, target, &less);
        }
        items.copy_from_slice(&buffer);
        width *= 2;
    }
}

fn merge<T: Copy>(left: &[T], right: &[T], target: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    for slot in target {
        let take_right = match (left.peek(), right.peek()) {
            (Some(left), Some(right)) => less(right, left),
            (left, _) => left.is_none(),
        };
        let next = if take_right { right.next() } else { left.next() };
        if let Some(next) = next {
            *slot = *next;
        }
    }
}

/// Whether key `a` is written before key `b`.
fn less(a: &str, b: &str, dialect: Dialect) -> bool {
    if a.is_ascii() && b.is_ascii() {
        compare(a.as_bytes(), b.as_bytes(), dialect, |byte| char::from(*byte)) == Ordering::Less
    } else {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        compare(&a, &b, dialect, |character| *character) == Ordering::Less
    }
}

fn compare<C: PartialEq>(
    a: &[C],
    b: &[C],
    dialect: Dialect,
    character: impl Fn(&C) -> char,
) -> Ordering {
    let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) else { return a.len().cmp(&b.len()) };
    let (first, second) = (character(&a[at]), character(&b[at]));
    match (first.is_alphabetic(), second.is_alphabetic()) {
        (true, true) => return first.cmp(&second),
        (false, false) => {}
        (first_is_letter, _) => {
            // Version 3 has letters first behind digits that both have.
            let after_digit = at > 0 && character(&a[at - 1]).is_numeric();
            let letters_first = dialect == Dialect::V3 && after_digit;
            let is_less = first_is_letter == letters_first;
            return if is_less { Ordering::Less } else { Ordering::Greater };
        }
    }
    // A zero behind other digits does not start a number.
    let mut start = 0;
    if first == '0' || second == '0' {
        let mut digits = a[..at].iter().rev().map(&character).take_while(char::is_ascii_digit);
        if digits.any(|digit| digit != '0') {
            start = 1;
        }
    }
    let (a_number, a_length) = number(&a[at..], start, &character);
    let (b_number, b_length) = number(&b[at..], start, &character);
    a_number.cmp(&b_number).then(a_length.cmp(&b_length)).then(first.cmp(&second))
}

fn number<C>(text: &[C], start: i64, character: impl Fn(&C) -> char) -> (i64, usize) {
    let digits = text.iter().map_while(|item| character(item).to_digit(10));
    digits.fold((start, 0), |(sum, length), digit| {
        (sum.wrapping_mul(10).wrapping_add(i64::from(digit)), length + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::sort_by_key;
    use crate::Dialect;

    #[test]
    fn digits_count_as_numbers_and_come_before_letters() {
        let mut keys = ["b", "a10", "a2", "B", "_x", "1", "10", "2", "a", "a.b", "a-b", "ab"];
        sort_by_key(&mut keys, Dialect::V2, |key| key);
        assert_eq!(keys, ["_x", "1", "2", "10", "B", "a", "a-b", "a.b", "a2", "a10", "ab", "b"]);
    }

    #[test]
    fn behind_digits_the_versions_differ() {
        let mut keys = ["a1", "a1b", "a1-b"];
        sort_by_key(&mut keys, Dialect::V2, |key| key);
        assert_eq!(keys, ["a1", "a1-b", "a1b"]);
        sort_by_key(&mut keys, Dialect::V3, |key| key);
        assert_eq!(keys, ["a1", "a1b", "a1-b"]);
    }
}
