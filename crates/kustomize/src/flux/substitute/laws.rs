//! What holds for every value that is put into strings (ADR 0004).

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Missing, Mode, Strategy, Substitution, Variables, substitute};

fn with(variables: &[(&str, &str)], object: &Value) -> Result<Value, String> {
    let mut all = Variables::default();
    for (name, value) in variables {
        all.insert(*name, value);
    }
    let how = Substitution {
        variables: &all,
        missing: Missing::Error,
        strategy: Strategy::Always,
        mode: Mode::Typed,
    };
    let changed = substitute(object, &how).map_err(|failure| failure.to_string())?;
    Ok(changed.expect("variables are put in"))
}

fn text(value: &str, template: &str) -> Result<String, String> {
    let object = json!({"kind": "ConfigMap", "apiVersion": "v1", "data": {"x": template}});
    let out = with(&[("v", value), ("empty", "")], &object)?;
    Ok(out["data"]["x"].as_str().expect("a string").to_owned())
}

/// The same with every string empty: what is left is the structure.
fn shape(value: &Value) -> Value {
    match value {
        Value::String(_) => json!(""),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(fields) => Value::Array(fields.values().map(shape).collect()),
        other => other.clone(),
    }
}

#[test]
fn what_looks_like_yaml_stays_a_string() {
    for value in [
        "a\nb: c",
        "a\n---\nkind: Secret",
        "yes",
        "1.10",
        "~",
        "*x",
        "{a: b}",
        "- a\n- b",
        "'",
        "\"",
        "\n",
        "\r\n",
        "\t",
        "#",
        "a: b",
        "\u{feff}",
        "${v}",
        "$$",
        "\u{0}",
        "",
    ] {
        assert_eq!(text(value, "${v}").as_deref(), Ok(value));
        assert_eq!(text(value, "<${v}>"), Ok(format!("<{value}>")));
    }
}

#[test]
fn operators_do_what_is_written() {
    for (value, template, expected) in [
        ("Ünïcödé", "${v:0:1}", "Ü"),
        ("Ünïcödé", "${v: -1}", "é"),
        ("Ünïcödé", "${v:1:-1}", "nïcöd"),
        ("Ünïcödé", "${v:99}", ""),
        ("Ünïcödé", "${#v}", "7"),
        ("Ünïcödé", "${v#?}", "nïcödé"),
        ("Ünïcödé", "${v%?}", "Ünïcöd"),
        ("a.b.c", "${v%.*}|${v%%.*}|${v#*.}|${v##*.}", "a.b|a|b.c|c"),
        ("a1", "${v%[0-9]}", "a"),
        ("a", "${gone-d}|${empty-d}|${v-d}", "d||a"),
        ("a", "${v:+d}|${empty:+d}|${gone:+d}", "d||"),
        ("a", "${v:?must}", "a"),
        ("a", "${v:-${gone}}|${v:=${gone:?}}", "a|a"),
        ("a", "${empty:-${v}b}", "ab"),
    ] {
        assert_eq!(text(value, template).as_deref(), Ok(expected), "{value} {template}");
    }
    for (template, reason) in [
        ("${empty:?must be given}", "variable not set or empty: \"empty\": must be given"),
        ("${gone:?${v}}", "variable not set or empty: \"gone\""),
        ("${v:x}", "a position or length of \"v\" is not a number"),
        ("${gone}", "variable not set (strict mode): \"gone\""),
    ] {
        let error = text("secret", template).expect_err(template);
        assert!(error.contains(reason) && !error.contains("secret"), "{template}: {error}");
    }
}

#[test]
fn no_error_shows_a_value() {
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "${v}"},
        "metadata": {"name": "a", "labels": {"${v}": "1", "hunter2": "2"}}});
    let error = with(&[("v", "hunter2")], &object).expect_err("two mistakes");
    assert!(error.contains("metadata.labels.${v}") || error.contains("metadata.labels.hunter2"));
    let shown = error.replace("metadata.labels.hunter2", "");
    assert!(!shown.contains("hunter2"), "{error}");
    assert_eq!(error.lines().count(), 2, "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_value_comes_out_as_it_went_in(value in any::<String>(), around in "[a-z ]{0,4}") {
        prop_assert_eq!(text(&value, "${v}"), Ok(value.clone()));
        let template = format!("{around}${{v}}{around}");
        prop_assert_eq!(text(&value, &template), Ok(format!("{around}{value}{around}")));
    }

    #[test]
    fn no_value_changes_the_structure(value in any::<String>()) {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Thing", "a-${v}": ["${v}", {"b": "x${v}y"}, 1.0],
            "metadata": {"name": "a", "labels": {"k": "${v}"}}, "z": null});
        let out = with(&[("v", &value)], &object).expect("it is fine");
        // The field with the variable in its name may stand elsewhere among the others.
        let sorted = |value: &Value| {
            let Value::Array(mut all) = shape(value) else { return Vec::new() };
            all.sort_by_key(ToString::to_string);
            all
        };
        prop_assert_eq!(sorted(&out), sorted(&object));
    }

    #[test]
    fn positions_count_characters(value in any::<String>(), from in 0_usize..12, count in 0_usize..12) {
        let all: Vec<char> = value.chars().collect();
        let cut: String = all.iter().skip(from).take(count).collect();
        prop_assert_eq!(text(&value, &format!("${{v:{from}:{count}}}")), Ok(cut));
        let last: String = all.iter().skip(all.len().saturating_sub(from.max(1))).collect();
        prop_assert_eq!(text(&value, &format!("${{v: -{}}}", from.max(1))), Ok(last));
        prop_assert_eq!(text(&value, "${#v}"), Ok(all.len().to_string()));
    }

    #[test]
    fn a_pattern_takes_whole_characters(value in any::<String>()) {
        let all: Vec<char> = value.chars().collect();
        let first: String = all.iter().skip(1).collect();
        let last: String = all.iter().take(all.len().saturating_sub(1)).collect();
        prop_assert_eq!(text(&value, "${v#?}"), Ok(first));
        prop_assert_eq!(text(&value, "${v%?}"), Ok(last));
    }
}
