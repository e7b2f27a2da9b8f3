//! `envsubst.Eval`.

use std::collections::BTreeMap;

use sluice_kustomize::flux::{Missing, Template};

use super::{bytes, compare, table};

#[test]
fn texts_become_what_upstream_makes_of_them() {
    compare(&table("texts.jsonl.gz", "SLUICE_FLUX_TEXTS"), |case| {
        let text = bytes(&case["text"]);
        let variables: BTreeMap<&str, Vec<u8>> = case["variables"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), bytes(value)))
            .collect();
        let missing = if case["strict"] == true { Missing::Error } else { Missing::Empty };
        let ours = Template::parse(&text).and_then(|template| {
            template.evaluate(missing, |name| variables.get(name).map(Vec::as_slice))
        });
        let is_same = match (&ours, case["error"].as_str()) {
            // Where upstream panics, any answer is better.
            _ if case["panic"] == true => true,
            (Ok(ours), None) => *ours == bytes(&case["output"]),
            (Err(ours), Some(theirs)) => ours.to_string() == theirs,
            _ => false,
        };
        let ours = ours.map(|ours| String::from_utf8_lossy(&ours).into_owned());
        (!is_same).then(|| format!("{ours:?}"))
    });
}
