//! The crate from outside: repositories over the network, with the real git where it is installed.

mod artifacts;
mod bucket_store;
mod buckets;
mod git_backend;
mod git_claims;
mod git_history;
mod git_made;
mod git_network;
mod git_protocol;
mod git_real;
mod git_signing;
mod git_ssh;
mod golden;
mod hostile;
mod network;
mod notation_attacks;
mod oci_attacks;
mod oci_clouds;
mod oci_real;
mod oci_registry;
mod oci_signatures;
mod providers;
mod signatures;
mod socks;
mod support;
