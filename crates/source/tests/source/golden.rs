//! Tables that the originals filled in: `conformance/sourceignore` and `conformance/semver` record them.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sluice_source::ignore::{self, Rules};
use sluice_source::semver::{Constraint, Version};

/// The recorded table, or a longer one that a variable names.
fn cases<T: DeserializeOwned>(name: &str, variable: &str) -> Vec<T> {
    let recorded = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let path = std::env::var_os(variable).map_or_else(recorded, PathBuf::from);
    let text = std::fs::read_to_string(path).expect("a table");
    text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect()
}

#[derive(Debug, Deserialize)]
struct IgnoreCase {
    sources: Vec<IgnoreSource>,
    defaults: bool,
    paths: Vec<IgnorePath>,
}

#[derive(Debug, Deserialize)]
struct IgnoreSource {
    domain: Vec<String>,
    text: String,
}

#[derive(Debug, Deserialize)]
struct IgnorePath {
    path: String,
    directory: bool,
    excluded: bool,
}

#[test]
fn ignore_rules_are_those_of_the_original() {
    let mut compared = 0;
    let mut wrong = Vec::new();
    for case in cases::<IgnoreCase>("ignore.jsonl", "SLUICE_IGNORE_CASES") {
        let mut patterns = Vec::new();
        for source in &case.sources {
            let domain: Vec<&str> = source.domain.iter().map(String::as_str).collect();
            patterns.extend(ignore::read(&source.text, &domain));
        }
        let rules =
            if case.defaults { Rules::with_defaults(patterns) } else { Rules::new(patterns) };
        for asked in &case.paths {
            compared += 1;
            if rules.excludes(&asked.path, asked.directory) != asked.excluded {
                wrong.push(format!("{asked:?} in {:?}", case.sources));
            }
        }
    }
    println!("{compared} paths compared, {} differ", wrong.len());
    assert!(compared > 1000 && wrong.is_empty(), "{:#?}", wrong.get(..20).unwrap_or(&wrong));
}

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
    for case in cases::<SemverCase>("semver.jsonl", "SLUICE_SEMVER_CASES") {
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
