//! A tree of objects, drawn with lines or written as data.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sluice_base::{go, gojson};
use sluice_ssa::ObjectId;

/// An object and its inventory.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: ObjectId,
    pub(super) children: Vec<Self>,
}

impl Node {
    /// An object without an inventory.
    pub(super) fn new(id: ObjectId) -> Self {
        Self { id, children: Vec::new() }
    }

    /// The tree with lines, the root in the first.
    pub(super) fn draw(&self) -> String {
        let mut out = self.text();
        out.push('\n');
        self.draw_children(&mut out, &mut String::new());
        out
    }

    fn draw_children(&self, out: &mut String, before: &mut String) {
        let last = self.children.len().saturating_sub(1);
        for (position, child) in self.children.iter().enumerate() {
            let (branch, below) =
                if position == last { ("└── ", "    ") } else { ("├── ", "│   ") };
            out.push_str(before);
            out.push_str(branch);
            out.push_str(&child.text());
            out.push('\n');
            let length = before.len();
            before.push_str(below);
            child.draw_children(out, before);
            before.truncate(length);
        }
    }

    fn text(&self) -> String {
        let ObjectId { namespace, name, kind, .. } = &self.id;
        if namespace.is_empty() {
            format!("{kind}/{name}")
        } else {
            format!("{kind}/{namespace}/{name}")
        }
    }

    /// The tree with Go's names for the parts of an object's identity.
    pub(super) fn to_value(&self) -> Value {
        let mut value = json!({"resource": {
            "Namespace": self.id.namespace,
            "Name": self.id.name,
            "GroupKind": {"Group": self.id.group, "Kind": self.id.kind},
        }});
        if !self.children.is_empty() {
            value["resources"] = self.children.iter().map(Self::to_value).collect();
        }
        value
    }

    /// The same as JSON, with keys in the order of Go's types.
    pub(super) fn to_json(&self) -> String {
        let mut flat = String::new();
        self.write_json(&mut flat);
        gojson::indent(&flat)
    }

    fn write_json(&self, out: &mut String) {
        let ObjectId { namespace, name, group, kind } = &self.id;
        let quote = go::quote;
        let _ = write!(
            out,
            "{{\"resource\":{{\"Namespace\":{},\"Name\":{},\"GroupKind\":{{\"Group\":{},\"Kind\":{}}}}}",
            quote(namespace),
            quote(name),
            quote(group),
            quote(kind)
        );
        if !self.children.is_empty() {
            out.push_str(",\"resources\":[");
            for (position, child) in self.children.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                child.write_json(out);
            }
            out.push(']');
        }
        out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use sluice_ssa::ObjectId;

    use super::Node;

    fn node(name: &str, children: Vec<Node>) -> Node {
        let id = ObjectId {
            namespace: String::new(),
            name: name.to_owned(),
            group: String::new(),
            kind: "K".to_owned(),
        };
        Node { id, children }
    }

    #[test]
    fn lines_go_on_where_siblings_follow() {
        let tree =
            node("r", vec![node("a", vec![node("b", vec![])]), node("c", vec![node("d", vec![])])]);
        assert_eq!(tree.draw(), "K/r\n├── K/a\n│   └── K/b\n└── K/c\n    └── K/d\n");
    }
}
