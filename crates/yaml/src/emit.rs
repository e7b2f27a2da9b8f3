//! Values to text, byte for byte as go-yaml's two emitters write them.
//!
//! `writer` keeps the column and the indentation, `scalar` chooses and writes scalar styles,
//! `value` walks JSON values the way `sigs.k8s.io/yaml` prints them, and `node` walks trees the way
//! go-yaml v3 does; `printed` takes the short way from a tree to what kustomize prints.

mod comment;
mod node;
mod order;
mod printed;
mod scalar;
mod value;
mod writer;

pub use node::SequenceIndent;
pub(crate) use order::sort_by_key;
pub use value::from_json;
