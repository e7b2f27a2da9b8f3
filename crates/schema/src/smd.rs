//! Structured merge and diff: the field sets of managers, and merging configurations.
//!
//! The behaviour is that of sigs.k8s.io/structured-merge-diff v6, which server-side apply is made of:
//!
//! ```text
//! OpenAPI, CRD schema ──> TypeRef          what merges, and by which keys
//! object + TypeRef    ──> field_set        the paths it sets
//!                         compare          paths added, modified, removed
//!                         merge            a configuration into a live object
//!                         remove_items     paths out of an object
//! FieldSet            <─> FieldsV1         the form inside managedFields
//! Updater             ──> the owners after an update or an apply, or the conflicts
//! ```
//!
//! Objects are plain JSON values; metadata is handled in [`crate::managed`].

mod compare;
mod element;
mod fields_v1;
mod filter;
mod merge;
mod model;
mod object_meta;
mod openapi;
mod reconcile;
mod remove;
mod set;
mod typed;
mod update;
mod values;

pub use compare::Comparison;
pub use element::{KeyField, Path, PathElement, display_path};
pub use fields_v1::{from_fields_v1, to_fields_v1, write_fields_v1, write_fields_v1_value};
pub use filter::{Filter, Step};
pub use model::TypeRef;
pub use openapi::{SchemaError, Unknown};
pub use set::FieldSet;
pub use typed::{Duplicates, TypeFault, TypeFaults};
pub use update::{Conflict, ConvertError, Managers, UpdateError, Updater, VersionedSet, Versions};
