//! YAML, as every file of a repository is read.

use sluice_yaml::{Duplicates, SequenceIndent, documents_to_json, split_for_kubernetes, to_json};

use crate::make::{join, nested, numbered, reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "YAML", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let json = to_json(input, Duplicates::LastWins).map_err(reason);
    let _ = documents_to_json(input, Duplicates::LastWins);
    let _ = split_for_kubernetes(&String::from_utf8_lossy(input));
    for mut document in sluice_yaml::parse(input).map_err(reason)? {
        let _ = document.root.to_printed();
        let _ = document.to_yaml(SequenceIndent::Compact);
        let _ = document.expand_aliases();
        let _ = document.to_yaml(SequenceIndent::Compact);
    }
    json.map(drop)
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    x\n  b: >-\n    y\n",
        "- &a {b: [1, 0x1f, ~, 'q', \"\\u00e4\"]}\n- *a\n- <<: *a\n  c: !!binary aGk=\n---\n# end\n? k\n: v\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Anchors that name each other ten times over.
fn laughs(levels: usize, each: &str) -> Vec<u8> {
    let mut text = format!("a0: &a0 {each}\n");
    for level in 1..levels {
        let inner = vec![format!("*a{}", level - 1); 10].join(",");
        text.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
    }
    text.into_bytes()
}

fn merges(levels: usize) -> Vec<u8> {
    let mut text = "a0: &a0 {k0: v}\n".to_owned();
    for level in 1..levels {
        let inner = vec![format!("*a{}", level - 1); 10].join(",");
        text.push_str(&format!("a{level}: &a{level} {{<<: [{inner}], k{level}: v}}\n"));
    }
    text.into_bytes()
}

fn hostile() -> Vec<Hostile> {
    let indented: String = (0..1400).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    vec![
        ("aliases of ten billion nodes", laughs(11, "x")),
        ("aliases of large texts", laughs(4, &format!("\"{}\"", "x".repeat(100_000)))),
        ("merges of merges", merges(12)),
        ("an alias of itself", b"a: &a [*a]\n".to_vec()),
        ("a merge of itself", b"a: &a {<<: *a}\n".to_vec()),
        ("lists in each other", nested("[", "", "]", 200_000)),
        ("maps in each other", nested("{a: ", "", "}", 150_000)),
        ("a block of lists in each other", times("- ", 200_000)),
        ("maps by indentation", indented.into_bytes()),
        ("questions in each other", times("? ", 200_000)),
        ("200,000 keys", numbered("k{n}: v\n", 100_000).into_bytes()),
        ("the same key 200,000 times", times("k: v\n", 200_000)),
        ("200,000 documents", times("---\na\n", 150_000)),
        ("a text of a mebibyte", format!("a: \"{}\"\n", "\\x41".repeat(250_000)).into_bytes()),
        ("a folded text of a mebibyte", join(&[b"a: >\n", &times(" x\n", 300_000)])),
        ("anchors", numbered("- &a{n} x\n", 80_000).into_bytes()),
        ("100,000 comments", times("# c\n", 250_000)),
        ("tags", times("!!a ", 200_000)),
        ("a directive without end", join(&[b"%YAML ", &times("1", 1 << 20)])),
        ("a number of a mebibyte", join(&[b"a: ", &times("9", 1 << 20)])),
        ("a time that is none", times("2001-01-01T", 90_000)),
        ("tabs", times("\t", 1 << 20)),
        ("a list in one line", join(&[b"a: [", &times("1,", 500_000), b"]"])),
        ("quotes that are not closed", times("'", (1 << 20) + 1)),
    ]
}
