//! An embedded Kubernetes API server with simulated workloads.

pub mod kind;
#[expect(dead_code, reason = "the verbs that ask for a kind are being written")]
pub(crate) mod kinds;
pub mod printer;
pub mod status;
#[expect(dead_code, reason = "the kinds that use all of it are being written")]
pub mod validation;
#[expect(dead_code, reason = "the kinds that use all of it are being written")]
mod value;
