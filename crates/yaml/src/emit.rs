//! Values to text, byte for byte as go-yaml's two emitters write them.
//!
//! `writer` keeps the column and the indentation, `scalar` chooses and writes scalar styles, and
//! `value` walks JSON values the way `sigs.k8s.io/yaml` prints them.

mod order;
mod scalar;
mod value;
mod writer;

pub use value::from_json;
