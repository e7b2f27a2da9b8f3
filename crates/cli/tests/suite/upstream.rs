//! The goldens of flux's own tests, read from its Go module where that is at hand.
//!
//! The tests of `create` are tables of command lines, each with a golden file or an error. They are read
//! from the Go sources; what is in templates, or needs other machines, is passed over.

use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use crate::VERSION;

/// Command lines of flux's tests that ours answers otherwise, and why.
const DIFFERENT: [(&str, &str); 5] = [
    ("ssh://", "keys are not made, and hosts are not asked for theirs"),
    ("invalid-trust-policy", "a trust policy is only looked at for its version"),
    ("--provider dummy", "a value that a flag does not take is refused in clap's words"),
    ("--provider \"\"", "the same"),
    ("--export --provider", "the same for a value that is missing"),
];

fn module() -> Option<PathBuf> {
    let cache = match std::env::var_os("GOMODCACHE") {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(std::env::var_os("HOME")?).join("go/pkg/mod"),
    };
    Some(cache.join(format!("github.com/fluxcd/flux2/v2@v{VERSION}/cmd/flux")))
        .filter(|p| p.is_dir())
}

/// What a case expects.
enum Expected {
    Output(String),
    Error(String),
}

fn cases(source: &str, directory: &Path) -> Vec<(String, Expected)> {
    let args = Regex::new(r#"args:\s*(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)"#).expect("it is a pattern");
    let assert = Regex::new(
        r#"assert:\s*(assertGoldenFile|assertError)\(("((?:[^"\\]|\\.)*)"|`([^`]*)`)\)"#,
    )
    .expect("it is a pattern");
    let mut found = Vec::new();
    let starts: Vec<_> = args.captures_iter(source).collect();
    for (position, start) in starts.iter().enumerate() {
        let whole = start.get(0).expect("a match has a whole");
        let end = starts
            .get(position + 1)
            .map_or(source.len(), |next| next.get(0).expect("a match has a whole").start());
        let Some(assertion) = source.get(whole.end()..end).and_then(|rest| assert.captures(rest))
        else {
            continue;
        };
        let quoted =
            |capture: Option<regex::Match<'_>>, raw: Option<regex::Match<'_>>| match (capture, raw)
            {
                (Some(text), _) => text.as_str().replace("\\\"", "\"").replace("\\n", "\n"),
                (None, Some(text)) => text.as_str().to_owned(),
                (None, None) => String::new(),
            };
        let line = quoted(start.get(1), start.get(2));
        let value = quoted(assertion.get(3), assertion.get(4));
        let expected = if &assertion[1] == "assertError" {
            Expected::Error(value)
        } else {
            let path = value.trim_start_matches("./");
            Expected::Output(
                std::fs::read_to_string(directory.join(path)).expect("the golden is there"),
            )
        };
        found.push((line, expected));
    }
    found
}

#[test]
fn what_flux_creates_in_its_tests_is_created() {
    let Some(directory) = module() else {
        sluice_testkit::programs::skip(&format!("flux2 {VERSION} is not in Go's module cache"));
        return;
    };
    let mut names: Vec<String> = std::fs::read_dir(&directory)
        .expect("the module can be read")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("create_") && name.ends_with("_test.go"))
        .filter(|name| !name.contains("image") && !name.contains("helmrelease"))
        .collect();
    names.sort();
    let (mut compared, mut passed_over, mut differences) = (0, 0, Vec::new());
    for name in names {
        let source = std::fs::read_to_string(directory.join(&name)).expect("the test can be read");
        for (line, expected) in cases(&source, &directory) {
            let needs_cluster =
                !line.contains("--export") && matches!(expected, Expected::Output(_));
            if needs_cluster || DIFFERENT.iter().any(|(part, _)| line.contains(part)) {
                passed_over += 1;
                continue;
            }
            compared += 1;
            let words = line.split_whitespace().map(|word| word.trim_matches('\''));
            let output = Command::new(env!("CARGO_BIN_EXE_sluice"))
                .args(words)
                .current_dir(&directory)
                .env("KUBECONFIG", "/nowhere")
                .output()
                .expect("the program starts");
            let ours = String::from_utf8_lossy(&output.stderr).into_owned()
                + &String::from_utf8_lossy(&output.stdout);
            let is_same = match &expected {
                Expected::Output(golden) => ours == *golden,
                Expected::Error(message) => ours == format!("✗ {message}\n"),
            };
            if !is_same {
                let wanted = match expected {
                    Expected::Output(golden) => golden,
                    Expected::Error(message) => format!("✗ {message}\n"),
                };
                differences.push(format!("{name}: {line}\nflux:\n{wanted}\nsluice:\n{ours}"));
            }
        }
    }
    println!("{compared} command lines of flux's tests compared, {passed_over} passed over");
    assert!(compared > 30, "only {compared} cases were found");
    assert!(differences.is_empty(), "{} differ\n{}", differences.len(), differences.join("\n"));
}
