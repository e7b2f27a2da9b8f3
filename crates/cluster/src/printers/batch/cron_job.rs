//! CronJobs: schedule and last run.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, CONTAINERS, Column, Field, IMAGES, NAME, Printer};
use crate::printers::age::{age, since};
use crate::printers::cell::{cells, joined, selector, text_or};
use crate::value::{at, list, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Schedule", Field("batch.v1.CronJobSpec", "schedule")),
    Column::string("Timezone", Field("batch.v1.CronJobSpec", "timeZone")),
    Column::boolean("Suspend", Field("batch.v1.CronJobSpec", "suspend")),
    Column::integer("Active", Field("batch.v1.CronJobStatus", "active")),
    Column::string("Last Schedule", Field("batch.v1.CronJobStatus", "lastScheduleTime")),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    Column::string("Selector", Field("batch.v1.JobSpec", "selector")).wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let suspended = match at(object, "spec.suspend").as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    let last = at(object, "status.lastScheduleTime").as_str();
    cells![
        metadata::name(object),
        text(object, "spec.schedule"),
        text_or(object, "spec.timeZone", "<none>"),
        suspended,
        list(object, "status.active").len(),
        last.map_or_else(|| "<none>".to_owned(), |last| since(last, now)),
        age(object, now),
        joined(object, "spec.jobTemplate.spec.template.spec.containers", "name"),
        joined(object, "spec.jobTemplate.spec.template.spec.containers", "image"),
        selector(at(object, "spec.jobTemplate.spec.selector")),
    ]
}
