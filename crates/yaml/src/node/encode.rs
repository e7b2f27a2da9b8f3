//! JSON values as the trees kustomize gets from Go values: go-yaml v3 writes them, and reads them back.

use serde_json::Value;

use super::{Content, Node, Position};
use sluice_base::go::float;

use crate::Dialect;
use crate::emit::{SequenceIndent, sort_by_key};
use crate::error::Error;
use crate::resolve::{Meaning, is_base_sixty, old_bool, resolve};
use crate::token::ScalarStyle;

impl Node {
    /// The tree of a JSON object that `encoding/json` has decoded, as kyaml's `FromMap` makes it. All its
    /// numbers are floats, so a million is `1e+06`; keys are in go-yaml's order, and texts carry the
    /// quotes that go-yaml gave them.
    pub fn from_decoded_json(value: &Value) -> Result<Self, Error> {
        let text = encoded(value).to_yaml(SequenceIndent::Compact);
        let document = super::parse(text.as_bytes())?.into_iter().next().unwrap_or_default();
        let mut root = document.root;
        root.forget_positions();
        Ok(root)
    }

    /// A text in the style that go-yaml's encoder asks for: quoted where YAML 1.1 takes it for something else.
    pub fn encoded_text(text: &str) -> Self {
        let mut node = Self::text(text);
        if let Content::Scalar { style, .. } = &mut node.content {
            let is_plain = || {
                resolve(text, Dialect::V3) == Meaning::Text
                    && !is_base_sixty(text)
                    && old_bool(text).is_none()
            };
            *style = if text.contains('\n') {
                ScalarStyle::Literal
            } else if is_plain() {
                ScalarStyle::Plain
            } else {
                ScalarStyle::DoubleQuoted
            };
        }
        node
    }

    /// The text it was parsed from is not a file.
    fn forget_positions(&mut self) {
        self.position = Position::default();
        match &mut self.content {
            Content::Scalar { .. } | Content::Alias(_) => {}
            Content::Sequence { items, .. } => items.iter_mut().for_each(Self::forget_positions),
            Content::Mapping { fields, .. } => {
                for (key, value) in fields {
                    key.forget_positions();
                    value.forget_positions();
                }
            }
        }
    }
}

fn encoded(value: &Value) -> Node {
    match value {
        Value::Null => Node::scalar("!!null", "null"),
        Value::Bool(truth) => Node::scalar("!!bool", truth.to_string()),
        Value::Number(number) => Node::scalar("", float::yaml(number.as_f64().unwrap_or(0.0))),
        Value::String(text) => Node::encoded_text(text),
        Value::Array(items) => Node::sequence(items.iter().map(encoded).collect()),
        Value::Object(fields) => {
            let mut fields: Vec<(&str, &Value)> =
                fields.iter().map(|(name, value)| (name.as_str(), value)).collect();
            sort_by_key(&mut fields, Dialect::V3, |(name, _)| name);
            let fields = fields.into_iter();
            Node::mapping(
                fields.map(|(name, value)| (Node::encoded_text(name), encoded(value))).collect(),
            )
        }
    }
}
