//! The autoscaling group: HorizontalPodAutoscaler, served as v1 and v2 and stored as v2.

use std::sync::Arc;

use crate::kind::Kind;

pub(crate) mod conversion;
mod horizontal_pod_autoscaler;
mod metrics;

/// The hooks of a resource of the autoscaling group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    (resource == "horizontalpodautoscalers")
        .then(|| Arc::new(horizontal_pod_autoscaler::HorizontalPodAutoscaler) as _)
}
