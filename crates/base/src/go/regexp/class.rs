//! Classes: `[…]`, `[:alpha:]`, `\d` and `\p{…}`.

use std::fmt::Write as _;

use super::node::{Kind, Node};
use super::{RegexpError, escape};

type Parsed<T> = Result<T, RegexpError>;

/// Names of Unicode classes that Go knows, in lower case, and the properties of the `regex` crate that they are.
static UNICODE_CLASSES: [(&str, &str); 197] = include!("unicode_classes.in");

const DIGIT: &str = "0-9";
const SPACE: &str = r"\t\n\x0C\r\x20";
const WORD: &str = "0-9A-Za-z_";
const EVERYTHING: &str = r"\x{0}-\x{10FFFF}";
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// `\d` and the like, and `\p{…}`, outside of brackets.
pub(super) fn escaped(text: &str, fold: bool) -> Parsed<Option<(Node, &str)>> {
    let mut inside = String::new();
    let rest = match unicode(text, &mut inside)? {
        Some(rest) => rest,
        None => match perl(text, &mut inside) {
            Some(rest) => rest,
            None => return Ok(None),
        },
    };
    Ok(Some((Node::leaf(Kind::Class { inside, negated: false, fold }), rest)))
}

/// `[…]`; `text` starts with the bracket.
pub(super) fn bracketed(text: &str, fold: bool) -> Parsed<(Node, &str)> {
    let mut inside = String::new();
    let inner = &text[1..];
    let negated = inner.starts_with('^');
    let mut rest = inner.strip_prefix('^').unwrap_or(inner);
    // A bracket or a dash that comes first is a member.
    let mut is_first = true;
    while is_first || !rest.starts_with(']') {
        is_first = false;
        if let Some(after) = named(rest, &mut inside)? {
            rest = after;
        } else if let Some(after) = unicode(rest, &mut inside)? {
            rest = after;
        } else if let Some(after) = perl(rest, &mut inside) {
            rest = after;
        } else {
            rest = range(rest, text, &mut inside)?;
        }
    }
    Ok((Node::leaf(Kind::Class { inside, negated, fold }), &rest[1..]))
}

/// One member, or a range of them; `[a-]` has the dash as a member.
fn range<'p>(text: &'p str, class: &str, inside: &mut String) -> Parsed<&'p str> {
    let (low, mut rest) = member(text, class)?;
    let mut high = low;
    if let Some(after) = rest.strip_prefix('-')
        && !after.is_empty()
        && !after.starts_with(']')
    {
        (high, rest) = member(after, class)?;
        if high < low {
            let part = &text[..text.len() - rest.len()];
            return Err(RegexpError::new("invalid character class range", part));
        }
    }
    push_range(inside, low, high);
    Ok(rest)
}

fn member<'p>(text: &'p str, class: &str) -> Parsed<(u32, &'p str)> {
    match text.chars().next() {
        None => Err(RegexpError::new("missing closing ]", class)),
        Some('\\') => escape::character(text),
        Some(other) => Ok((u32::from(other), &text[other.len_utf8()..])),
    }
}

/// Writes a range without its surrogates, which no text contains and the `regex` crate refuses.
fn push_range(inside: &mut String, low: u32, high: u32) {
    for (low, high) in [(low, high.min(0xd7ff)), (low.max(0xe000), high)] {
        if low <= high {
            // Writing to a String cannot fail.
            let _ = write!(inside, r"\x{{{low:X}}}-\x{{{high:X}}}");
        }
    }
}

/// `[:alpha:]` or `[:^alpha:]` inside of brackets.
fn named<'p>(text: &'p str, inside: &mut String) -> Parsed<Option<&'p str>> {
    let Some(end) = text.strip_prefix("[:").and_then(|inner| inner.find(":]")) else {
        return Ok(None);
    };
    let (class, rest) = text.split_at(end + 4);
    let name = &class[2..class.len() - 2];
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(RegexpError::new("invalid character class range", class));
    }
    inside.push_str(class);
    Ok(Some(rest))
}

/// `\d`, `\s`, `\w` and their opposites, which are ASCII.
fn perl<'p>(text: &'p str, inside: &mut String) -> Option<&'p str> {
    let (members, negated) = match text.as_bytes().get(..2)? {
        b"\\d" => (DIGIT, false),
        b"\\D" => (DIGIT, true),
        b"\\s" => (SPACE, false),
        b"\\S" => (SPACE, true),
        b"\\w" => (WORD, false),
        b"\\W" => (WORD, true),
        _ => return None,
    };
    push_set(inside, members, negated);
    text.get(2..)
}

fn push_set(inside: &mut String, members: &str, negated: bool) {
    if negated {
        let _ = write!(inside, "[^{members}]");
    } else {
        let _ = write!(inside, "[{members}]");
    }
}

/// `\pL`, `\p{Greek}`, `\P{Greek}`, `\p{^Greek}`.
fn unicode<'p>(text: &'p str, inside: &mut String) -> Parsed<Option<&'p str>> {
    let Some(after) = text.strip_prefix(r"\p").or_else(|| text.strip_prefix(r"\P")) else {
        return Ok(None);
    };
    let length = match after.chars().next() {
        Some('{') => text.find('}').map_or(text.len(), |end| end + 1),
        Some(letter) => 2 + letter.len_utf8(),
        None => 2,
    };
    let (class, rest) = text.split_at(length);
    let wrong = || RegexpError::new("invalid character class range", class);
    let name = match class[2..].strip_prefix('{') {
        Some(braced) => braced.strip_suffix('}').ok_or_else(wrong)?,
        None => &class[2..],
    };
    let opposite = name.starts_with('^');
    let name = name.strip_prefix('^').unwrap_or(name);
    let negated = text.starts_with(r"\P") != opposite;
    let (members, is_complement) = members(name).ok_or_else(wrong)?;
    push_set(inside, &members, negated != is_complement);
    Ok(Some(rest))
}

/// The members of a Unicode class, or of its complement. Go has Unicode 15.0, and the `regex` crate a newer one.
fn members(name: &str) -> Option<(String, bool)> {
    const AGE: &str = r"\p{age:15.0}";
    let name = name.replace(['_', '-', ' '], "").to_ascii_lowercase();
    Some(match name.as_str() {
        "any" => (EVERYTHING.to_owned(), false),
        "ascii" => (r"\x00-\x7F".to_owned(), false),
        "assigned" => (format!(r"\p{{gc=Cn}}[^{AGE}]"), true),
        name => {
            let at = UNICODE_CLASSES.binary_search_by_key(&name, |(name, _)| name).ok()?;
            let (_, property) = UNICODE_CLASSES.get(at)?;
            let members = match *property {
                // What is assigned since belongs to these in Unicode 15.0.
                "gc=Cn" | "gc=C" => format!(r"\p{{{property}}}[^{AGE}]"),
                _ => format!(r"\p{{{property}}}&&{AGE}"),
            };
            (members, false)
        }
    })
}
