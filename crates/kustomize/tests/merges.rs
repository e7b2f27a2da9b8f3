//! Patches as kyaml and kustomize apply them, recorded by `conformance/kustomize/merge`.
//!
//! `MERGES=file.jsonl` and `PATCHES=file.jsonl` compare more of them than are kept here.

use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;
use sluice_kustomize::{ListIncrease, MergeOptions, json_patch_text, merge_text};

/// Compares every recorded answer and reports the shortest that differ.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "the counts are what is measured")]
fn compare(recorded: &str, more: &str, run: impl Fn(&Value) -> Result<String, String>) {
    let (mut all, mut failed, mut lost, mut wrong) = (0, 0, 0, Vec::new());
    let reader: Box<dyn BufRead> = if let Some(path) = std::env::var_os(more) {
        Box::new(BufReader::new(std::fs::File::open(path).expect("a readable file")))
    } else {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(recorded);
        let file = std::fs::File::open(path).expect("the goldens are there");
        Box::new(BufReader::new(GzDecoder::new(file)))
    };
    for line in reader.lines() {
        let case: Value = serde_json::from_str(&line.expect("a line")).expect("a line of JSON");
        if case.get("panic").is_some() {
            lost += 1;
            continue;
        }
        all += 1;
        let expected = match case["error"].as_str() {
            Some(error) if !error.is_empty() => Err(error),
            _ => Ok(case["result"].as_str().unwrap_or_default()),
        };
        failed += usize::from(expected.is_err());
        let ours = run(&case);
        let same = match (&expected, &ours) {
            (Ok(expected), Ok(ours)) => expected == ours,
            (Err(_), Err(_)) => true,
            _ => false,
        };
        if !same {
            wrong.push((case.clone(), ours));
        }
    }
    println!("{all} compared, {failed} of them failures, {lost} crashed the original");
    // The shortest tell most.
    wrong.sort_by_key(|(case, _)| text(case, "patch").len() + text(case, "target").len());
    for (case, ours) in wrong.iter().take(3) {
        let show = |result: &Result<String, String>| match result {
            Ok(text) => text.clone(),
            Err(error) => format!("error: {error}"),
        };
        eprintln!(
            "options {} {}\n--- patch\n{}\n--- target\n{}\n--- expected\n{}{}\n--- ours\n{}\n=====",
            case["infer"],
            case["prepend"],
            case["patch"].as_str().unwrap_or_default(),
            case["target"].as_str().unwrap_or_default(),
            case["result"].as_str().unwrap_or_default(),
            case["error"].as_str().unwrap_or_default(),
            show(ours)
        );
    }
    assert!(wrong.is_empty(), "{} of {all} differ", wrong.len());
}

fn text<'v>(case: &'v Value, name: &str) -> &'v str {
    case[name].as_str().unwrap_or_default()
}

#[test]
fn merges_are_those_of_kyaml() {
    compare("merges-kyaml-0.21.1.jsonl.gz", "MERGES", |case| {
        let list_increase = match case["prepend"].as_bool() {
            Some(true) => ListIncrease::Prepend,
            _ => ListIncrease::Append,
        };
        let infer_lists = case["infer"].as_bool().unwrap_or_default();
        let options = MergeOptions { list_increase, infer_lists };
        merge_text(text(case, "patch"), text(case, "target"), options)
            .map_err(|failure| failure.to_string())
    });
}

#[test]
fn json_patches_are_those_of_kustomize() {
    compare("json-patches-kustomize-0.21.1.jsonl.gz", "PATCHES", |case| {
        json_patch_text(text(case, "patch"), text(case, "target"))
            .map_err(|failure| failure.to_string())
    });
}
