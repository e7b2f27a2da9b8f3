//! What a pattern consists of, with flags already resolved, and the bounds that Go sets on it.

/// Levels of sub-expressions in each other that Go accepts.
pub(super) const MAX_HEIGHT: u32 = 1000;
/// Instructions that Go accepts: 128 MiB of 40 bytes each.
pub(super) const MAX_SIZE: u64 = (128 << 20) / 40;
/// Copies that nested counts may ask for.
pub(super) const MAX_COPIES: u64 = 1000;

/// A part of a pattern, with what the bounds are about.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Levels of nodes, as Go counts them: groups that capture nothing are none.
    pub(super) height: u32,
    /// Instructions, about as Go estimates them.
    pub(super) size: u64,
    /// The highest product of counts on a way down.
    pub(super) copies: u64,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// Matches nothing at all: `()`, or one side of `a|`.
    Empty,
    /// A character; none is a surrogate, which no text contains.
    Literal {
        character: Option<char>,
        fold: bool,
    },
    /// The inside of a class in the syntax of the `regex` crate.
    Class {
        inside: String,
        negated: bool,
        fold: bool,
    },
    /// `.`, with or without the line break, or an assertion, in the syntax of the `regex` crate.
    Fixed(&'static str),
    Capture {
        name: Option<String>,
        inner: Box<Node>,
    },
    Repeat {
        least: u32,
        most: Option<u32>,
        greedy: bool,
        inner: Box<Node>,
    },
    Concat(Vec<Node>),
    Alternate(Vec<Node>),
}

impl Node {
    /// A node without parts.
    pub(super) fn leaf(kind: Kind) -> Self {
        Self { kind, height: 1, size: 1, copies: 1 }
    }

    pub(super) fn capture(name: Option<String>, inner: Self) -> Self {
        let (height, size, copies) = (inner.height + 1, inner.size.saturating_add(2), inner.copies);
        Self { kind: Kind::Capture { name, inner: Box::new(inner) }, height, size, copies }
    }

    /// `*`, `+` and `?`, which are no counts: `(a{1000})*` asks for no more copies than `a{1000}`.
    pub(super) fn repeated(least: u32, most: Option<u32>, greedy: bool, inner: Self) -> Self {
        let (height, copies) = (inner.height + 1, inner.copies);
        let size = inner.size.saturating_add(if least == 0 && most.is_none() { 2 } else { 1 });
        let kind = Kind::Repeat { least, most, greedy, inner: Box::new(inner) };
        Self { kind, height, size, copies }
    }

    /// `{least,most}`.
    pub(super) fn counted(least: u32, most: Option<u32>, greedy: bool, inner: Self) -> Self {
        let count = u64::from(most.unwrap_or(least));
        let copies = if most == Some(0) { 1 } else { inner.copies.saturating_mul(count.max(1)) };
        let size = match most {
            None if least == 0 => inner.size.saturating_add(2),
            None => inner.size.saturating_mul(count).saturating_add(1),
            Some(most) => {
                let optional = u64::from(most.saturating_sub(least));
                inner.size.saturating_mul(count).saturating_add(optional).max(1)
            }
        };
        let height = inner.height + 1;
        let kind = Kind::Repeat { least, most, greedy, inner: Box::new(inner) };
        Self { kind, height, size, copies }
    }

    /// Parts behind each other.
    pub(super) fn concat(mut parts: Vec<Self>) -> Self {
        match parts.len() {
            0 => Self::leaf(Kind::Empty),
            1 => parts.remove(0),
            _ => {
                let is_text = parts.iter().all(|part| matches!(part.kind, Kind::Literal { .. }));
                let mut node = Self::joined(parts, 0, Kind::Concat);
                if is_text {
                    node.height = 1;
                }
                node
            }
        }
    }

    /// Parts of which one has to match.
    pub(super) fn alternate(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let branches = parts.len() as u64 - 1;
        Self::joined(parts, branches, Kind::Alternate)
    }

    fn joined(parts: Vec<Self>, extra: u64, kind: fn(Vec<Self>) -> Kind) -> Self {
        let height = 1 + parts.iter().map(|part| part.height).max().unwrap_or_default();
        let size = parts.iter().fold(extra, |sum, part| sum.saturating_add(part.size));
        let copies = parts.iter().map(|part| part.copies).max().unwrap_or(1);
        Self { kind: kind(parts), height, size, copies }
    }
}
