//! The controllers on the embedded cluster, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod audit;
mod bad_input;
mod buckets;
mod claims;
mod classes;
mod clouds;
mod decryption;
mod depending;
mod drifting;
mod drifting_elsewhere;
mod egress;
mod failures;
mod fields;
mod forged;
mod gate;
mod generators;
mod git;
mod git_trust;
mod ground;
mod handing_over;
mod health;
mod identities;
mod integrity;
mod kustomizations;
mod lasting;
mod leaks;
mod moves;
mod network;
mod oci;
mod oci_verification;
mod operating;
mod places;
mod removal;
mod repositories;
mod restarting;
mod ssh;
mod tenants;
mod twins;
mod wiles;
mod wiping;
