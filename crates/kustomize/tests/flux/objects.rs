//! `kustomize.SubstituteVariables`.

use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_kustomize::flux::{
    Missing, Mode, Strategy, Substitution, Template, Variables, substitute,
};
use sluice_yaml::from_json;

use super::{compare, table};

fn variables(case: &Value) -> Variables {
    let mut variables = Variables::default();
    for source in case["from"].as_array().into_iter().flatten() {
        let object = |data: &Value| json!({"data": data});
        match source["kind"].as_str() {
            Some("Secret") => variables
                .add_secret(&object(&source["secret"]))
                .expect("the recorder writes base64"),
            _ => variables.add_config_map(&object(&source["config"])),
        }
    }
    for (name, value) in case["inline"].as_object().into_iter().flatten() {
        variables.insert(name, value.as_str().unwrap_or_default());
    }
    variables
}

#[test]
fn objects_become_what_upstream_makes_of_them() {
    compare(&table("objects.jsonl.gz", "SLUICE_FLUX_OBJECTS"), |case| {
        let always = case["always"] == true;
        let how = Substitution {
            variables: &variables(case),
            missing: if case["strict"] == true { Missing::Error } else { Missing::Empty },
            strategy: if always { Strategy::Always } else { Strategy::WithVariables },
            mode: Mode::Text,
        };
        let ours = substitute(&case["object"], &how);
        let object = &case["object"];
        let is_same = match (&ours, case["error"].as_str()) {
            (Ok(Some(ours)), None) => case["output"] == from_json(ours),
            // Upstream's answer for an object that is left alone is nothing, or the object.
            (Ok(None), None) => case["output"].is_null() || case["output"] == from_json(object),
            (Err(ours), Some(theirs)) => {
                let first = ours.diagnostics().next().expect("a failure has a cause");
                first.message == theirs || case["unstable"] == true
            }
            _ => false,
        };
        let ours = ours.map(|ours| ours.map(|ours| from_json(&ours)));
        (!is_same).then(|| format!("{ours:?}"))
    });
}

proptest! {
    /// Whatever a value is, typed substitution puts it into the strings that name it and nowhere else.
    #[test]
    fn typed_a_value_neither_breaks_nor_retypes_an_object(value in any::<String>(), text in any::<String>()) {
        let mut variables = Variables::default();
        variables.insert("v", &value);
        let how = Substitution {
            variables: &variables,
            missing: Missing::Empty,
            strategy: Strategy::WithVariables,
            mode: Mode::Typed,
        };
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"whole": "${v}", "part": "<${v}>", "plain": text.replace('$', "$$")}, "count": 3,
        });
        let one_line = value.replace('\n', "");
        let expected = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"whole": one_line, "part": format!("<{one_line}>"), "plain": text}, "count": 3,
        });
        let ours = substitute(&object, &how);
        // A zero byte would end a text that is evaluated, so it is refused there.
        if text.contains('\0') && text.contains('$') {
            prop_assert!(ours.is_err());
        } else {
            prop_assert_eq!(ours.expect("nothing can be wrong with it"), Some(expected));
        }
    }

    #[test]
    fn any_text_and_any_value_have_an_answer(text in any::<Vec<u8>>(), words in "([${}:#%/^,=a-c*\\[\\]?\\\\-]|\\$\\{a){0,40}", value in any::<Vec<u8>>()) {
        for text in [text.as_slice(), words.as_bytes()] {
            if let Ok(template) = Template::parse(text) {
                let _ = template.evaluate(Missing::Empty, |_| Some(value.as_slice()));
            }
        }
    }
}
