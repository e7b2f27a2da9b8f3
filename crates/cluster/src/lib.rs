//! An embedded Kubernetes API server with simulated workloads.

pub mod kind;
pub mod printer;
pub mod status;
