//! The tables of the group `autoscaling`.

mod horizontal_pod_autoscaler;
pub(super) mod scale;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "horizontalpodautoscalers" => horizontal_pod_autoscaler::PRINTER,
        _ => return None,
    })
}
