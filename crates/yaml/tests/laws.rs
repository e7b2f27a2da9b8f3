//! What must hold for every input: reading never panics, and what is written reads back.

use proptest::prelude::*;
use serde_json::Value;
use sluice_yaml::{
    Duplicates, Node, SequenceIndent, documents_to_json, from_json, parse, parse_as, to_json,
};

/// Texts with much of what YAML gives a meaning to.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-z0-9]{0,6}",
        "[ \\t\\n\\r#:?,\\[\\]{}&*!|>'\"%@`~.<=+_-]{0,4}",
        "(yes|no|null|0x1|1e3|\\.inf|2001-01-01|1:30|<<|---|\\.\\.\\.)",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // A whole float comes back as an integer, so there are none here.
        any::<f64>()
            .prop_filter("not whole", |float| float.is_finite() && float.fract() != 0.0)
            .prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Whether go-yaml itself reads back what it writes. It does not where a text starts with white space
/// and has more lines (the indentation indicator is wrong in a sequence), holds one of the other line
/// breaks (U+0085 is one in the JSON that `sigs.k8s.io/yaml` goes through), or is the key `<<`.
fn survives_go_yaml(value: &Value) -> bool {
    let survives = |text: &str| {
        let other_break = text.contains(['\r', '\u{85}', '\u{2028}', '\u{2029}']);
        let indented_block = text.contains('\n') && text.starts_with([' ', '\t', '\n']);
        !other_break && !indented_block
    };
    match value {
        Value::String(text) => survives(text),
        Value::Array(items) => items.iter().all(survives_go_yaml),
        Value::Object(fields) => fields
            .iter()
            .all(|(name, field)| survives(name) && name != "<<" && survives_go_yaml(field)),
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn reading_never_panics_on_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = to_json(&bytes, Duplicates::Reject);
        let _ = documents_to_json(&bytes, Duplicates::LastWins);
        let _ = parse(&bytes);
    }

    #[test]
    fn the_short_way_to_what_kustomize_prints_changes_nothing(value in value(), text in text()) {
        let mut nodes = vec![Node::from_json(&value)];
        let texts = [format!("a: {text}"), format!("a: |\n  {text}\nb: >\n  {text}"), text];
        for text in &texts {
            nodes.extend(parse(text.as_bytes()).unwrap_or_default().into_iter().map(|it| it.root));
        }
        for node in nodes.iter().filter(|node| !node.fields().is_empty()) {
            let written = node.to_yaml(SequenceIndent::Compact);
            let long_way = parse(written.as_bytes()).and_then(|read| match read.first() {
                Some(document) => document.to_json(),
                None => Ok(Value::Null),
            });
            prop_assert_eq!(node.to_printed().ok(), long_way.ok().map(|value| from_json(&value)));
        }
    }

    #[test]
    fn reading_and_writing_never_panic_on_texts(text in text()) {
        let _ = to_json(text.as_bytes(), Duplicates::Reject);
        for document in parse(text.as_bytes()).unwrap_or_default() {
            let _ = document.to_yaml(SequenceIndent::Wide);
            let _ = document.to_json();
            let _ = document.clone().expand_aliases();
        }
    }

    #[test]
    fn a_value_comes_back_from_its_text(value in value()) {
        prop_assume!(survives_go_yaml(&value));
        let text = from_json(&value);
        let back = to_json(text.as_bytes(), Duplicates::Reject);
        prop_assert_eq!(back.ok().flatten(), Some(value), "{}", text);
    }

    #[test]
    fn a_tree_comes_back_from_its_text(value in value()) {
        prop_assume!(survives_go_yaml(&value));
        let node = Node::from_json(&value);
        for sequences in [SequenceIndent::Compact, SequenceIndent::Wide] {
            let text = node.to_yaml(sequences);
            let back = parse(text.as_bytes()).map(|documents| documents[0].to_json());
            prop_assert_eq!(back, Ok(Ok(value.clone())), "{}", text);
        }
    }

    #[test]
    fn both_dialects_see_the_same_structure(text in text()) {
        let shape = |node: &Node| node.to_yaml(SequenceIndent::Compact).lines().count();
        let documents = (
            parse_as(text.as_bytes(), sluice_yaml::Dialect::V2),
            parse_as(text.as_bytes(), sluice_yaml::Dialect::V3),
        );
        if let (Ok(first), Ok(second)) = documents {
            prop_assert_eq!(first.len(), second.len());
            for (first, second) in first.iter().zip(&second) {
                if second.root.comments.is_none() && !text.contains('#') {
                    prop_assert_eq!(shape(&first.root), shape(&second.root));
                }
            }
        }
    }
}
