//! Schemas of the Kubernetes API, as pure functions over JSON.
//!
//! - [`field`]: paths and field errors with upstream's messages.
//! - [`gotypes`]: decoding into the Go types and encoding again.
//! - [`managed`]: `managedFields` through updates and server-side apply.
//! - [`metadata`]: validation of an object's `metadata`.
//! - [`openapi_v2`]: OpenAPI v3 as v2.
//! - [`patch`]: JSON patches, merge patches and strategic merge patches.
//! - [`protobuf`]: request bodies in Kubernetes' protobuf, read into JSON; OpenAPI written as protobuf.
//! - [`recorded`]: OpenAPI, discovery and first objects of a real Kubernetes.
//! - [`smd`]: structured merge and diff, field sets and their types.
//! - [`structural`]: schemas of custom resources: prune, default, validate.

pub mod field;
pub mod gotypes;
pub mod managed;
pub mod metadata;
pub mod openapi_v2;
pub mod patch;
pub mod protobuf;
pub mod recorded;
pub mod smd;
pub mod structural;
