//! A document as a tree that can be changed and written: kinds, tags, styles, comments, positions.

mod alias;
mod comments;
mod edit;
mod encode;
mod expand;
mod json;
mod ordinary;
mod read;

use std::borrow::Cow;

use crate::token::ScalarStyle;

pub use edit::is_special_in_yaml_1_1;
pub use read::{parse, parse_as, parse_first};

/// A document of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// The one node the document holds; a null scalar where it holds nothing.
    pub root: Node,
    /// The comment above the document's content, apart from it.
    pub head_comment: String,
    /// The comment at the document's end.
    pub foot_comment: String,
    /// Where it starts.
    pub position: Position,
}

/// A place in a text, both counted from one; zero for a node that was made, not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character of the line.
    pub column: usize,
}

/// A value with how it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    /// What it holds.
    pub content: Content,
    /// The tag in its short form, such as `!!str`: written, or what the value resolves to.
    pub tag: Cow<'static, str>,
    /// Whether the tag is written in the text.
    pub tagged: bool,
    /// The name it is anchored under.
    pub anchor: Option<String>,
    /// Its comments, where it has any.
    pub comments: Option<Box<Comments>>,
    /// Where it starts.
    pub position: Position,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A single value.
    Scalar {
        /// The text, without quotes and folding.
        value: String,
        /// How it is written.
        style: ScalarStyle,
    },
    /// Values in order.
    Sequence {
        /// The values.
        items: Vec<Node>,
        /// Whether it is written in brackets.
        flow: bool,
    },
    /// Pairs of key and value, in the order they are written.
    Mapping {
        /// The pairs.
        fields: Vec<(Node, Node)>,
        /// Whether it is written in braces.
        flow: bool,
    },
    /// A reference to the last node before it that is anchored under this name.
    Alias(String),
}

impl Default for Content {
    fn default() -> Self {
        Self::Scalar { value: String::new(), style: ScalarStyle::Plain }
    }
}

/// The comments of a node, each with its `#`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comments {
    /// On the lines above.
    pub head: String,
    /// On the same line.
    pub line: String,
    /// On the lines below, before an empty line.
    pub foot: String,
}
