//! A claim in a document has a test: the tests that `docs/security.md` names are there.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

/// Everything of the form `path/file.rs::name` in a text.
fn named_tests(text: &str) -> Vec<(String, String)> {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-./:".contains(letter);
    text.split(|letter| !is_part(letter))
        .filter_map(|word| word.split_once(".rs::"))
        .map(|(file, test)| (format!("{file}.rs"), test.to_owned()))
        .collect()
}

#[test]
fn tests_that_the_security_page_names_are_there() {
    let page = std::fs::read_to_string(root().join("docs/security.md")).expect("the page is there");
    let named = named_tests(&page);
    assert!(named.len() >= 60, "only {} tests are named", named.len());
    let mut missing = Vec::new();
    for (file, test) in named {
        let source = std::fs::read_to_string(root().join(&file)).unwrap_or_default();
        let function = test.rsplit("::").next().unwrap_or_default();
        if !source.contains(&format!("fn {function}(")) {
            missing.push(format!("{file}::{test}"));
        }
    }
    assert!(missing.is_empty(), "docs/security.md names tests that are not there: {missing:#?}");
}

#[test]
fn a_test_that_is_not_there_would_be_noticed() {
    let named = named_tests("see `crates/a/tests/b.rs::c_d` and crates/x.rs, not a::b");
    assert_eq!(named, [("crates/a/tests/b.rs".to_owned(), "c_d".to_owned())]);
}
