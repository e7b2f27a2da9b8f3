//! The controllers, one folder for each kind.
//!
//! They meet only through API objects and artifacts, and never call each other. Each sees a [`kube::Client`];
//! whether a real cluster or an embedded one is behind it, it cannot tell.

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
pub mod run;
pub mod safety;
pub mod sources;
pub mod sourcing;
pub mod variables;
pub mod waking;
