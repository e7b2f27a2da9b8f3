//! The crate from outside: repositories over the network, with the real git where it is installed.

mod artifacts;
mod bucket_store;
mod buckets;
mod git_backend;
mod git_made;
mod git_network;
mod git_real;
mod git_ssh;
mod golden;
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
