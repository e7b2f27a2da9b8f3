//! Versions and ranges against the table that `conformance/semver` recorded from Masterminds/semver.
//!
//! `SLUICE_SEMVER_CASES` names a longer table.

use std::cmp::Ordering;
use std::path::PathBuf;

use serde::Deserialize;
use sluice_base::semver::{Constraint, Version};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SemverCase {
    range: String,
    range_error: String,
    versions: Vec<SemverAnswer>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
struct SemverAnswer {
    version: String,
    error: String,
    text: String,
    taken: bool,
    compared: i8,
}

#[test]
fn semver_ranges_are_those_of_the_original() {
    let mut compared = 0;
    let mut wrong = Vec::new();
    let recorded =
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/semver.jsonl"));
    let path = std::env::var_os("SLUICE_SEMVER_CASES").map_or_else(recorded, PathBuf::from);
    let table = std::fs::read_to_string(path).expect("a table");
    for line in table.lines() {
        let case: SemverCase = serde_json::from_str(line).expect("a case");
        let range = Constraint::parse(&case.range);
        let error = range.as_ref().err().map(ToString::to_string).unwrap_or_default();
        compared += 1;
        if error != case.range_error {
            wrong.push(format!("{:?}: {error:?}, not {:?}", case.range, case.range_error));
        }
        let mut before: Option<Version> = None;
        for expected in &case.versions {
            compared += 1;
            let found = Version::parse(&expected.version);
            let mut answer = SemverAnswer {
                version: expected.version.clone(),
                error: found.as_ref().err().map(ToString::to_string).unwrap_or_default(),
                text: found.as_ref().map(ToString::to_string).unwrap_or_default(),
                taken: false,
                compared: 0,
            };
            if let Ok(found) = found {
                answer.taken = range.as_ref().is_ok_and(|range| range.check(&found));
                let order =
                    before.as_ref().map_or(Ordering::Equal, |before| found.precedence(before));
                answer.compared = order as i8;
                before = Some(found);
            }
            if answer != *expected {
                wrong.push(format!("{:?}: {answer:?}, not {expected:?}", case.range));
            }
        }
    }
    println!("{compared} answers compared, {} differ", wrong.len());
    assert!(compared > 1000 && wrong.is_empty(), "{:#?}", wrong.get(..20).unwrap_or(&wrong));
}
