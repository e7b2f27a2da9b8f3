//! An embedded Kubernetes API server with simulated workloads.
