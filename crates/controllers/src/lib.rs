//! The controllers: one folder for each kind, and one line in [`table::KINDS`].
//!
//! They meet only through API objects and artifacts, and never call each other. Each has a [`kube::Client`] and cannot
//! know whether a real cluster or an embedded one is behind it.

pub mod artifactgenerator;
pub mod artifacts;
pub mod bucket;
pub mod client;
pub mod compute;
pub mod context;
pub mod dependency;
pub mod drift;
pub mod egress;
pub mod external;
pub mod gitrepository;
pub mod identity;
pub mod kustomization;
pub mod moving;
pub mod needs;
pub mod ocirepository;
pub mod operation;
mod origin;
pub mod rights;
pub mod run;
pub mod safety;
pub mod sources;
pub mod sourcing;
pub mod table;
pub mod variables;
pub mod waking;
