//! What the schema in use says about kinds.

/// The schema of one build.
#[derive(Debug, Clone)]
pub(crate) struct Schema;

impl Schema {
    pub(crate) fn builtin() -> Self {
        Self
    }

    pub(crate) fn is_certainly_cluster_scoped(&self, _api_version: &str, kind: &str) -> bool {
        matches!(kind, "Namespace" | "ClusterRole")
    }
}
