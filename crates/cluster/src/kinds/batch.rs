//! The batch group.

use std::sync::Arc;

use crate::kind::Kind;

mod cron_job;
mod job;
mod job_policies;
mod job_spec;
mod job_status;
pub(crate) mod schedule;

pub(crate) use job_spec::domain_prefixed_path;

/// The hooks of a resource of the batch group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    Some(match resource {
        "cronjobs" => Arc::new(cron_job::CronJob),
        "jobs" => Arc::new(job::Job),
        _ => return None,
    })
}
