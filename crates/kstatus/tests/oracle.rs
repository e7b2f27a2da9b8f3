//! Our reading of generated objects beside the recorded one of Flux's kstatus, word for word.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use jiff::Timestamp;
use serde_json::{Value, json};
use sluice_kstatus::{Assessment, FieldError, assess, assess_job};

/// Some moment between the times of creation that the generator knows.
const NOW: Timestamp = Timestamp::constant(1_790_000_000, 0);

fn as_json(assessed: Result<Assessment, FieldError>) -> Value {
    let assessed = match assessed {
        Ok(assessed) => assessed,
        Err(error) => return json!({"error": error.to_string()}),
    };
    let mut out = json!({"status": assessed.status.as_str()});
    if !assessed.message.is_empty() {
        out["message"] = json!(assessed.message);
    }
    if let Some(condition) = assessed.condition {
        out["condition"] = json!({"type": condition.kind, "status": "True"});
        for (name, text) in [("reason", condition.reason), ("message", condition.message)] {
            if !text.is_empty() {
                out["condition"][name] = json!(text);
            }
        }
    }
    out
}

/// Flux reports a Job it cannot read as unknown.
fn job_as_json(object: &Value) -> Value {
    match assess_job(object) {
        Err(error) => json!({
            "status": "Unknown",
            "message": format!("Failed to compute job status: {error}"),
        }),
        assessed => as_json(assessed),
    }
}

#[test]
fn every_recorded_object_is_read_as_upstream_reads_it() {
    let recording = std::env::var("KSTATUS_RECORDING").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/cli-utils-1.2.3.jsonl.gz").to_owned()
    });
    let file = File::open(&recording).expect("the recording is there");
    let mut statuses: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let line = line.expect("the recording can be read");
        let case: Value = serde_json::from_str(&line).expect("a case is JSON");
        let object = &case["object"];
        let reading = as_json(assess(object, NOW));
        let status = reading["status"].as_str().unwrap_or("error");
        *statuses
            .entry(format!("{} {status}", object["kind"].as_str().unwrap_or("")))
            .or_default() += 1;
        if reading != case["reading"] || job_as_json(object) != case["job"] {
            wrong.push(format!(
                "{object}\n  want {} {}\n  have {reading} {}",
                case["reading"],
                case["job"],
                job_as_json(object)
            ));
        }
    }
    let shown: Vec<_> = wrong.iter().take(10).cloned().collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), shown.join("\n"));
    assert!(statuses.len() > 60, "the cases reach too little: {statuses:?}");
}
