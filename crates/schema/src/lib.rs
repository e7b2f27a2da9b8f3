//! What the Kubernetes API knows about the shape of objects, as pure functions over JSON.
//!
//! - [`field`]: paths and field errors in upstream's words.
//! - [`metadata`]: what is wrong with an object's `metadata`.
//! - [`names`]: the rules for names, label keys and label values.
//! - [`recorded`]: OpenAPI, discovery and first objects of a real Kubernetes.

pub mod field;
pub mod metadata;
pub mod names;
pub mod recorded;
