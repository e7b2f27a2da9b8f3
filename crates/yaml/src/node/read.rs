//! Builds trees from events.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Comments, Content, Document, Node, Position};
use crate::error::Error;
use crate::parser::{Event, EventKind, Parser, Properties};
use crate::resolve::{resolve, short_tag};
use crate::token::{Mark, ScalarStyle};
use crate::{Dialect, MAX_DEPTH, input, too_deep};

/// Room for the first items and fields. Most collections have no more, and a vector would start with four
/// times the size of a pair.
const FEW: usize = 2;

/// Reads every document of `text`, as go-yaml v3 does.
pub fn parse(text: &[u8]) -> Result<Vec<Document>, Error> {
    parse_as(text, Dialect::V3)
}

/// Reads the first document of `text` and looks at nothing behind it, as go-yaml v3's `Decoder` does.
pub fn parse_first(text: &[u8]) -> Result<Option<Document>, Error> {
    let input = input::decode(text);
    next_document(&mut Parser::new(&input, Dialect::V3), Dialect::V3)
}

/// Reads every document of `text` in the given dialect.
pub fn parse_as(text: &[u8], dialect: Dialect) -> Result<Vec<Document>, Error> {
    let input = input::decode(text);
    let mut parser = Parser::new(&input, dialect);
    let mut documents = Vec::new();
    while let Some(document) = next_document(&mut parser, dialect)? {
        documents.push(document);
    }
    Ok(documents)
}

fn next_document(parser: &mut Parser<'_>, dialect: Dialect) -> Result<Option<Document>, Error> {
    let start = parser.next_event()?;
    if let EventKind::StreamEnd = start.kind {
        return Ok(None);
    }
    let mut reader = Reader { dialect, anchors: BTreeSet::new(), open: Vec::new(), root: None };
    let end = loop {
        let event = parser.next_event()?;
        if matches!(event.kind, EventKind::DocumentEnd | EventKind::StreamEnd) {
            break event;
        }
        reader.take(event)?;
    };
    Ok(Some(Document {
        root: reader.root.unwrap_or_default(),
        head_comment: start.comments.map(|comments| comments.head).unwrap_or_default(),
        foot_comment: end.comments.map(|comments| comments.foot).unwrap_or_default(),
        position: place(start.mark),
    }))
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
    fn take(&mut self, Event { mark, comments, kind }: Event<'a>) -> Result<(), Error> {
        match kind {
            EventKind::Alias(name) => {
                if !self.anchors.contains(name) {
                    return Err(Error::problem(format!("unknown anchor '{name}' referenced")));
                }
                let content = Content::Alias(name.to_owned());
                self.attach(Node { content, comments, position: place(mark), ..Node::default() });
            }
            EventKind::Scalar(properties, value, style) => {
                let implicit = match style {
                    ScalarStyle::Plain if value == "<<" => "!!merge",
                    ScalarStyle::Plain => resolve(&value, self.dialect).tag(),
                    _ => "!!str",
                };
                let content = Content::Scalar { value: value.into_owned(), style };
                let mut node = self.node(content, &properties, implicit, mark);
                node.comments = comments;
                self.attach(node);
            }
            EventKind::SequenceStart { properties, flow } => {
                let content = Content::Sequence { items: Vec::with_capacity(FEW), flow };
                let mut node = self.node(content, &properties, "!!seq", mark);
                node.comments = comments;
                self.open(node)?;
            }
            EventKind::MappingStart { properties, flow } => {
                let content = Content::Mapping { fields: Vec::with_capacity(FEW), flow };
                let mut node = self.node(content, &properties, "!!map", mark);
                node.comments = comments;
                self.open(node)?;
            }
            EventKind::SequenceEnd | EventKind::MappingEnd => self.close(comments),
            EventKind::DocumentStart | EventKind::DocumentEnd | EventKind::StreamEnd => {}
        }
        Ok(())
    }

    /// Closes the innermost collection; the comments at its end replace those at its start.
    fn close(&mut self, end: Option<Box<Comments>>) {
        let Some(Open { mut node, .. }) = self.open.pop() else { return };
        let end = end.map(|end| *end).unwrap_or_default();
        node.set_line_comment(end.line);
        node.set_foot_comment(end.foot);
        if let Content::Mapping { fields, flow: false } = &mut node.content
            && let Some((key, _)) = fields.last_mut()
            && let Some(comments) = &mut node.comments
            && !comments.foot.is_empty()
        {
            key.set_foot_comment(std::mem::take(&mut comments.foot));
        }
        node.drop_empty_comments();
        self.attach(node);
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
            Content::Mapping { fields, flow } => match parent.key.take() {
                None => {
                    let mut key = node;
                    // Below a value that is indented more, a foot belongs to the field before.
                    if !*flow
                        && let Some((before, _)) = fields.last_mut()
                        && !key.foot_comment().is_empty()
                    {
                        before.set_foot_comment(key.take_foot_comment());
                    }
                    parent.key = Some(key);
                }
                Some(mut key) => {
                    let mut value = node;
                    if key.foot_comment().is_empty() && !value.foot_comment().is_empty() {
                        key.set_foot_comment(value.take_foot_comment());
                    }
                    fields.push((key, value));
                }
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
