//! Trees as kustomize finally prints them.

use super::order;
use super::value::Place;
use super::writer::Writer;
use crate::error::Error;
use crate::node::{Content, Node};
use crate::resolve::{Meaning, resolve};
use crate::token::ScalarStyle;
use crate::{Dialect, from_json};

impl Node {
    /// The text that kustomize prints for an object: [`from_json`] of [`Node::marshal_json`], without
    /// the detour where it would change nothing.
    pub fn to_printed(&self) -> Result<String, Error> {
        if self.is_ordinary() {
            self.ordinary_to_printed()
        } else {
            Ok(from_json(&self.marshal_json()?))
        }
    }

    /// The same for a tree that is known to be ordinary; looking takes about as long as printing.
    pub fn ordinary_to_printed(&self) -> Result<String, Error> {
        let mut writer = Writer::new(Dialect::V2, 2, Some(80));
        if writer.node(self, Place::Root) {
            writer.write_indent();
            return Ok(writer.out);
        }
        Ok(from_json(&self.to_json()?))
    }
}

impl Writer {
    /// Writes a node; gives up on what only the detour decides about, such as how a float is written.
    fn node(&mut self, node: &Node, place: Place) -> bool {
        match &node.content {
            Content::Alias(_) => false,
            Content::Sequence { items, .. } if items.is_empty() => {
                self.empty("[", "]");
                true
            }
            Content::Mapping { fields, .. } if fields.is_empty() => {
                self.empty("{", "}");
                true
            }
            Content::Sequence { items, .. } => {
                let indent = self.enter_items(place);
                let whole = items.iter().all(|item| {
                    self.start_item();
                    self.node(item, Place::Item)
                });
                self.indent = indent;
                whole
            }
            Content::Mapping { fields, .. } => self.node_fields(fields),
            Content::Scalar { value, style } => {
                let is_text =
                    node.tag == "!!str" || (node.tag.is_empty() && *style != ScalarStyle::Plain);
                let meaning = if is_text { Meaning::Text } else { resolve(value, Dialect::V3) };
                match meaning {
                    Meaning::Null => self.literal("null"),
                    Meaning::Bool(true) => self.literal("true"),
                    Meaning::Bool(false) => self.literal("false"),
                    Meaning::Integer(number) => self.literal(&number.to_string()),
                    Meaning::Unsigned(number) => self.literal(&number.to_string()),
                    Meaning::Text => self.text(value, place),
                    Meaning::Float(_) | Meaning::Time(_) | Meaning::Binary | Meaning::Unknown => {
                        return false;
                    }
                }
                true
            }
        }
    }

    fn node_fields(&mut self, fields: &[(Node, Node)]) -> bool {
        let mut sorted: Vec<(&str, &Node)> =
            fields.iter().map(|(key, value)| (key.as_text().unwrap_or_default(), value)).collect();
        sorted.sort_unstable_by_key(|(name, _)| *name);
        order::sort_by_key(&mut sorted, Dialect::V2, |(name, _)| name);
        let indent = self.enter_fields();
        let whole = sorted.iter().all(|(name, field)| {
            self.field_name(name);
            self.node(field, Place::Field)
        });
        self.indent = indent;
        whole
    }
}
