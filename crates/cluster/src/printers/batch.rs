//! The tables of the group `batch`.

mod cron_job;
mod job;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "cronjobs" => cron_job::PRINTER,
        "jobs" => job::PRINTER,
        _ => return None,
    })
}
