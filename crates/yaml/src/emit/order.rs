//! The order in which go-yaml writes the keys of a map: letters by code, digits by their number.

use std::cmp::Ordering;

/// Sorts `items` by key. go-yaml's order is not a total one for every set of keys, so this is a
/// merge sort of our own: the standard library's may panic then.
pub(super) fn sort_by_key<T: Copy>(items: &mut [T], key: impl Fn(&T) -> &str) {
    if items.windows(2).all(|pair| !less(key(&pair[1]), key(&pair[0]))) {
        return;
    }
    let mut buffer = items.to_vec();
    let mut width = 1;
    while width < items.len() {
        for (source, target) in items.chunks(2 * width).zip(buffer.chunks_mut(2 * width)) {
            let (left, right) = source.split_at(width.min(source.len()));
            merge(left, right, target, &key);
        }
        items.copy_from_slice(&buffer);
        width *= 2;
    }
}

fn merge<T: Copy>(left: &[T], right: &[T], target: &mut [T], key: &impl Fn(&T) -> &str) {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    for slot in target {
        let take_right = match (left.peek(), right.peek()) {
            (Some(left), Some(right)) => less(key(right), key(left)),
            (left, _) => left.is_none(),
        };
        let next = if take_right { right.next() } else { left.next() };
        if let Some(next) = next {
            *slot = *next;
        }
    }
}

/// Whether key `a` is written before key `b`.
fn less(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() {
        compare(a.as_bytes(), b.as_bytes(), |byte| char::from(*byte)) == Ordering::Less
    } else {
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        compare(&a, &b, |character| *character) == Ordering::Less
    }
}

fn compare<C: PartialEq>(a: &[C], b: &[C], character: impl Fn(&C) -> char) -> Ordering {
    let Some(at) = a.iter().zip(b).position(|(a, b)| a != b) else { return a.len().cmp(&b.len()) };
    let (first, second) = (character(&a[at]), character(&b[at]));
    match (first.is_alphabetic(), second.is_alphabetic()) {
        (true, true) => return first.cmp(&second),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
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

    #[test]
    fn digits_count_as_numbers_and_come_before_letters() {
        let mut keys = ["b", "a10", "a2", "B", "_x", "1", "10", "2", "a", "a.b", "a-b", "ab"];
        sort_by_key(&mut keys, |key| key);
        assert_eq!(keys, ["_x", "1", "2", "10", "B", "a", "a-b", "a.b", "a2", "a10", "ab", "b"]);
    }
}
