//! `HashTransformer`: adds content hashes to the names of generated objects.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use sluice_base::gojson;
use sluice_yaml::{Content, Node, ScalarStyle};

use super::Transformer;
use crate::access;
use crate::failure::Result;
use crate::json_patch;
use crate::openapi::Schema;
use crate::resource::annotation;
use crate::resources::Resources;

/// Adds the hash to the names of objects that need it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hash;

impl Transformer for Hash {
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        for position in 0..resources.len() {
            let needs =
                |resource: &&crate::resource::Resource| resource.is_enabled(annotation::NEEDS_HASH);
            let Some(resource) = resources.get(position).filter(needs) else { continue };
            let name = format!("{}-{}", resource.name(), hash(&resource.node)?);
            let changed = resources.change(position, schema, |resource| {
                resource.store_id(schema)?;
                resource.set_name(&name)
            });
            changed.unwrap_or(Ok(()))?;
        }
        Ok(())
    }
}

/// Ten letters that depend on the content of an object.
fn hash(object: &Node) -> Result<String> {
    let kind = object.field("kind").and_then(Node::as_text).unwrap_or_default();
    let mut text = String::new();
    match kind {
        "ConfigMap" => gojson::write(&mut text, &content(object, kind, &["data"], "binaryData")?),
        "Secret" => {
            gojson::write(&mut text, &content(object, kind, &["data", "type"], "stringData")?);
        }
        _ => write_struct(&mut text, object),
    }
    Ok(letters(&Sha256::digest(text.as_bytes())))
}

/// The first letters of a digest, encoded so that they form no words and have no look-alikes.
fn letters(digest: &[u8]) -> String {
    let hex = digest.iter().take(5).flat_map(|byte| [byte >> 4, byte & 15]);
    hex.map(|digit| match digit {
        0 => 'g',
        1 => 'h',
        3 => 'k',
        10 => 'm',
        14 => 't',
        other => char::from_digit(u32::from(other), 16).unwrap_or('g'),
    })
    .collect()
}

/// The hashed parts of a ConfigMap or Secret. The name was meant to be one, but kustomize looks it up at a wrong place,
/// so it is always empty.
fn content(object: &Node, kind: &str, fields: &[&str], only_if_map: &str) -> Result<Value> {
    let mut content = Map::new();
    content.insert("kind".to_owned(), json!(kind));
    content.insert("name".to_owned(), json!(""));
    for name in fields {
        content.insert((*name).to_owned(), value(object, name)?);
    }
    let more = value(object, only_if_map)?;
    if !more.is_string() {
        content.insert(only_if_map.to_owned(), more);
    }
    Ok(Value::Object(content))
}

fn value(object: &Node, name: &str) -> Result<Value> {
    Ok(match access::field(object, name)? {
        None => json!(""),
        Some(node) => match &node.content {
            Content::Scalar { value, .. } => json!(value),
            Content::Mapping { .. } => json_patch::floats(node.marshal_json()?),
            // Go's map stays nil.
            Content::Sequence { .. } | Content::Alias(_) => Value::Null,
        },
    })
}

/// Writes a node as `encoding/json` prints go-yaml's struct, which is what kustomize hashes of other kinds.
fn write_struct(out: &mut String, node: &Node) {
    let mut children = Vec::new();
    let (kind, style, text) = match &node.content {
        Content::Sequence { items, flow } => {
            children.extend(items);
            (2, u8::from(*flow) * 32, "")
        }
        Content::Mapping { fields, flow } => {
            children.extend(fields.iter().flat_map(|(key, value)| [key, value]));
            (4, u8::from(*flow) * 32, "")
        }
        Content::Scalar { value, style } => {
            let style = match style {
                ScalarStyle::Plain => 0,
                ScalarStyle::DoubleQuoted => 2,
                ScalarStyle::SingleQuoted => 4,
                ScalarStyle::Literal => 8,
                ScalarStyle::Folded => 16,
            };
            (8, style, value.as_str())
        }
        Content::Alias(name) => (16, 0, name.as_str()),
    };
    let style = style | u8::from(node.tagged);
    let comments = node.comments.as_deref().cloned().unwrap_or_default();
    let text_of = |value: &str| gojson::to_string(&json!(value));
    let _ = write!(
        out,
        "{{\"Kind\":{kind},\"Style\":{style},\"Tag\":{},\"Value\":{},\"Anchor\":{},\"Alias\":null,\"Content\":",
        text_of(&node.tag),
        text_of(text),
        text_of(node.anchor.as_deref().unwrap_or_default()),
    );
    if children.is_empty() {
        out.push_str("null");
    } else {
        for (index, child) in children.into_iter().enumerate() {
            out.push(if index == 0 { '[' } else { ',' });
            write_struct(out, child);
        }
        out.push(']');
    }
    let _ = write!(
        out,
        ",\"HeadComment\":{},\"LineComment\":{},\"FootComment\":{},\"Line\":{},\"Column\":{}}}",
        text_of(&comments.head),
        text_of(&comments.line),
        text_of(&comments.foot),
        node.position.line,
        // The column of a created node is our own mark.
        if node.position.line == 0 { 0 } else { node.position.column },
    );
}

#[cfg(test)]
mod tests {
    use super::{Hash, hash};
    use crate::transformers::testing::{node, transformed, transformed_resources};

    #[test]
    fn hashes_are_kustomizes() {
        let cases = [
            ("kind: ConfigMap\ndata: {x: '1'}\n", "hmg6f82fh6"),
            ("kind: ConfigMap\nmetadata: {name: any}\n", "6ct58987ht"),
            ("kind: ConfigMap\ndata: {a: '<b> & c'}\n", "hb8276m598"),
            ("kind: ConfigMap\ndata: {a: b}\nbinaryData: {c: /wE=}\n", "fhc69mm26k"),
            ("kind: Secret\ntype: Opaque\ndata: {a: Yg==}\n", "k695gkmbtk"),
        ];
        for (text, expected) in cases {
            assert_eq!(hash(&node(text)).unwrap(), expected, "{text}");
        }
        // The digits of a float are Go's; other kinds are hashed as written.
        let large = |number: &str| {
            hash(&node(&format!("kind: ConfigMap\ndata: {{a: {number}}}\n"))).unwrap()
        };
        assert_eq!(large("9007199254740993"), large("9007199254740992"));
        assert_ne!(
            hash(&node("kind: A\nb: c\n")).unwrap(),
            hash(&node("kind: A\nb: 'c'\n")).unwrap()
        );
    }

    #[test]
    fn only_what_needs_a_hash_gets_one() {
        let plain = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: it\n";
        assert_eq!(transformed(&Hash, plain).unwrap(), plain);
        let generated = plain.replace(
            "  name: it\n",
            "  name: it\n  annotations: {internal.config.kubernetes.io/needsHashSuffix: enabled}\n",
        );
        let resources = transformed_resources(&Hash, &generated).unwrap();
        let resource = resources.get(0).expect("one");
        assert_eq!(resource.name(), "it-6ct58987ht");
        assert_eq!(resource.previous_ids()[0].name, "it");
    }
}
