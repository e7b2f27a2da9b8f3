//! The Go layer against what `conformance/golayer` recorded from Go, apimachinery and kyaml.
//!
//! `SLUICE_GO_CASES` names a directory with more cases than are kept here.

use std::path::PathBuf;

use serde_json::Value;
use sluice_base::go::{self, float, quote, regexp, value};
use sluice_base::gojson;
use sluice_base::labels::{Selector, SelectorError};

/// Calls `check` with each recorded row and reports the rows for which it returned a difference.
fn compare(function: &str, check: impl Fn(&[Value]) -> Vec<String>) {
    let own = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/go"));
    let directory = std::env::var_os("SLUICE_GO_CASES").map_or_else(own, PathBuf::from);
    let path = directory.join(format!("{function}.jsonl"));
    let table = std::fs::read_to_string(&path).expect("the table is recorded");
    let rows: Vec<Vec<Value>> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| serde_json::from_str(line).expect("a row is an array"))
        .collect();
    assert!(rows.len() >= 300, "only {} rows of {function}", rows.len());
    let differences: Vec<String> = rows
        .iter()
        .flat_map(|row| check(row).into_iter().map(move |why| format!("{row:?}\n    {why}")))
        .collect();
    let shown = differences[..differences.len().min(20)].join("\n");
    assert!(differences.is_empty(), "{} of {} differ:\n{shown}", differences.len(), rows.len());
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn bytes(value: &Value) -> Vec<u8> {
    let digits = text(value);
    let pair = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal");
    (0..digits.len()).step_by(2).map(pair).collect()
}

/// A difference, if there is one.
fn differs(what: &str, ours: &str, theirs: &str) -> Option<String> {
    (ours != theirs).then(|| format!("{what}: ours {ours:?}, theirs {theirs:?}"))
}

#[test]
fn texts_are_quoted_as_go_quotes_them() {
    compare("quote", |row| {
        let input = bytes(&row[0]);
        let theirs: Vec<String> =
            row[1..].iter().map(|it| String::from_utf8(bytes(it)).unwrap()).collect();
        let mut out: Vec<_> =
            differs("bytes", &quote::quote_bytes(&input), &theirs[0]).into_iter().collect();
        if let Ok(input) = std::str::from_utf8(&input) {
            out.extend(differs("quote", &go::quote(input), &theirs[0]));
            out.extend(differs("time", &quote::quote_ascii(&format!("x{input}")), &theirs[1]));
            out.extend(differs("json", &gojson::to_string(&input.into()), &theirs[2]));
        }
        out
    });
}

#[test]
fn floats_are_printed_as_go_prints_them() {
    compare("float", |row| {
        let number = f64::from_bits(u64::from_str_radix(text(&row[0]), 16).unwrap());
        let json = if number.is_finite() { float::json(number) } else { String::new() };
        let ours = [
            ("g", float::general(number)),
            ("f", float::fixed(number)),
            ("e", float::exponent(number)),
            ("g32", float::general_32(number)),
            ("f3", float::fixed_to(number, 3)),
            ("e3", float::exponent_to(number, 3)),
            ("v", float::general(number)),
            ("json", json),
        ];
        ours.iter()
            .zip(&row[1..])
            .filter_map(|((what, ours), theirs)| differs(what, ours, text(theirs)))
            .collect()
    });
}

#[test]
fn values_are_printed_as_go_prints_them() {
    compare("value", |row| {
        let input: Value = serde_json::from_str(text(&row[0])).unwrap();
        let ours = [
            ("json", gojson::to_string(&input)),
            ("v", value::plain(&input)),
            ("#v", format!("[]interface {{}}{{{}}}", value::syntax(&input))),
        ];
        ours.iter()
            .zip(&row[1..])
            .filter_map(|((what, ours), theirs)| differs(what, ours, text(theirs)))
            .collect()
    });
}

#[test]
fn regular_expressions_are_read_and_found_as_in_go() {
    compare("regexp", |row| {
        let (pattern, refused) = (text(&row[0]), text(&row[1]));
        let compiled = match regexp::compile(pattern) {
            Ok(compiled) => compiled,
            Err(error) => {
                return differs("refusal", &error.to_string(), refused).into_iter().collect();
            }
        };
        let mut out: Vec<String> = differs("refusal", "", refused).into_iter().collect();
        for found in row[2].as_array().unwrap() {
            let subject = text(&found[0]);
            let places = compiled.captures(subject).map_or(String::new(), |groups| {
                let place = |group: Option<regex::Match>| {
                    group.map_or("-1 -1".to_owned(), |it| format!("{} {}", it.start(), it.end()))
                };
                groups.iter().map(place).collect::<Vec<_>>().join(" ")
            });
            let all: Vec<&str> = compiled.find_iter(subject).map(|it| it.as_str()).collect();
            let what = format!("on {subject:?} by {}", compiled.as_str());
            out.extend(differs(&what, &places, text(&found[1])));
            out.extend(differs(&format!("all {what}"), &all.join("|"), text(&found[2])));
        }
        out
    });
}

/// A refusal, the text form, and whether labels are selected, as the tables have them.
fn answer(
    selector: Result<Option<Selector>, SelectorError>,
    labels: &Value,
) -> (String, String, bool) {
    match selector {
        Err(error) => (error.to_string(), String::new(), false),
        Ok(None) => (String::new(), String::new(), false),
        Ok(Some(selector)) => {
            let selects = selector.matches(|key| labels.get(key).and_then(Value::as_str));
            (String::new(), selector.to_string(), selects)
        }
    }
}

#[test]
fn label_selectors_are_read_as_apimachinery_does() {
    compare("labels", |row| {
        let ours = answer(Selector::parse(text(&row[0])).map(Some), &row[1]);
        let theirs = (text(&row[2]).into(), text(&row[3]).into(), row[4] == true);
        (ours != theirs).then(|| format!("{ours:?}")).into_iter().collect()
    });
}

#[test]
fn label_selectors_of_kustomize_are_read_as_kyaml_does() {
    compare("kyaml", |row| {
        let (refusal, _, selects) = answer(Selector::parse_kyaml(text(&row[0])).map(Some), &row[1]);
        let ours = (refusal, selects);
        let theirs = (text(&row[2]).into(), row[3] == true);
        (ours != theirs).then(|| format!("{ours:?}")).into_iter().collect()
    });
}

#[test]
fn label_selector_objects_are_converted_as_apimachinery_does() {
    compare("selector", |row| {
        let ours = answer(Selector::from_object(&row[0]), &row[1]);
        let theirs = (text(&row[2]).into(), text(&row[3]).into(), row[4] == true);
        (ours != theirs).then(|| format!("{ours:?}")).into_iter().collect()
    });
}
