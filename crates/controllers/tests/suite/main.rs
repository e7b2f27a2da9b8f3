//! The controllers on the embedded cluster, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod decryption;
mod failures;
mod fields;
mod ground;
mod health;
mod kustomizations;
mod lasting;
mod oci;
mod removal;
mod repositories;
