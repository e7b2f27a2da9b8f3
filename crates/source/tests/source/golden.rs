//! Tables that the originals filled in: `conformance/sourceignore` records them.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sluice_source::ignore::{self, Rules};

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
