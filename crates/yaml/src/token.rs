//! The tokens between scanner and parser.

use std::borrow::Cow;

/// A place in the text: characters from its start, lines and columns counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    pub(crate) index: usize,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Mark {
    /// The position after an indicator of one character.
    pub(crate) fn next(self) -> Self {
        Self { index: self.index + 1, line: self.line, column: self.column + 1 }
    }
}

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScalarStyle {
    /// Without quotes.
    #[default]
    Plain,
    /// In single quotes.
    SingleQuoted,
    /// In double quotes.
    DoubleQuoted,
    /// A block after `|`.
    Literal,
    /// A block after `>`.
    Folded,
}

/// A token and where it starts.
#[derive(Debug, Clone)]
pub(crate) struct Token<'a> {
    pub(crate) mark: Mark,
    pub(crate) kind: TokenKind<'a>,
}

/// What a token is.
#[derive(Debug, Clone)]
pub(crate) enum TokenKind<'a> {
    StreamEnd,
    VersionDirective { major: u32, minor: u32 },
    TagDirective { handle: &'a str, prefix: Cow<'a, str> },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    Tag { handle: &'a str, suffix: Cow<'a, str> },
    Scalar { value: Cow<'a, str>, style: ScalarStyle },
}
