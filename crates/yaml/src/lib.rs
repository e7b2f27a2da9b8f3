//! YAML documents as Go's tools read and write them.
//!
//! Kubernetes reads YAML with `sigs.k8s.io/yaml`, which is go-yaml v2, and prints with it; kustomize
//! keeps trees of go-yaml v3. What a text means, which line an error names, where a comment belongs
//! and how a value is quoted are all observable, so this crate follows both libraries to the byte:
//!
//! ```text
//! bytes ─ input ─ scanner ─ parser ┬ tree ─ json ──► serde_json::Value        to_json, documents_to_json
//!                                  └ node ─────────► Document, Node           parse
//!                  serde_json::Value ─ emit::value ─► sigs.k8s.io/yaml's text  from_json
//!                     Document, Node ─ emit::node ──► go-yaml v3's text        to_yaml
//! ```
//!
//! `resolve` knows what a plain scalar means, in both dialects. Start reading at `scanner`.
//!
//! - Nothing panics on input, depth and the growth by aliases are bounded ([`MAX_DEPTH`]), and cost is
//!   linear in what is read.
//! - Scanner and parser are our own. They are libyaml's automaton, because go-yaml's quirks are those
//!   of libyaml; but a port of libyaml has neither the comments, nor the two ways to choose an error's
//!   line, nor texts that stay slices of the input.
//! - Not followed: where Go answers by the order of a hash map (keys that are equal only in JSON; key
//!   orders that are no order), and an alias to an anchor of an earlier document.

mod budget;
mod emit;
mod error;
mod input;
mod json;
mod node;
mod parser;
mod resolve;
mod scanner;
mod stream;
mod token;
mod tree;

pub use emit::{SequenceIndent, from_json};
pub use error::Error;
pub use json::{Duplicates, documents_to_json, to_json};
pub use node::{
    Comments, Content, Document, Node, Position, is_special_in_yaml_1_1, parse, parse_as,
    parse_first,
};
pub use stream::{split_for_kubernetes, split_for_kustomize};
pub use token::ScalarStyle;

/// The dialect of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// go-yaml v2: `sigs.k8s.io/yaml`, so everything that goes to or comes from an API server.
    V2,
    /// go-yaml v3: kustomize's node trees.
    V3,
}

/// How deep collections may be inside each other. go-yaml stops at 10,000, where it has room on its
/// stack; nothing that Kubernetes takes comes near either.
pub const MAX_DEPTH: usize = 512;

fn too_deep() -> Error {
    Error::problem(format!("exceeded max depth of {MAX_DEPTH}"))
}
