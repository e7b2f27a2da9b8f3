//! The kustomize engine, exact to kustomize 5.8.1 and linear in the number of objects.
//!
//! ```text
//! FileTree ─▶ loader ─▶ kustomization ─▶ accumulate ─┬─▶ resources, generators, components
//!                                                    ├─▶ transformers (one file each)
//!                                                    └─▶ at the root: hashes, references, vars, order ─▶ Build
//! ```
//!
//! **Invariants.** Pure: files come through [`FileTree`], nothing is read from the process, and there are no
//! globals, so builds can run concurrently. The same tree gives the same bytes. No step visits all resources
//! for each resource.
//!
//! Start reading at `build.rs`; `resource.rs` and `resources.rs` are the central types.

mod access;
mod accumulate;
mod answers;
mod build;
mod config;
mod decode;
mod failure;
mod field_spec;
pub mod flux;
mod generators;
mod id;
mod json_patch;
mod kind_order;
mod kustomization;
mod limits;
mod loader;
mod merge;
mod openapi;
mod origin;
mod place;
mod read;
mod references;
mod resource;
mod resources;
mod selector;
mod sharing;
mod transformers;
mod tree;
mod vars;

pub use answers::Answers;
pub use build::{Build, Options, Reorder, build, step};
pub use failure::{Diagnostic, Failure};
pub use json_patch::json_patch_text;
pub use loader::{Fetched, LoadRestrictor, Remote, RemoteError, RemoteFiles};
pub use merge::{ListIncrease, MergeOptions, merge_text};
pub use place::EntryPlaces;
pub use tree::{Entry, FileTree, MemoryTree, TreeError};
