use std::borrow::Cow;

use serde_json::{Value, json};
use sluice_yaml::{Duplicates, to_json};

use super::{ReplacementField, Replacements};
use crate::decode::{Fields, Unknown};
use crate::failure::{Failure, Result};
use crate::transformers::Load;
use crate::transformers::testing::{NoFiles, transformed};

fn entries(value: &Value) -> Vec<ReplacementField> {
    let read =
        |value| ReplacementField::read(&Fields::of(value, "ReplacementField", Unknown::Refused)?);
    value.as_array().unwrap().iter().map(|value| read(value).unwrap()).collect()
}

fn first_line(failure: &Failure) -> String {
    failure.diagnostics().next().unwrap().message.lines().next().unwrap_or_default().to_owned()
}

fn replaced(source: &str, object: &str, replacements: &Value) -> Result<String> {
    let replacements = Replacements::new(&entries(replacements), &NoFiles)?;
    let objects = format!("{source}---\napiVersion: v1\nkind: T\nmetadata: {{name: t}}\n{object}");
    let printed = transformed(&replacements, &objects)?;
    let (_, target) = printed.split_once("---\n").unwrap();
    Ok(target.replace("apiVersion: v1\n", "").replace("kind: T\n", ""))
}

#[test]
fn replacements_do_what_kustomize_does() {
    let table = to_json(include_bytes!("cases.yaml"), Duplicates::Reject).unwrap().unwrap();
    let source = table["source"].as_str().unwrap();
    for case in table["cases"].as_array().unwrap() {
        let object = case["object"].as_str().unwrap();
        let is = replaced(source, object, &case["replacements"]);
        let is = is.map_err(|failure| first_line(&failure));
        let expected = match case["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(case["result"].as_str().unwrap().to_owned()),
        };
        assert_eq!(is, expected, "{}", case["name"]);
    }
}

struct OneFile(&'static str);

impl Load for OneFile {
    fn load(&self, _: &str) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(self.0.as_bytes()))
    }

    fn root(&self) -> &'static str {
        "/"
    }
}

#[test]
fn a_file_holds_one_replacement_or_a_list() {
    const ONE: &str = "sourceValue: x\ntargets: [{select: {kind: T}, fieldPaths: [a]}]\n";
    const LIST: &str = "- sourceValue: x\n  targets: [{select: {kind: T}, fieldPaths: [a]}]\n";
    let config = json!({"replacements": [{"path": "f.yaml"}]});
    for text in [ONE, LIST] {
        let replacements = Replacements::from_config(&config, &OneFile(text)).unwrap();
        let printed = transformed(&replacements, "kind: T\nmetadata: {name: t}\na: b\n").unwrap();
        assert!(printed.starts_with("a: x\n"), "{printed}");
    }
    for text in ["x", "", "1"] {
        assert!(Replacements::from_config(&config, &OneFile(text)).is_err(), "{text:?}");
    }
    let both = json!({"replacements": [{"path": "f.yaml", "source": {}}]});
    assert!(Replacements::from_config(&both, &OneFile(ONE)).is_err());
}
