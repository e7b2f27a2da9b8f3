//! What Flux's own libraries answer, against ours.
//!
//! `conformance/flux/record.sh` records the tables below `tests/flux/`; a table's first line names what
//! answered. Larger tables for a longer run, and those with cases out of upstream's own tests, are named by
//! environment variables.

#[path = "flux/build.rs"]
mod build;
#[path = "flux/objects.rs"]
mod objects;
#[path = "flux/texts.rs"]
mod texts;
#[path = "flux/trees.rs"]
mod trees;

use std::fs;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use serde_json::Value;

/// The cases of a table: the recorded one, or the one that a variable names.
fn table(name: &str, variable: &str) -> Vec<Value> {
    let text = std::env::var_os(variable).map_or_else(
        || unpacked(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/flux").join(name)),
        |path| fs::read_to_string(path).expect("the table that was asked for"),
    );
    let lines = text.lines().skip(1);
    lines.map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn unpacked(path: &Path) -> String {
    let packed = fs::read(path).expect("the recorded table is there");
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_string(&mut text)
        .expect("the table is packed text");
    text
}

/// A text of a table; bytes that are no UTF-8 are written in base64.
fn bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap_or_default();
    match text.strip_prefix("b64:") {
        Some(encoded) => {
            base64::prelude::BASE64_STANDARD.decode(encoded).expect("the table's own base64")
        }
        None => text.as_bytes().to_vec(),
    }
}

/// Compares each case; `differs` tells what is wrong with one.
fn compare(cases: &[Value], differs: impl Fn(&Value) -> Option<String>) {
    assert!(cases.len() > 10, "only {} cases", cases.len());
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| differs(case).map(|ours| format!("{case}\n  ours: {ours}")))
        .collect();
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {} differ:\n{shown}", wrong.len(), cases.len());
}
