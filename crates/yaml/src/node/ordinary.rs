//! Trees that go-yaml parses exactly as it wrote them, so that the round trip can be skipped.
//!
//! kustomize writes every object and parses it again before it prints it. That nearly always changes nothing; where it
//! might, the round trip is made.

use super::{Content, Node};
use crate::resolve::{Meaning, resolve};
use crate::token::ScalarStyle;
use crate::{Dialect, MAX_DEPTH};

/// The longest key that is written without `?`.
const SIMPLE_KEY: usize = 128;

impl Node {
    /// Whether writing the tree and reading it again certainly gives the same values, and gives them
    /// without an error.
    pub fn is_ordinary(&self) -> bool {
        matches!(self.content, Content::Mapping { .. }) && is_ordinary(self, MAX_DEPTH)
    }
}

fn is_ordinary(node: &Node, depth: usize) -> bool {
    if depth == 0 || node.tagged || node.anchor.is_some() {
        return false;
    }
    match &node.content {
        Content::Alias(_) => false,
        Content::Sequence { items, .. } => {
            matches!(node.tag.as_ref(), "" | "!!seq")
                && items.iter().all(|item| !is_emptied(item, item) && is_ordinary(item, depth - 1))
        }
        Content::Mapping { fields, .. } => {
            matches!(node.tag.as_ref(), "" | "!!map")
                && are_unique(fields)
                && fields.iter().all(|(key, value)| {
                    is_ordinary_key(key) && !is_emptied(key, value) && is_ordinary(value, depth - 1)
                })
        }
        Content::Scalar { value, style } => is_ordinary_scalar(node, value, *style),
    }
}

/// Whether a comment is in a collection that has become empty: go-yaml then writes the empty brackets
/// below the comment, where they cannot be read.
fn is_emptied(key: &Node, value: &Node) -> bool {
    let is_empty = match &value.content {
        Content::Sequence { items, .. } => items.is_empty(),
        Content::Mapping { fields, .. } => fields.is_empty(),
        _ => false,
    };
    is_empty && (key.comments.is_some() || value.comments.is_some())
}

/// Whether no key comes twice. Most mappings are small, where comparing beats sorting.
fn are_unique(fields: &[(Node, Node)]) -> bool {
    const SMALL: usize = 16;
    if fields.len() <= SMALL {
        let earlier = |index: usize| fields.iter().take(index);
        return fields.iter().enumerate().all(|(index, (key, _))| {
            earlier(index).all(|(other, _)| other.as_text() != key.as_text())
        });
    }
    let mut names: Vec<Option<&str>> = fields.iter().map(|(key, _)| key.as_text()).collect();
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

fn is_ordinary_key(key: &Node) -> bool {
    match &key.content {
        Content::Scalar { value, style } => {
            !key.tagged
                && key.anchor.is_none()
                && value.len() <= SIMPLE_KEY
                && !value.is_empty()
                && value != "<<"
                && is_harmless_line(value)
                && match key.tag.as_ref() {
                    "!!str" => !matches!(style, ScalarStyle::Literal | ScalarStyle::Folded),
                    "" => {
                        *style == ScalarStyle::Plain && resolve(value, Dialect::V3) == Meaning::Text
                    }
                    _ => false,
                }
        }
        _ => false,
    }
}

fn is_ordinary_scalar(node: &Node, text: &str, style: ScalarStyle) -> bool {
    match node.tag.as_ref() {
        "" | "!!str" => match style {
            ScalarStyle::Folded => false,
            ScalarStyle::Literal => is_ordinary_block(text),
            _ => {
                let is_text = node.tag == "!!str" || style != ScalarStyle::Plain;
                is_harmless_line(text) && (is_text || has_json(&resolve(text, Dialect::V3)))
            }
        },
        tag @ ("!!int" | "!!bool" | "!!null" | "!!float") => {
            let meaning = resolve(text, Dialect::V3);
            style == ScalarStyle::Plain && meaning.tag() == tag && has_json(&meaning)
        }
        _ => false,
    }
}

/// Whether JSON has the value as it is: not times, and no float that is not a number.
fn has_json(meaning: &Meaning) -> bool {
    match meaning {
        Meaning::Time(_) => false,
        Meaning::Float(value) => value.is_finite(),
        _ => true,
    }
}

/// A block with text in its first line and at most one final line break.
fn is_ordinary_block(text: &str) -> bool {
    text.starts_with(|first: char| !first.is_whitespace())
        && !text.ends_with("\n\n")
        && !text.ends_with(' ')
        && text.chars().all(is_harmless)
}

/// Whether a text without line breaks has only harmless characters.
fn is_harmless_line(text: &str) -> bool {
    // Without a way out of the loop, so that many bytes are looked at together.
    let is_plain = text.bytes().fold(true, |so_far, byte| so_far & matches!(byte, b' '..=b'~'));
    is_plain || text.chars().all(|character| character != '\n' && is_harmless(character))
}

/// Characters that every style holds and that no reader takes for a line break of another kind.
fn is_harmless(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{A1}'..='\u{2027}' | '\u{2030}'..='\u{D7FF}')
}
