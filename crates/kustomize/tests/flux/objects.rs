//! `kustomize.SubstituteVariables`.

use serde_json::Value;
use sluice_kustomize::flux::{Missing, Mode, Strategy, Substitution, Variables, substitute};
use sluice_yaml::from_json;

use super::{compare, table};

fn variables(case: &Value) -> Variables {
    let mut variables = Variables::default();
    for source in case["from"].as_array().into_iter().flatten() {
        let object = |data: &Value| serde_json::json!({"data": data});
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
