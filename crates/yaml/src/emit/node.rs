//! Trees with their styles and comments, as go-yaml v3 prints them for kustomize.
//!
//! go-yaml emits events, and a comment stays pending from its event until it can be written. So each node is written in
//! two parts, like its events: the part of its start event, and, after the parent had its turn, its content.

use std::borrow::Cow;

use super::scalar::Analysis;
use super::writer::Writer;
use crate::Dialect;
use crate::node::{Content, Document, Node};
use crate::resolve::{long_tag, resolve};
use crate::token::ScalarStyle;

/// How sequences inside mappings are indented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SequenceIndent {
    /// The `-` is under the key. kustomize's default.
    #[default]
    Compact,
    /// The `-` is indented by two.
    Wide,
}

impl SequenceIndent {
    /// How the first sequence under a key is indented in `text`; kustomize's way to keep a file's
    /// style.
    pub fn detect(text: &str) -> Self {
        let lines: Vec<&str> = text.split('\n').collect();
        for (number, line) in lines.iter().enumerate() {
            let Some((before, _)) = line.split_once("- ") else { continue };
            if before.contains(|character| character != ' ') {
                continue;
            }
            let above = lines[..number].iter().rev();
            let mut above = above.filter(|line| !line.trim_matches(' ').starts_with('#'));
            let Some(key) = above.next().and_then(|line| line.split('#').next()) else { continue };
            let name = key.trim_matches(' ');
            if name.matches(':').count() != 1 || !name.ends_with(':') {
                continue;
            }
            let indent = key.len() - key.trim_start_matches(' ').len();
            match before.len().checked_sub(indent) {
                Some(0) => return Self::Compact,
                Some(2) => return Self::Wide,
                _ => {}
            }
        }
        Self::Compact
    }
}

impl Document {
    /// The document's text, as go-yaml v3 writes it with kustomize's settings.
    pub fn to_yaml(&self, sequences: SequenceIndent) -> String {
        let mut emitter = Emitter::new(sequences);
        emitter.document(&self.head_comment, &self.root, &self.foot_comment);
        emitter.writer.out
    }
}

impl Node {
    /// The text of a document that holds this node, as `RNode.String` gives it.
    pub fn to_yaml(&self, sequences: SequenceIndent) -> String {
        let mut emitter = Emitter::new(sequences);
        emitter.document("", self, "");
        emitter.writer.out
    }

    /// The same with collections indented by `indent`, sequences inside mappings too, as go-yaml v3's
    /// `Encoder` writes it after `SetIndent`.
    pub fn to_yaml_indented(&self, indent: usize) -> String {
        let mut emitter = Emitter::new(SequenceIndent::Wide);
        emitter.writer.step = indent;
        emitter.document("", self, "");
        emitter.writer.out
    }
}

/// The position of a node in its parent.
#[derive(Clone, Copy, Default)]
struct Place {
    /// A key or a value.
    mapping: bool,
    simple_key: bool,
    /// A key; its foot comment is written with its value.
    key: bool,
    /// An item of a sequence in block style.
    block_item: bool,
}

const ROOT: Place = Place { mapping: false, simple_key: false, key: false, block_item: false };
const BLOCK_ITEM: Place = Place { block_item: true, ..ROOT };
const FLOW_ITEM: Place = ROOT;
const FIELD: Place = Place { mapping: true, ..ROOT };
const KEY: Place = Place { key: true, ..FIELD };
const SIMPLE_KEY: Place = Place { simple_key: true, ..KEY };

struct Emitter {
    writer: Writer,
    compact: bool,
    /// The line comment of a key with a value that may be on the next line.
    key_line: String,
}

/// The tag to write: none if the value implies it; also whether quotes must imply it.
fn written_tag(node: &Node) -> (Cow<'_, str>, bool) {
    let tag = node.tag.as_ref();
    if tag.is_empty() || node.tagged {
        return (long_tag(tag), false);
    }
    let implied = match &node.content {
        Content::Scalar { style, .. } if tag == "!!str" && *style != ScalarStyle::Plain => "!!str",
        Content::Scalar { value, .. } => {
            let implied = resolve(value, Dialect::V3).tag();
            if tag == "!!str" && implied != tag {
                return ("".into(), true);
            }
            implied
        }
        Content::Mapping { .. } => "!!map",
        Content::Sequence { .. } => "!!seq",
        Content::Alias(_) => "",
    };
    if implied == tag { ("".into(), false) } else { (long_tag(tag), false) }
}

/// A long tag in the parts it is written in: a handle and what follows it.
fn tag_parts(tag: &str) -> (&'static str, &str) {
    if let Some(suffix) = tag.strip_prefix('!') {
        ("!", suffix)
    } else if let Some(suffix) = tag.strip_prefix("tag:yaml.org,2002:") {
        ("!!", suffix)
    } else {
        ("", tag)
    }
}

impl Emitter {
    fn new(sequences: SequenceIndent) -> Self {
        Self {
            writer: Writer::new(Dialect::V3, 2, None),
            compact: sequences == SequenceIndent::Compact,
            key_line: String::new(),
        }
    }

    fn document(&mut self, head: &str, root: &Node, foot: &str) {
        set(&mut self.writer.comments.head, head);
        if !self.writer.comments.head.is_empty() {
            self.writer.write_head_comment();
            self.writer.put_break();
        }
        self.announce(root, "", root.foot_comment());
        self.writer.write_head_comment();
        self.start(root, ROOT);
        self.writer.write_line_comment();
        self.writer.write_foot_comment();
        self.inside(root, ROOT);

        set(&mut self.writer.comments.foot, foot);
        self.writer.foot_indent = 0;
        self.writer.write_foot_comment();
        self.writer.foot_indent = -1;
        self.writer.write_indent();
    }

    /// Takes in the comments of a node's start event.
    fn announce(&mut self, node: &Node, tail: &str, foot: &str) {
        let writer = &mut self.writer;
        set(&mut writer.comments.head, node.head_comment());
        match &node.content {
            Content::Scalar { .. } | Content::Alias(_) => {
                set(&mut writer.comments.line, node.line_comment());
                set(&mut writer.comments.foot, foot);
            }
            Content::Mapping { .. } | Content::Sequence { .. } => {}
        }
        match &node.content {
            Content::Scalar { .. } | Content::Mapping { .. } => set(&mut writer.tail, tail),
            Content::Alias(_) | Content::Sequence { .. } => {}
        }
    }

    /// Takes in the comments of a collection's end event.
    fn announce_end(&mut self, node: &Node, place: Place, tail: &str) {
        set(&mut self.writer.comments.line, node.line_comment());
        if !place.key {
            set(&mut self.writer.comments.foot, node.foot_comment());
        }
        set(&mut self.writer.tail, tail);
    }

    /// Whether a comment waits that goes behind what is written now.
    fn has_trailing(&self) -> bool {
        let writer = &self.writer;
        !(writer.comments.line.is_empty()
            && writer.comments.foot.is_empty()
            && writer.tail.is_empty())
    }

    /// Writes what the start event writes: anchor, tag, and a scalar or an alias as a whole.
    fn start(&mut self, node: &Node, place: Place) {
        let writer = &mut self.writer;
        if let Content::Alias(name) = &node.content {
            writer.write_indicator("*", true);
            writer.put_ascii(name);
            writer.whitespace = false;
            writer.indention = false;
            return;
        }
        let (tag, force_quotes) = written_tag(node);
        let Content::Scalar { value, style } = &node.content else {
            self.write_properties(node, &tag);
            return;
        };
        let wanted = match style {
            ScalarStyle::Plain if value.contains('\n') => ScalarStyle::Literal,
            ScalarStyle::Plain if force_quotes => ScalarStyle::DoubleQuoted,
            style => *style,
        };
        let analysis = Analysis::of(value, Dialect::V3);
        let style = writer.select_style(wanted, value, analysis, place.simple_key);
        self.write_properties(node, &tag);
        let indent = self.writer.indent;
        self.writer.indent = self.deeper(true, place.block_item, false);
        self.writer.write_scalar(value, style, place.simple_key);
        self.writer.indent = indent;
    }

    fn write_properties(&mut self, node: &Node, tag: &str) {
        let writer = &mut self.writer;
        if let Some(anchor) = node.anchor.as_deref().filter(|anchor| !anchor.is_empty()) {
            writer.write_indicator("&", true);
            writer.put_ascii(anchor);
            writer.whitespace = false;
            writer.indention = false;
        }
        if tag.is_empty() {
            return;
        }
        let (handle, suffix) = tag_parts(tag);
        if handle.is_empty() {
            writer.write_indicator("!<", true);
            writer.write_tag_content(suffix);
            writer.write_indicator(">", false);
        } else {
            writer.write_indicator(handle, true);
            if !suffix.is_empty() {
                writer.write_tag_content(suffix);
            }
        }
    }

    /// The indentation of the content of the current collection.
    fn deeper(&self, flow: bool, block_item: bool, compact: bool) -> isize {
        let (indent, step) = (self.writer.indent, self.writer.step.cast_signed());
        if indent < 0 {
            if flow { step } else { 0 }
        } else if block_item {
            indent + 2
        } else {
            let aligned = step * ((indent + step) / step);
            if compact { aligned - 2 } else { aligned }
        }
    }

    /// Writes what is inside a collection, and its end.
    fn inside(&mut self, node: &Node, place: Place) {
        let in_flow = self.writer.flow_level > 0;
        match &node.content {
            Content::Scalar { .. } | Content::Alias(_) => {}
            Content::Sequence { items, flow } if in_flow || *flow || items.is_empty() => {
                self.flow_items(node, items, place);
            }
            Content::Sequence { items, .. } => self.block_items(node, items, place),
            Content::Mapping { fields, flow } if in_flow || *flow || fields.is_empty() => {
                self.flow_fields(node, fields, place);
            }
            Content::Mapping { fields, .. } => self.block_fields(node, fields, place),
        }
    }

    fn block_items(&mut self, node: &Node, items: &[Node], place: Place) {
        let outer = self.writer.indent;
        let compact =
            place.mapping && (self.writer.column == 0 || !self.writer.indention) && self.compact;
        self.writer.indent = self.deeper(false, place.block_item, compact);
        for item in items {
            self.announce(item, "", item.foot_comment());
            self.writer.write_head_comment();
            self.writer.write_indent();
            self.writer.write_indicator_as("-", true, false, true);
            self.start(item, BLOCK_ITEM);
            self.writer.write_line_comment();
            self.writer.write_foot_comment();
            self.inside(item, BLOCK_ITEM);
        }
        self.announce_end(node, place, "");
        self.writer.indent = outer;
    }

    fn block_fields(&mut self, node: &Node, fields: &[(Node, Node)], place: Place) {
        let outer = self.writer.indent;
        self.writer.indent = self.deeper(false, place.block_item, false);
        // The foot comment of a key comes when all of its value is written.
        let mut tail = "";
        for (key, value) in fields {
            self.announce(key, tail, "");
            tail = key.foot_comment();
            self.writer.write_head_comment();
            self.writer.write_indent();
            if !self.writer.comments.line.is_empty() {
                self.key_line = std::mem::take(&mut self.writer.comments.line);
            }
            let simple = is_simple_key(key);
            if simple {
                self.start(key, SIMPLE_KEY);
                self.inside(key, SIMPLE_KEY);
            } else {
                self.writer.write_indicator_as("?", true, false, true);
                self.start(key, KEY);
                self.inside(key, KEY);
            }
            self.announce(value, "", value.foot_comment());
            if simple {
                self.writer.write_indicator(":", false);
            } else {
                self.writer.write_indent();
                self.writer.write_indicator_as(":", true, false, true);
            }
            self.place_key_line(value);
            self.start(value, FIELD);
            self.writer.write_line_comment();
            self.writer.write_foot_comment();
            self.inside(value, FIELD);
        }
        self.announce_end(node, place, tail);
        self.writer.write_head_comment();
        self.writer.indent = outer;
    }

    /// Puts a key's line comment behind its scalar, or in front of its block.
    fn place_key_line(&mut self, value: &Node) {
        if self.key_line.is_empty() {
            return;
        }
        match &value.content {
            Content::Scalar { .. } => {
                if self.writer.comments.line.is_empty() {
                    self.writer.comments.line = std::mem::take(&mut self.key_line);
                }
            }
            Content::Sequence { flow: false, .. } | Content::Mapping { flow: false, .. } => {
                std::mem::swap(&mut self.writer.comments.line, &mut self.key_line);
                self.writer.write_line_comment();
                std::mem::swap(&mut self.writer.comments.line, &mut self.key_line);
            }
            Content::Sequence { .. } | Content::Mapping { .. } | Content::Alias(_) => {}
        }
    }

    fn flow_items(&mut self, node: &Node, items: &[Node], place: Place) {
        let outer = self.open_flow("[", place);
        let mut comma_written = true;
        for item in items {
            self.announce(item, "", item.foot_comment());
            self.separate(comma_written);
            comma_written = self.has_trailing();
            self.start(item, FLOW_ITEM);
            self.end_flow_item();
            self.inside(item, FLOW_ITEM);
        }
        self.announce_end(node, place, "");
        self.writer.flow_level -= 1;
        self.writer.indent = outer;
        if self.writer.column == 0 {
            self.writer.write_indent();
        }
        self.writer.write_indicator("]", false);
        self.writer.write_line_comment();
        self.writer.write_foot_comment();
    }

    fn flow_fields(&mut self, node: &Node, fields: &[(Node, Node)], place: Place) {
        let outer = self.open_flow("{", place);
        let mut comma_written = true;
        let mut tail = "";
        for (key, value) in fields {
            self.announce(key, tail, "");
            tail = key.foot_comment();
            self.separate(comma_written);
            let simple = is_simple_key(key);
            if !simple {
                self.writer.write_indicator("?", true);
            }
            let key_place = if simple { SIMPLE_KEY } else { KEY };
            self.start(key, key_place);
            self.inside(key, key_place);
            self.announce(value, "", value.foot_comment());
            self.writer.write_indicator(":", !simple);
            comma_written = self.has_trailing();
            self.start(value, FIELD);
            self.end_flow_item();
            self.inside(value, FIELD);
        }
        self.announce_end(node, place, tail);
        let comments = &self.writer.comments;
        let waits =
            !(comments.head.is_empty() && comments.foot.is_empty() && self.writer.tail.is_empty());
        if waits && !comma_written {
            self.writer.write_indicator(",", false);
        }
        self.writer.write_head_comment();
        self.writer.flow_level -= 1;
        self.writer.indent = outer;
        self.writer.write_indicator("}", false);
        self.writer.write_line_comment();
        self.writer.write_foot_comment();
    }

    /// Opens a flow collection; gives the indentation to go back to.
    fn open_flow(&mut self, open: &str, place: Place) -> isize {
        self.writer.write_indicator_as(open, true, true, false);
        let outer = self.writer.indent;
        self.writer.indent = self.deeper(true, place.block_item, false);
        self.writer.flow_level += 1;
        outer
    }

    /// Writes the separator of two items.
    fn separate(&mut self, comma_written: bool) {
        if !comma_written {
            self.writer.write_indicator(",", false);
        }
        self.writer.write_head_comment();
        if self.writer.column == 0 {
            self.writer.write_indent();
        }
    }

    /// Writes the comments behind an item, which go behind its comma.
    fn end_flow_item(&mut self) {
        if self.has_trailing() {
            self.writer.write_indicator(",", false);
        }
        self.writer.write_line_comment();
        self.writer.write_foot_comment();
    }
}

/// Replaces a waiting comment, if there is a new one.
fn set(waiting: &mut String, text: &str) {
    if !text.is_empty() {
        text.clone_into(waiting);
    }
}

/// Whether a key can be written without `?`.
fn is_simple_key(key: &Node) -> bool {
    let (tag, _) = written_tag(key);
    let (handle, suffix) = tag_parts(&tag);
    let anchor = key.anchor.as_ref().map_or(0, String::len);
    let length = match &key.content {
        Content::Alias(name) => name.len(),
        Content::Scalar { value, .. } => {
            if Analysis::of(value, Dialect::V3).multiline {
                return false;
            }
            value.len()
        }
        Content::Sequence { items, .. } if !items.is_empty() => return false,
        Content::Mapping { fields, .. } if !fields.is_empty() => return false,
        Content::Sequence { .. } | Content::Mapping { .. } => 0,
    };
    anchor + handle.len() + suffix.len() + length <= 128
}
