//! Shell patterns as upstream's copy of Go's `path.Match` has them: `*` also matches slashes.

use super::Envsubst;
use super::functions::Budget;
use super::scan::decode;

/// Whether the whole name matches; nothing where the pattern is found to be malformed. Only the part
/// of a pattern that is reached is looked at.
pub(super) fn matches(
    mut pattern: &[u8],
    mut name: &[u8],
    budget: &mut Budget,
) -> Result<Option<bool>, Envsubst> {
    'pattern: while !pattern.is_empty() {
        let (has_star, chunk, rest) = next_chunk(pattern);
        pattern = rest;
        if has_star && chunk.is_empty() {
            return Ok(Some(true));
        }
        let is_last = pattern.is_empty();
        match match_chunk(chunk, name, budget)? {
            Found::Rest(rest) if rest.is_empty() || !is_last => {
                name = rest;
                continue;
            }
            Found::Malformed => return Ok(None),
            Found::Rest(_) | Found::Nothing => {}
        }
        if has_star {
            for start in 1..=name.len() {
                match match_chunk(chunk, name.get(start..).unwrap_or_default(), budget)? {
                    Found::Rest(rest) if is_last && !rest.is_empty() => {}
                    Found::Rest(rest) => {
                        name = rest;
                        continue 'pattern;
                    }
                    Found::Malformed => return Ok(None),
                    Found::Nothing => {}
                }
            }
        }
        return Ok(Some(false));
    }
    Ok(Some(name.is_empty()))
}

/// Whether stars come first, what follows up to the next star, and the rest.
fn next_chunk(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    let pattern = pattern.get(stars..).unwrap_or_default();
    let mut is_in_class = false;
    let mut end = 0;
    while let Some(byte) = pattern.get(end) {
        match byte {
            b'\\' if end + 1 < pattern.len() => end += 1,
            b'[' => is_in_class = true,
            b']' => is_in_class = false,
            b'*' if !is_in_class => break,
            _ => {}
        }
        end += 1;
    }
    let (chunk, rest) = pattern.split_at_checked(end).unwrap_or((pattern, b""));
    (stars > 0, chunk, rest)
}

enum Found<'n> {
    /// The chunk matches the start; this is left.
    Rest(&'n [u8]),
    Nothing,
    Malformed,
}

/// Matches letters, `?` and classes against the start of a name.
fn match_chunk<'n>(
    mut chunk: &[u8],
    mut name: &'n [u8],
    budget: &mut Budget,
) -> Result<Found<'n>, Envsubst> {
    while let Some((&sign, after)) = chunk.split_first() {
        budget.steps(1)?;
        let Some((&byte, rest)) = name.split_first() else { return Ok(Found::Nothing) };
        match sign {
            b'[' => {
                let (letter, width) = decode(name);
                name = name.get(width..).unwrap_or_default();
                match match_class(after, letter) {
                    Some((true, after)) => chunk = after,
                    Some((false, _)) => return Ok(Found::Nothing),
                    None => return Ok(Found::Malformed),
                }
            }
            b'?' => {
                name = name.get(decode(name).1..).unwrap_or_default();
                chunk = after;
            }
            _ => {
                let literal =
                    if sign == b'\\' { after.split_first() } else { Some((&sign, after)) };
                let Some((&literal, after)) = literal else { return Ok(Found::Malformed) };
                if literal != byte {
                    return Ok(Found::Nothing);
                }
                name = rest;
                chunk = after;
            }
        }
    }
    Ok(Found::Rest(name))
}

/// Whether a letter is in a class that was opened, and what follows the class; nothing where it is
/// malformed.
fn match_class(chunk: &[u8], letter: char) -> Option<(bool, &[u8])> {
    let (is_negated, mut chunk) = match chunk.strip_prefix(b"^") {
        Some(rest) => (true, rest),
        None => (false, chunk),
    };
    let mut is_in = false;
    let mut is_first = true;
    loop {
        if let Some(rest) = chunk.strip_prefix(b"]")
            && !is_first
        {
            return Some((is_in != is_negated, rest));
        }
        is_first = false;
        let (low, rest) = class_letter(chunk)?;
        let (high, rest) = match rest.strip_prefix(b"-") {
            Some(rest) => class_letter(rest)?,
            None => (low, rest),
        };
        is_in |= (low..=high).contains(&letter);
        chunk = rest;
    }
}

/// A letter of a class, maybe escaped; something must follow it.
fn class_letter(chunk: &[u8]) -> Option<(char, &[u8])> {
    let chunk = match chunk.first()? {
        b'-' | b']' => return None,
        b'\\' => chunk.get(1..)?,
        _ => chunk,
    };
    let (letter, width) = decode(chunk);
    let is_invalid = letter == char::REPLACEMENT_CHARACTER && width == 1;
    let rest = chunk.get(width..).filter(|rest| !rest.is_empty())?;
    (!is_invalid && width > 0).then_some((letter, rest))
}
