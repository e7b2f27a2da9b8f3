//! Test doubles and real programs that tests of several crates share: servers on loopback ports, git, ssh-keygen.
//!
//! Only tests use this crate; `xtask/tests/architecture.rs` fails if the product does.

pub mod git;
pub mod programs;
pub mod ssh;
