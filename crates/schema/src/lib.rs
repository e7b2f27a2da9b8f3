//! What the Kubernetes API knows about the shape of objects, as pure functions over JSON.
//!
//! - [`field`]: paths and field errors in upstream's words.

pub mod field;
