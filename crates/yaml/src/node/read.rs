//! Events to trees.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Content, Document, Node, Position};
use crate::error::Error;
use crate::parser::{Event, EventKind, Parser, Properties};
use crate::resolve::{resolve, short_tag};
use crate::token::{Mark, ScalarStyle};
use crate::{Dialect, MAX_DEPTH, input, too_deep};

/// Reads every document of `text`, as go-yaml v3 does.
pub fn parse(text: &[u8]) -> Result<Vec<Document>, Error> {
    parse_as(text, Dialect::V3)
}

/// Reads every document of `text` in the given dialect.
pub fn parse_as(text: &[u8], dialect: Dialect) -> Result<Vec<Document>, Error> {
    let text = input::decode(text)?;
    let mut parser = Parser::new(&text, dialect);
    let mut documents = Vec::new();
    loop {
        let start = parser.next_event()?;
        if let EventKind::StreamEnd = start.kind {
            return Ok(documents);
        }
        let mut reader = Reader { dialect, anchors: BTreeSet::new(), open: Vec::new(), root: None };
        while reader.take(parser.next_event()?)? {}
        let root = reader.root.unwrap_or_default();
        documents.push(Document { root, line: start.mark.line + 1, ..Document::default() });
    }
}

/// The tree of one document while it is read. The open collections are a list of its own, so that
/// the depth of a text costs no stack.
struct Reader<'a> {
    dialect: Dialect,
    anchors: BTreeSet<&'a str>,
    open: Vec<Open>,
    root: Option<Node>,
}

/// A collection that is not closed yet, and the key that waits for its value.
struct Open {
    node: Node,
    key: Option<Node>,
}

impl<'a> Reader<'a> {
    /// Takes one event in; false when it ended the document.
    fn take(&mut self, Event { mark, kind }: Event<'a>) -> Result<bool, Error> {
        match kind {
            EventKind::Alias(name) => {
                if !self.anchors.contains(name) {
                    return Err(Error::problem(format!("unknown anchor '{name}' referenced")));
                }
                let content = Content::Alias(name.to_owned());
                self.attach(Node { content, position: place(mark), ..Node::default() });
            }
            EventKind::Scalar(properties, value, style) => {
                let implicit = match style {
                    ScalarStyle::Plain if value == "<<" => "!!merge",
                    ScalarStyle::Plain => resolve(&value, self.dialect).tag(),
                    _ => "!!str",
                };
                let content = Content::Scalar { value: value.into_owned(), style };
                let node = self.node(content, &properties, implicit, mark);
                self.attach(node);
            }
            EventKind::SequenceStart { properties, flow } => {
                let content = Content::Sequence { items: Vec::new(), flow };
                let node = self.node(content, &properties, "!!seq", mark);
                self.open(node)?;
            }
            EventKind::MappingStart { properties, flow } => {
                let content = Content::Mapping { fields: Vec::new(), flow };
                let node = self.node(content, &properties, "!!map", mark);
                self.open(node)?;
            }
            EventKind::SequenceEnd | EventKind::MappingEnd => {
                if let Some(closed) = self.open.pop() {
                    self.attach(closed.node);
                }
            }
            EventKind::DocumentStart | EventKind::DocumentEnd | EventKind::StreamEnd => {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn open(&mut self, node: Node) -> Result<(), Error> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.open.push(Open { node, key: None });
        Ok(())
    }

    /// Puts a finished node where it belongs.
    fn attach(&mut self, node: Node) {
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        match &mut parent.node.content {
            Content::Sequence { items, .. } => items.push(node),
            Content::Mapping { fields, .. } => match parent.key.take() {
                None => parent.key = Some(node),
                Some(key) => fields.push((key, node)),
            },
            Content::Scalar { .. } | Content::Alias(_) => {}
        }
    }

    fn node(
        &mut self,
        content: Content,
        properties: &Properties<'a>,
        implicit: &'static str,
        mark: Mark,
    ) -> Node {
        if let Some(anchor) = properties.anchor {
            self.anchors.insert(anchor);
        }
        let written = properties.tag.as_deref().filter(|tag| *tag != "!");
        Node {
            content,
            tag: match written {
                Some(tag) => Cow::Owned(short_tag(tag).into_owned()),
                None => Cow::Borrowed(implicit),
            },
            tagged: written.is_some(),
            anchor: properties.anchor.map(str::to_owned),
            comments: None,
            position: place(mark),
        }
    }
}

fn place(mark: Mark) -> Position {
    Position { line: mark.line + 1, column: mark.column + 1 }
}
