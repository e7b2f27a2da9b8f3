//! YAML documents that are mappings, with their comments, in the style of SOPS: indented by four.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use sluice_yaml::{Content, Document, MAX_DEPTH, Node, ScalarStyle, parse};

use crate::time::parse_yaml_time;
use crate::tree::{Branch, Comment, Item, Value};

const INDENT: usize = 4;

/// The maximum number of values that aliases may add.
const MAX_ALIASED: usize = 100_000;

pub(super) fn load(text: &[u8]) -> Result<Vec<Branch>, String> {
    let wrong = |problem: String| format!("Error unmarshaling input YAML: {problem}");
    let documents = parse(text).map_err(|error| wrong(error.to_string()))?;
    if let Some(first) = documents.first() {
        // Converting to a value detects duplicate keys.
        first.to_json().map_err(|error| error.to_string())?;
    }
    documents.iter().map(|document| read_document(document).map_err(wrong)).collect()
}

fn read_document(document: &Document) -> Result<Branch, String> {
    let mut reader = Reader { anchors: HashMap::new(), depth: 0, following: 0, aliased: 0 };
    reader.collect_anchors(&document.root, 0)?;
    let mut branch = Branch::new();
    push_comments(&mut branch, &document.head_comment, false);
    reader.top(&document.root, &mut branch)?;
    push_comments(&mut branch, &document.foot_comment, false);
    Ok(branch)
}

/// One comment for each line, without its `#`.
fn comments(text: &str, inline: bool) -> impl Iterator<Item = Comment> + '_ {
    text.split('\n').filter(|line| !line.is_empty()).map(move |line| Comment {
        text: line.strip_prefix('#').unwrap_or(line).as_bytes().to_vec(),
        inline,
    })
}

fn push_comments(branch: &mut Branch, text: &str, inline: bool) {
    branch.extend(comments(text, inline).map(Item::Comment));
}

struct Reader<'n> {
    /// The last node of each anchor. An anchor that is defined twice resolves to its last node, while YAML uses the last
    /// one before the alias; SOPS never writes anchors.
    anchors: HashMap<&'n str, &'n Node>,
    depth: usize,
    following: usize,
    aliased: usize,
}

impl<'n> Reader<'n> {
    fn collect_anchors(&mut self, node: &'n Node, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        if let Some(name) = &node.anchor {
            self.anchors.insert(name, node);
        }
        for item in node.items() {
            self.collect_anchors(item, depth + 1)?;
        }
        for (key, value) in node.fields() {
            self.collect_anchors(key, depth + 1)?;
            self.collect_anchors(value, depth + 1)?;
        }
        Ok(())
    }

    fn target(&self, name: &str) -> Result<&'n Node, String> {
        self.anchors.get(name).copied().ok_or_else(|| format!("unknown anchor '{name}' referenced"))
    }

    fn top(&mut self, node: &'n Node, branch: &mut Branch) -> Result<(), String> {
        match &node.content {
            Content::Mapping { .. } => self.fields(node, branch, false),
            Content::Sequence { .. } => {
                Err("YAML documents that are sequences are not supported".to_owned())
            }
            Content::Scalar { .. } if node.is_null() => Ok(()),
            Content::Scalar { .. } => {
                Err("YAML documents that are values are not supported".to_owned())
            }
            Content::Alias(name) => Err(format!("unknown anchor '{name}' referenced")),
        }
    }

    /// Reads a node, with its comments unless the caller has added them.
    fn value(&mut self, node: &'n Node, comments_placed: bool) -> Result<Value, String> {
        if self.depth >= MAX_DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        if self.following > 0 {
            self.aliased += 1;
            if self.aliased > MAX_ALIASED {
                return Err("document contains excessive aliasing".to_owned());
            }
        }
        self.depth += 1;
        let value = match &node.content {
            Content::Scalar { value, .. } => scalar(node, value)?,
            Content::Sequence { items, .. } => {
                let mut out = Vec::new();
                let push = |out: &mut Vec<Value>, text: &str, inline| {
                    out.extend(comments(text, inline).map(Value::Comment));
                };
                if !comments_placed {
                    push(&mut out, node.head_comment(), false);
                    push(&mut out, node.line_comment(), false);
                }
                for item in items {
                    push(&mut out, item.head_comment(), false);
                    push(&mut out, item.line_comment(), true);
                    let value = self.value(item, true)?;
                    out.push(value);
                    push(&mut out, item.foot_comment(), false);
                }
                if !comments_placed {
                    push(&mut out, node.foot_comment(), false);
                }
                Value::List(out)
            }
            Content::Mapping { .. } => {
                let mut branch = Branch::new();
                self.fields(node, &mut branch, comments_placed)?;
                Value::Branch(branch)
            }
            Content::Alias(name) => {
                let target = self.target(name)?;
                self.following += 1;
                let value = self.value(target, false)?;
                self.following -= 1;
                value
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn fields(
        &mut self,
        node: &'n Node,
        branch: &mut Branch,
        comments_placed: bool,
    ) -> Result<(), String> {
        if !comments_placed {
            push_comments(branch, node.head_comment(), false);
            push_comments(branch, node.line_comment(), false);
        }
        for (key, value) in node.fields() {
            push_comments(branch, key.head_comment(), false);
            push_comments(branch, key.line_comment(), false);
            let is_simple = matches!(value.content, Content::Scalar { .. } | Content::Alias(_));
            if is_simple {
                push_comments(branch, value.head_comment(), false);
                push_comments(branch, value.line_comment(), true);
            }
            let name = match (&key.content, key.short_tag()) {
                (Content::Scalar { value, .. }, "!!str" | "!!merge") => value.clone(),
                (_, tag) => {
                    return Err(format!(
                        "Tree contains a non-string key (type {tag}). Only string keys are supported"
                    ));
                }
            };
            branch.push(Item::Field(name, self.value(value, is_simple)?));
            if is_simple {
                push_comments(branch, value.foot_comment(), false);
            }
            push_comments(branch, key.foot_comment(), false);
        }
        if !comments_placed {
            push_comments(branch, node.foot_comment(), false);
        }
        Ok(())
    }
}

fn scalar(node: &Node, text: &str) -> Result<Value, String> {
    Ok(match node.short_tag() {
        "!!null" => Value::Null,
        "!!timestamp" => parse_yaml_time(text).map_or_else(|| Value::text(text), Value::Time),
        "!!binary" => {
            Value::Text(STANDARD.decode(text.replace(['\n', ' '], "")).map_err(|_| "no base64")?)
        }
        "!!bool" | "!!int" | "!!float" => match node.to_json() {
            Ok(Json::Bool(truth)) => Value::Bool(truth),
            Ok(Json::Number(number)) if number.is_f64() => {
                Value::Float(number.as_f64().unwrap_or_default())
            }
            Ok(Json::Number(number)) => {
                Value::Int(number.as_i64().ok_or("Cannot walk value, unknown type: uint64")?)
            }
            _ => Value::Float(match text.trim_start_matches(['+', '-']) {
                ".nan" | ".NaN" | ".NAN" => f64::NAN,
                _ if text.starts_with('-') => f64::NEG_INFINITY,
                _ => f64::INFINITY,
            }),
        },
        _ => Value::text(text),
    })
}

pub(super) fn emit(branches: &[Branch]) -> Result<Vec<u8>, String> {
    let wrong = |problem: String| format!("Error marshaling to YAML: {problem}");
    let texts: Vec<String> = branches
        .iter()
        .map(|branch| {
            let mut mapping = Node::mapping(Vec::new());
            write_fields(branch, &mut mapping)?;
            Ok(mapping.to_yaml_indented(INDENT))
        })
        .collect::<Result<_, String>>()
        .map_err(wrong)?;
    Ok(texts.join("---\n").into_bytes())
}

/// The comments above the next value.
#[derive(Default)]
struct Waiting {
    head: Vec<String>,
    inline: Vec<String>,
}

impl Waiting {
    fn push(&mut self, comment: &Comment) {
        let text = String::from_utf8_lossy(&comment.text).into_owned();
        if comment.inline { self.inline.push(text) } else { self.head.push(text) }
    }

    fn take_head(&mut self, node: &mut Node) {
        if !self.head.is_empty() {
            let own = node.head_comment();
            let between = if own.is_empty() { "" } else { "\n" };
            let text = format!("#{}{between}{own}", self.head.join("\n#"));
            self.head.clear();
            node.set_head_comment(text);
        }
    }

    fn take_inline(&mut self, node: &mut Node) {
        if !self.inline.is_empty() {
            let own = node.line_comment();
            let between = if own.is_empty() { "" } else { "\n" };
            let text = format!("{own}{between}#{}", self.inline.join("\n#"));
            self.inline.clear();
            node.set_line_comment(text);
        }
    }

    /// Adds trailing comments below the last value, or above an empty collection.
    fn finish(mut self, collection: &mut Node, last: impl FnOnce(&mut Node) -> Option<&mut Node>) {
        self.head.append(&mut self.inline);
        if self.head.is_empty() {
            return;
        }
        let text = format!("#{}", self.head.join("\n#"));
        match last(collection) {
            Some(last) => {
                let own = last.foot_comment();
                let between = if own.is_empty() { "" } else { "\n" };
                let text = format!("{own}{between}{text}");
                last.set_foot_comment(text);
            }
            None => self.take_head(collection),
        }
    }
}

fn write_fields(branch: &Branch, mapping: &mut Node) -> Result<(), String> {
    let mut waiting = Waiting::default();
    let mut fields = Vec::new();
    for item in branch {
        match item {
            Item::Comment(comment) => waiting.push(comment),
            Item::Field(name, value) => {
                if fields.is_empty() {
                    waiting.take_head(mapping);
                }
                let mut key = text_node(name.as_bytes())?;
                waiting.take_head(&mut key);
                let mut value = node(value)?;
                waiting.take_inline(&mut value);
                fields.push((key, value));
            }
        }
    }
    if let Some(own) = mapping.fields_mut() {
        *own = fields;
    }
    waiting.finish(mapping, |mapping| {
        mapping.fields_mut().and_then(|fields| fields.last_mut()).map(|(key, _)| key)
    });
    Ok(())
}

fn write_items(items: &[Value], sequence: &mut Node) -> Result<(), String> {
    let mut waiting = Waiting::default();
    let mut out = Vec::new();
    for item in items {
        if let Value::Comment(comment) = item {
            waiting.push(comment);
            continue;
        }
        if out.is_empty() {
            waiting.take_head(sequence);
        }
        let mut item = node(item)?;
        waiting.take_head(&mut item);
        waiting.take_inline(&mut item);
        out.push(item);
    }
    if let Some(own) = sequence.items_mut() {
        *own = out;
    }
    waiting.finish(sequence, |sequence| sequence.items_mut().and_then(|items| items.last_mut()));
    Ok(())
}

fn node(value: &Value) -> Result<Node, String> {
    Ok(match value {
        Value::Null | Value::Comment(_) => Node::scalar("!!null", "null"),
        Value::Bool(truth) => Node::scalar("!!bool", truth.to_string()),
        Value::Int(number) => Node::scalar("!!int", number.to_string()),
        Value::Float(number) => float_node(*number)?,
        Value::Time(text) => Node::scalar("!!timestamp", text.clone()),
        Value::Text(text) => text_node(text)?,
        Value::Bytes(bytes) => {
            let numbers = bytes.iter().map(|byte| Node::scalar("!!int", byte.to_string()));
            Node::sequence(numbers.collect())
        }
        Value::List(items) => {
            let mut sequence = Node::sequence(Vec::new());
            write_items(items, &mut sequence)?;
            sequence
        }
        Value::Branch(branch) => {
            let mut mapping = Node::mapping(Vec::new());
            write_fields(branch, &mut mapping)?;
            mapping
        }
    })
}

fn float_node(number: f64) -> Result<Node, String> {
    if number.is_nan() {
        return Ok(Node::scalar("!!float", ".nan"));
    }
    if number.is_infinite() {
        return Ok(Node::scalar("!!float", if number > 0.0 { ".inf" } else { "-.inf" }));
    }
    Node::from_decoded_json(&Json::from(number)).map_err(|error| error.to_string())
}

/// A string in the style that go-yaml chooses.
fn text_node(bytes: &[u8]) -> Result<Node, String> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        // Most strings are plain; the others are written and parsed again, as in go-yaml.
        let is_word = text.bytes().all(|byte| byte.is_ascii_alphabetic()) && text.len() > 5;
        return if is_word {
            Ok(Node::text(text))
        } else {
            Node::from_decoded_json(&Json::from(text)).map_err(|error| error.to_string())
        };
    }
    let mut node = Node::scalar("!!binary", STANDARD.encode(bytes));
    node.tagged = true;
    if let Content::Scalar { style, .. } = &mut node.content {
        *style = ScalarStyle::Plain;
    }
    Ok(node)
}
