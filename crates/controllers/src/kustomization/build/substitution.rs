//! Variables in what was built.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_api::kustomize::kustomization::{Kustomization, PostBuild, SubstituteStrategy};
use sluice_api::names::reasons::BUILD_FAILED;
use sluice_kustomize::flux::{Missing, Mode, Strategy, Substitution, Variables, substitute};
use sluice_runtime::outcome::Stop;
use sluice_ssa::ObjectKey;

use super::super::failures::build_failed;
use super::super::variables::VariablesError;
use super::{joined, resource_name, words};

/// Puts the values of variables into objects. A missing source of variables fails it before anything is
/// applied, and so does an object that becomes another by its new name.
pub(super) fn substitute_all(
    object: &Kustomization,
    values: &mut [Value],
    post_build: &PostBuild,
    variables: Result<Variables, VariablesError>,
    strict: bool,
) -> Result<(), Stop> {
    let failed = |value: &Value, why: &dyn std::fmt::Display| {
        format!("post build failed for '{}': {why}", resource_name(value))
    };
    let mode = mode(object)?;
    let variables = match (variables, values.first()) {
        (Ok(variables), _) => variables,
        (Err(error), Some(first)) => {
            return Err(Stop::classed(error.class(), BUILD_FAILED, failed(first, &error)));
        }
        (Err(_), None) => return Ok(()),
    };
    let how = Substitution {
        variables: &variables,
        missing: if strict { Missing::Error } else { Missing::Empty },
        strategy: match post_build.substitute_strategy {
            Some(SubstituteStrategy::Always) => Strategy::Always,
            _ => Strategy::WithVariables,
        },
        mode,
    };
    let mut failures = Vec::new();
    for value in values.iter_mut() {
        match substitute(value, &how) {
            Ok(Some(changed)) => *value = changed,
            Ok(None) => {}
            Err(failure) => failures.push(failed(value, &without_values(&words(&failure)))),
        }
    }
    let failures = joined(failures).or_else(|| collision(values));
    failures.map_or(Ok(()), |message| Err(build_failed(message)))
}

/// A failure to read what came of a substitution, without what it quotes: that may be of a variable's value,
/// and variables may come from Secrets.
fn without_values(words: &str) -> String {
    const READING: &str = "YAMLToJSON: ";
    let Some((before, problem)) = words.split_once(READING) else { return words.to_owned() };
    let mut out = format!("{before}{READING}");
    let mut rest = problem;
    while let Some(start) = rest.find(['\'', '"', '`']) {
        let quote = rest[start..].chars().next().unwrap_or_default();
        let Some(length) = rest[start + 1..].find(quote) else { break };
        out.push_str(&rest[..=start]);
        out.push_str("(hidden)");
        out.push(quote);
        rest = &rest[start + length + 2..];
    }
    out.push_str(rest);
    out
}

/// Objects that have become one; in kustomize's words.
fn collision(values: &[Value]) -> Option<String> {
    let mut counts: BTreeMap<ObjectKey, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(ObjectKey::of(value)).or_default() += 1;
    }
    let most = counts.into_values().max().filter(|count| *count > 1)?;
    Some(format!("in Replace: id matched {most} resources"))
}

/// How objects that do not say so themselves are substituted in.
fn mode(object: &Kustomization) -> Result<Mode, Stop> {
    let metadata = serde_json::json!({
        "name": object.metadata.name, "namespace": object.metadata.namespace,
        "annotations": object.metadata.annotations,
    });
    let own = serde_json::json!({"kind": "Kustomization", "metadata": metadata});
    Mode::of_all(&own).map_err(|failure| build_failed(words(&failure)))
}
