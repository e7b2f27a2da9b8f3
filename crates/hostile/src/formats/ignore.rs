//! `.sourceignore` files and patterns of composed artifacts, asked about paths that want to be slow.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_source::compose::{CopyStep, compose};
use sluice_source::ignore::{Rules, read};
use sluice_source::tree::SourceTree;

use crate::make::{numbered, reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "ignore files", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let deep = "a/".repeat(120);
    let long = "a".repeat(250);
    let paths = ["a", "deploy/app/x.yaml", &format!("{deep}b"), &long, &format!("{long}/{long}b")];
    let rules = Rules::with_defaults(read(&text, &["sub"]));
    for path in paths {
        let _ = (rules.excludes(path, false), rules.excludes(path, true));
    }
    let Some(pattern) = text.lines().next() else { return Ok(()) };
    let files: SourceTree =
        paths.iter().map(|path| ((*path).to_owned(), bytes::Bytes::new())).collect();
    let sources = BTreeMap::from([("s".to_owned(), Arc::new(files))]);
    let step = CopyStep {
        from: format!("@s/{pattern}"),
        to: "@artifact/".to_owned(),
        exclude: vec![pattern.to_owned()],
        ..CopyStep::default()
    };
    compose(&[step], &sources).map(drop).map_err(reason)
}

fn seeds() -> Vec<Vec<u8>> {
    vec![
        b"a\n".to_vec(),
        b"# all\n/*\n!/deploy\n/deploy/**/*.md\n".to_vec(),
        b"*.{jpg,png}\n**/test/\n[a-c]?\\*\nfoo/**\n".to_vec(),
    ]
}

fn hostile() -> Vec<Hostile> {
    vec![
        ("stars that go back and forth", times("*a", 2000)),
        ("stars and a letter that is not there", [times("*a*", 400), b"c".to_vec()].concat()),
        ("double stars in a row", times("**/", 300)),
        ("double stars and names", [times("**/a/", 200), b"c".to_vec()].concat()),
        ("100,000 patterns", times("*.a\n", 100_000)),
        ("30,000 patterns with double stars", times("**/a/**/b\n", 10_000)),
        ("braces of a billion ways", times("{a,b}", 30)),
        ("braces in each other", [times("{a,", 2000), times("}", 2000)].concat()),
        ("30,000 ways in one brace", format!("{{{}x}}", numbered("a{n},", 30_000)).into_bytes()),
        ("a class without end", [b"[".to_vec(), times("a-z", 100_000)].concat()),
        ("classes in a row", times("[a-z]", 10_000)),
        ("a line of a mebibyte", times("a", 1 << 20)),
        ("escapes", times("\\", 1 << 18)),
        ("questions", times("?", 100_000)),
    ]
}
