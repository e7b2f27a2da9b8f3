//! The tables of the group `policy`.

mod pod_disruption_budget;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "poddisruptionbudgets" => pod_disruption_budget::PRINTER,
        _ => return None,
    })
}
