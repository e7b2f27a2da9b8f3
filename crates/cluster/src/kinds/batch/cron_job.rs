//! CronJob.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::{job_spec, schedule};
use crate::kind::{Context, Kind};
use crate::kinds::apps::workload;
use crate::validation::{Errors, invalid_raw, labels, non_negative_fields, one_of};
use crate::value::{at, fill, flag, present, slot, text};

/// The hooks of CronJob.
pub(super) struct CronJob;

impl Kind for CronJob {
    fn default(&self, object: &mut Value) {
        let Some(spec) = slot(object, "spec") else { return };
        fill(spec, "concurrencyPolicy", "Allow");
        fill(spec, "suspend", false);
        fill(spec, "successfulJobsHistoryLimit", 3);
        fill(spec, "failedJobsHistoryLimit", 1);
        if let Some(job) = slot(spec, "jobTemplate.spec") {
            job_spec::defaults(job);
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = specification(at(object, "spec"), None);
        let name = text(object, "metadata.name");
        if name.len() > 52 {
            errors.push(FieldError::invalid(
                &Path::new("metadata").child("name"),
                name,
                "must be no more than 52 characters",
            ));
        }
        errors
    }

    fn validate_update(&self, _context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        specification(at(object, "spec"), Some(at(old, "spec")))
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let path = Path::new("spec").child("jobTemplate").child("spec");
        let job = at(object, "spec.jobTemplate.spec");
        let mut warnings = match old {
            Some(old) if !self.changes_generation(object, old) => Vec::new(),
            Some(_) => job_spec::warnings(job, &path),
            None => {
                let mut warnings = workload::name_warning(object);
                warnings.extend(job_spec::warnings(job, &path));
                warnings
            }
        };
        if old.is_some() && text(object, "spec.schedule").contains("TZ") {
            warnings.push("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details".to_owned());
        }
        warnings
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }
}

fn specification(spec: &Value, old: Option<&Value>) -> Errors {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let place = path.child("schedule");
    let schedule = text(spec, "schedule");
    if schedule.is_empty() {
        errors.push(FieldError::required(&place, ""));
    } else {
        if let Err(why) = schedule::parse(schedule) {
            errors.push(FieldError::invalid(&place, schedule, why));
        }
        let had_zone = old.is_some_and(|old| text(old, "schedule").contains("TZ"));
        if schedule.contains("TZ") && !had_zone {
            let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            errors.push(FieldError::invalid(&place, schedule, detail));
        } else if schedule.contains("TZ") && present(spec, "timeZone") {
            let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
            errors.push(FieldError::invalid(&place, schedule, detail));
        }
    }
    errors.extend(non_negative_fields(spec, &["startingDeadlineSeconds"], &path));
    if let Some(zone) = at(spec, "timeZone").as_str()
        && old.is_none_or(|old| at(old, "timeZone").as_str() != Some(zone))
    {
        for why in schedule::zone_problems(zone) {
            errors.push(FieldError::invalid(&path.child("timeZone"), zone, why));
        }
    }
    errors.extend(one_of(spec, "concurrencyPolicy", &["Allow", "Forbid", "Replace"], &path));
    let job = at(spec, "jobTemplate.spec");
    let job_path = path.child("jobTemplate").child("spec");
    errors.extend(job_spec::validate(job, &job_path));
    if present(job, "selector") {
        let printed = labels::print(at(job, "selector"));
        let detail = "`selector` will be auto-generated";
        errors.push(invalid_raw(&job_path.child("selector"), &printed, detail));
    }
    if flag(job, "manualSelector") {
        let path = job_path.child("manualSelector");
        errors.push(FieldError::not_supported(&path, true, &["nil", "false"]));
    }
    errors.extend(non_negative_fields(
        spec,
        &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"],
        &path,
    ));
    errors
}
