//! What the crate promises in few words; the recorded cases go further.

use serde_json::json;
use sluice_yaml::{Duplicates, documents_to_json, from_json, parse, to_json};

#[test]
fn a_manifest_becomes_json_and_comes_back() {
    let text = b"kind: ConfigMap\nmetadata:\n  name: a\n  labels: {on: yes, v: 1.0}\ndata:\n  x: |\n    1\n    2\n  \"n\": \"010\"\nlist:\n- 1e3\n- ~\n";
    let value = to_json(text, Duplicates::Reject).unwrap().unwrap();
    let expected = json!({
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"true": true, "v": 1}},
        "data": {"x": "1\n2\n", "n": "010"},
        "list": [1000, null],
    });
    assert_eq!(value, expected);
    let written = from_json(&value);
    assert_eq!(
        written,
        "data:\n  \"n\": \"010\"\n  x: |\n    1\n    2\nkind: ConfigMap\nlist:\n- 1000\n- null\nmetadata:\n  labels:\n    \"true\": true\n    v: 1\n  name: a\n"
    );
    assert_eq!(to_json(written.as_bytes(), Duplicates::Reject).unwrap(), Some(value));
}

#[test]
fn an_error_knows_its_place_where_go_yaml_names_the_line_before() {
    let text = b"kind: A\nmetadata: {name: a}\nspec: {x: 1\n";
    let error = parse(text).expect_err("the brace is open");
    assert_eq!(error.to_string(), "yaml: line 2: did not find expected ',' or '}'");
    assert_eq!(error.position().map(|at| (at.line, at.column)), Some((3, 7)));
}

#[test]
fn a_key_that_comes_twice_is_named_or_wins() {
    let text = b"a: 1\nb:\n  c: 1\n  c: 2\na: 2\n";
    let error = to_json(text, Duplicates::Reject).expect_err("duplicates");
    assert_eq!(
        error.to_string(),
        "yaml: unmarshal errors:\n  line 4: key \"c\" already set in map\n  line 5: key \"a\" already set in map"
    );
    assert_eq!(error.line(), Some(4));
    let value = to_json(text, Duplicates::LastWins).unwrap().unwrap();
    assert_eq!(value, json!({"a": 2, "b": {"c": 2}}));
}

#[test]
fn errors_carry_go_yamls_words() {
    let cases: [(&str, &str); 5] = [
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a: 1\n\tb: 2", "yaml: line 2: found a tab character that violates indentation"),
        ("a: [1\nb: 2", "yaml: line 1: did not find expected ',' or ']'"),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("a: &x [*x]", "yaml: anchor 'x' value contains itself"),
    ];
    for (text, message) in cases {
        let error = to_json(text.as_bytes(), Duplicates::LastWins).expect_err(text);
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn streams_and_empty_texts_are_told_apart() {
    assert_eq!(to_json(b"", Duplicates::Reject).unwrap(), None);
    assert_eq!(to_json(b"# nothing\n", Duplicates::Reject).unwrap(), None);
    assert_eq!(to_json(b"---\n", Duplicates::Reject).unwrap(), Some(json!(null)));
    assert_eq!(to_json(b"a: 1\n---\nb: [", Duplicates::Reject).unwrap(), Some(json!({"a": 1})));
    let documents = documents_to_json(b"--- 1\n---\n---\n{a: b}\n...\n", Duplicates::Reject);
    assert_eq!(documents.unwrap(), [json!(1), json!({"a": "b"})]);
}

#[test]
fn bombs_and_deep_nesting_end_in_an_error() {
    let levels = (1..9).map(|level| {
        let row = vec![format!("*a{}", level - 1); 9].join(",");
        format!("a{level}: &a{level} [{row}]\n")
    });
    let bomb = format!("a0: &a0 [x,x,x,x,x,x,x,x,x]\n{}", levels.collect::<String>());
    let error = to_json(bomb.as_bytes(), Duplicates::Reject).expect_err("a bomb");
    assert_eq!(error.to_string(), "yaml: document contains excessive aliasing");
    for text in ["[".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(100_000)] {
        let error = to_json(text.as_bytes(), Duplicates::Reject).expect_err("deep");
        assert_eq!(error.to_string(), "yaml: exceeded max depth of 512");
        assert!(parse(text.as_bytes()).is_err());
    }
}

#[test]
fn nodes_know_their_place() {
    let documents = parse(b"a: 1\n---\nb:\n  - x: y\n").unwrap();
    assert_eq!(documents.len(), 2);
    assert_eq!(documents[1].position.line, 2);
    let sluice_yaml::Content::Mapping { fields, .. } = &documents[1].root.content else {
        panic!("a mapping");
    };
    let sluice_yaml::Content::Sequence { items, .. } = &fields[0].1.content else {
        panic!("a sequence");
    };
    assert_eq!((items[0].position.line, items[0].position.column), (4, 5));
}
