//! Applying to an embedded cluster, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod applying;
mod failing;
mod ground;
mod oracle;
mod pruning;
mod takeover;
mod waiting;
