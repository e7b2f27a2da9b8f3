//! Jobs: completions and duration.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, CONTAINERS, Column, Field, IMAGES, Literal, NAME, Printer};
use crate::printers::age::{age, human, parse};
use crate::printers::cell::{cells, condition, joined, selector};
use crate::value::{at, int, number, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Status", Literal("Status of the job.")),
    Column::string("Completions", Field("batch.v1.JobStatus", "succeeded")),
    Column::string("Duration", Literal("Time required to complete the job.")),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    Column::string("Selector", Field("batch.v1.JobSpec", "selector")).wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        metadata::name(object),
        status(object),
        completions(object),
        took(object, now),
        age(object, now),
        joined(object, "spec.template.spec.containers", "name"),
        joined(object, "spec.template.spec.containers", "image"),
        selector(at(object, "spec.selector")),
    ]
}

fn status(object: &Value) -> &'static str {
    let holds = |kind: &str| {
        condition(object, "status.conditions", kind)
            .is_some_and(|found| text(found, "status") == "True")
    };
    if holds("Complete") {
        "Complete"
    } else if holds("Failed") {
        "Failed"
    } else if metadata::is_terminating(object) {
        "Terminating"
    } else {
        ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
            .into_iter()
            .find(|kind| holds(kind))
            .unwrap_or("Running")
    }
}

fn completions(object: &Value) -> String {
    let succeeded = number(object, "status.succeeded");
    match (int(object, "spec.completions"), number(object, "spec.parallelism")) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallel) if parallel > 1 => format!("{succeeded}/1 of {parallel}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn took(object: &Value, now: Timestamp) -> String {
    let start = parse(text(object, "status.startTime"));
    let end = parse(text(object, "status.completionTime")).unwrap_or(now);
    start.map_or_else(String::new, |start| human(end.duration_since(start)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn completions_are_shown_by_what_the_job_wants() {
        let cases = [
            (json!({"completions": 3, "parallelism": 2}), "1/3"),
            (json!({"parallelism": 2}), "1/1 of 2"),
            (json!({"parallelism": 1}), "1/1"),
            (json!({}), "1/1"),
        ];
        for (spec, expected) in cases {
            let job = json!({"spec": spec, "status": {"succeeded": 1}});
            assert_eq!(completions(&job), expected, "{spec}");
        }
    }

    #[test]
    fn a_job_takes_time_from_its_start_to_its_end_or_now() {
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let (start, end) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:07Z");
        let cases = [
            (json!({}), ""),
            (json!({"startTime": start}), "60s"),
            (json!({"startTime": start, "completionTime": end}), "7s"),
        ];
        for (status, expected) in cases {
            assert_eq!(took(&json!({"status": status}), now), expected, "{status}");
        }
    }

    #[test]
    fn the_status_is_the_strongest_condition() {
        let holds = |kind: &str| json!({"type": kind, "status": "True"});
        let cases = [
            (json!([]), "Running"),
            (json!([holds("Suspended"), holds("FailureTarget")]), "Suspended"),
            (json!([holds("FailureTarget"), holds("Failed")]), "Failed"),
            (json!([holds("SuccessCriteriaMet"), holds("Complete")]), "Complete"),
            (json!([{"type": "Complete", "status": "False"}]), "Running"),
        ];
        for (conditions, expected) in cases {
            assert_eq!(status(&json!({"status": {"conditions": conditions}})), expected);
        }
    }
}
