//! Go's `filepath.Match`: stars, question marks, classes and escapes within one name.

/// A pattern for a name, split at its stars.
#[derive(Debug, Clone)]
pub(crate) struct Glob {
    pieces: Vec<Piece>,
}

/// A malformed pattern in Go's sense: an error only when the malformed part is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadPattern;

#[derive(Debug, Clone)]
struct Piece {
    after_star: bool,
    signs: Result<Vec<Sign>, BadPattern>,
}

#[derive(Debug, Clone)]
enum Sign {
    Byte(u8),
    AnyCharacter,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl Glob {
    pub(crate) fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let after = rest.trim_start_matches('*');
            let end = piece_length(after.as_bytes());
            let (piece, next) = after.split_at_checked(end).unwrap_or((after, ""));
            pieces.push(Piece { after_star: after.len() < rest.len(), signs: signs(piece) });
            rest = next;
        }
        Self { pieces }
    }

    /// Whether no part is malformed.
    pub(crate) fn is_valid(&self) -> bool {
        self.pieces.iter().all(|piece| piece.signs.is_ok())
    }

    pub(crate) fn matches(&self, name: &str) -> Result<bool, BadPattern> {
        let mut name = name.as_bytes();
        let last = self.pieces.len().saturating_sub(1);
        for (index, piece) in self.pieces.iter().enumerate() {
            let signs = piece.signs.as_ref().map_err(|error| *error)?;
            if piece.after_star && signs.is_empty() {
                return Ok(!name.contains(&b'/'));
            }
            // The last part has to match at the end of the name.
            let begins = |from: &'_ [u8]| -> Option<usize> {
                let left = begin(signs, from)?;
                (index < last || left == 0).then_some(left)
            };
            let skips = if piece.after_star {
                name.iter().position(|byte| *byte == b'/').unwrap_or(name.len())
            } else {
                0
            };
            let found = (0..=skips).find_map(|skip| begins(name.get(skip..)?));
            let Some(left) = found else { return Ok(false) };
            name = name.get(name.len() - left..).unwrap_or_default();
        }
        Ok(name.is_empty())
    }
}

/// The length of a part: up to the next star that is neither in a class nor escaped.
fn piece_length(text: &[u8]) -> usize {
    let mut in_class = false;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' if at + 1 < text.len() => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => break,
            _ => {}
        }
        at += 1;
    }
    at.min(text.len())
}

fn signs(piece: &str) -> Result<Vec<Sign>, BadPattern> {
    let mut signs = Vec::new();
    let mut rest = piece;
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        match first {
            '[' => {
                let (class, after) = class(after)?;
                signs.push(class);
                rest = after;
                continue;
            }
            '?' => signs.push(Sign::AnyCharacter),
            '\\' => {
                let escaped = after.chars().next().ok_or(BadPattern)?;
                signs.extend(bytes_of(escaped));
                rest = after.get(escaped.len_utf8()..).unwrap_or_default();
                continue;
            }
            other => signs.extend(bytes_of(other)),
        }
        rest = after;
    }
    Ok(signs)
}

fn bytes_of(character: char) -> Vec<Sign> {
    let mut buffer = [0; 4];
    character.encode_utf8(&mut buffer).bytes().map(Sign::Byte).collect()
}

fn class(text: &str) -> Result<(Sign, &str), BadPattern> {
    let (negated, mut rest) = match text.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut ranges = Vec::new();
    loop {
        if let (Some(after), false) = (rest.strip_prefix(']'), ranges.is_empty()) {
            return Ok((Sign::Class { negated, ranges }, after));
        }
        let (low, after) = class_character(rest)?;
        rest = after;
        let mut high = low;
        if let Some(after) = rest.strip_prefix('-') {
            (high, rest) = class_character(after)?;
        }
        ranges.push((low, high));
    }
}

/// A character of a class; another one must follow.
fn class_character(text: &str) -> Result<(char, &str), BadPattern> {
    if text.starts_with(['-', ']']) {
        return Err(BadPattern);
    }
    let text = text.strip_prefix('\\').unwrap_or(text);
    let character = text.chars().next().ok_or(BadPattern)?;
    let rest = text.get(character.len_utf8()..).unwrap_or_default();
    if rest.is_empty() { Err(BadPattern) } else { Ok((character, rest)) }
}

/// The number of bytes after a match of the tokens at the start of a name.
fn begin(signs: &[Sign], name: &[u8]) -> Option<usize> {
    let mut rest = name;
    for sign in signs {
        let (first, after) = rest.split_first()?;
        match sign {
            Sign::Byte(byte) => {
                if byte != first {
                    return None;
                }
                rest = after;
            }
            Sign::AnyCharacter => {
                if *first == b'/' {
                    return None;
                }
                rest = rest.get(decode(rest).1..).unwrap_or_default();
            }
            Sign::Class { negated, ranges } => {
                let (character, length) = decode(rest);
                let within = ranges.iter().any(|(low, high)| (*low..=*high).contains(&character));
                if within == *negated {
                    return None;
                }
                rest = rest.get(length..).unwrap_or_default();
            }
        }
    }
    Some(rest.len())
}

/// The first character and its length. A star may have stopped inside of one: then it is the replacement
/// character, one byte long.
fn decode(bytes: &[u8]) -> (char, usize) {
    for length in 1..=4 {
        let text = bytes.get(..length).and_then(|start| std::str::from_utf8(start).ok());
        if let Some(character) = text.and_then(|text| text.chars().next()) {
            return (character, length);
        }
    }
    (char::REPLACEMENT_CHARACTER, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_in_go() {
        let cases = [
            ("abc", "abc", Ok(true)),
            ("*", "abc", Ok(true)),
            ("*c", "abc", Ok(true)),
            ("a*", "ab/c", Ok(false)),
            ("a*b*c*d*e*", "axbxcxdxe", Ok(true)),
            ("ab[c]", "abc", Ok(true)),
            ("ab[^b-d]", "abc", Ok(false)),
            ("a\\*b", "a*b", Ok(true)),
            ("a???b", "a☺b", Ok(false)),
            ("a?b", "a☺b", Ok(true)),
            ("[a-ζ]*", "α", Ok(true)),
            ("*[a-ζ]", "A", Ok(false)),
            ("[\\]a]", "]", Ok(true)),
            ("[]a]", "]", Err(BadPattern)),
            ("[x-]", "x", Err(BadPattern)),
            ("a[", "a", Err(BadPattern)),
            ("[", "a", Err(BadPattern)),
            ("*x", "xxx", Ok(true)),
            ("x*[", "abc", Ok(false)),
            ("", "", Ok(true)),
            ("", "a", Ok(false)),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(Glob::parse(pattern).matches(name), expected, "{pattern:?} {name:?}");
        }
    }
}
