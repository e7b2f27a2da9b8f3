//! YAML documents as Go's tools read and write them.

mod budget;
mod emit;
mod error;
mod gofmt;
mod input;
mod json;
mod node;
mod parser;
mod resolve;
mod scanner;
mod token;
mod tree;

pub use emit::{SequenceIndent, from_json};
pub use error::Error;
pub use json::{Duplicates, documents_to_json, to_json};
pub use node::{
    Comments, Content, Document, Node, Position, is_special_in_yaml_1_1, parse, parse_as,
};
pub use token::ScalarStyle;

/// Whose reading of a text is meant.
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
