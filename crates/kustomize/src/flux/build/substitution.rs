//! Variables in the objects of a build.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::{BuildError, ObjectName, Problem, Stage};
use super::places::Places;
use super::{BuiltObject, Inputs, Purpose};
use crate::flux::substitute::{Mode, Strategy, Substitution, substitute};

/// Puts the values of variables into objects. Variables that could not be read fail a build before anything is
/// applied, and so does an object that becomes another by its new name.
pub(super) fn substitute_all(
    inputs: &Inputs<'_>,
    strategy: Strategy,
    objects: &mut [BuiltObject],
) -> Result<(), BuildError> {
    let places = Places::without_file(inputs.root);
    let mode = Mode::of_all(&inputs.spec.object)
        .map_err(|failure| BuildError::of_failure(Stage::Mode, &failure, &places))?;
    let problem = |object: &BuiltObject, message: String| Problem {
        object: Some(ObjectName::of(&object.value)),
        message,
        place: object.place.clone(),
    };
    let variables = match (inputs.variables, objects.first()) {
        (Ok(variables), _) => variables,
        (Err(error), Some(first)) => {
            let problems = vec![problem(first, error.to_owned())];
            return Err(BuildError { stage: Stage::Variables, problems });
        }
        (Err(_), None) => return Ok(()),
    };
    let how = Substitution { variables, missing: inputs.missing, strategy, mode };
    let mut problems = Vec::new();
    for object in objects.iter_mut() {
        match substitute(&object.value, &how) {
            Ok(Some(changed)) => object.value = changed,
            Ok(None) => {}
            Err(failure) => problems.push(problem(object, places.unmounted(&failure.words()))),
        }
    }
    BuildError::check(Stage::Substitute, problems)?;
    match collision(objects) {
        Some(message) if inputs.purpose == Purpose::Apply => {
            Err(BuildError::one(Stage::Collision, message))
        }
        _ => Ok(()),
    }
}

/// Objects that have become one, in kustomize's words.
fn collision(objects: &[BuiltObject]) -> Option<String> {
    let mut counts: BTreeMap<[&str; 4], usize> = BTreeMap::new();
    for object in objects {
        let text = |pointer: &str| {
            object.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
        };
        let id = ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"].map(text);
        *counts.entry(id).or_default() += 1;
    }
    let most = counts.into_values().max().filter(|count| *count > 1)?;
    Some(format!("in Replace: id matched {most} resources"))
}

/// A failure to read the result of a substitution, without the values that it quotes: they may come from Secrets.
pub(super) fn without_values(words: &str) -> String {
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
