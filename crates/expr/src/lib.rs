//! CEL as Kubernetes and Flux have it, bounded in size and time.
