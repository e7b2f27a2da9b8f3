//! The controllers on the embedded cluster, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ground;
mod kustomizations;
mod lasting;
mod repositories;
