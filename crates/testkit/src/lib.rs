//! What tests of several crates play against: real servers on loopback ports, and what real programs make.
//!
//! Only tests use this crate; `xtask/tests/architecture.rs` fails if the product does.

pub mod git;
pub mod ssh;
