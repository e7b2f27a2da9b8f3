//! Which objects are meant by the words on the command line.

use serde_json::Value;

use crate::outcome::Failure;
use crate::session::{Session, find_kind, find_resource};

/// The object of a kind and API version that are given.
pub(super) async fn exactly(
    session: &Session,
    kind: Option<&str>,
    api_version: Option<&str>,
    names: &[String],
) -> Result<Value, Failure> {
    let required = |what: &str| Failure::flux(format!("object {what}"));
    let name = names.first().ok_or_else(|| required("name is required"))?;
    let kind = kind.filter(|kind| !kind.is_empty());
    let kind = kind.ok_or_else(|| required("kind is required (--kind)"))?;
    let api_version = api_version.filter(|version| !version.is_empty());
    let api_version =
        api_version.ok_or_else(|| required("apiVersion is required (--api-version)"))?;
    let lost = |message: String| Failure::flux(format!("failed to find object: {message}"));
    let found = find_kind(&session.client, api_version, kind).await;
    let found = found.map_err(|error| lost(error.to_string()))?.ok_or_else(|| {
        lost(format!("no matches for kind \"{kind}\" in version \"{api_version}\""))
    })?;
    let namespace = found.namespaced.then_some(session.namespace.as_str());
    let object = session.get_resource(&found.resource, namespace, name).await;
    let mut object = object.map_err(|error| lost(error.to_string()))?;
    // The kind is shown as it was typed.
    object["kind"] = kind.into();
    Ok(object)
}

/// The objects of `kind name…` or of `kind/name…`.
pub(super) async fn by_words(session: &Session, words: &[String]) -> Result<Vec<Value>, Failure> {
    let usage = || {
        Failure::flux(
            "either `<resource>/<name>` or `<resource> <name>` is required as an argument",
        )
    };
    let pairs: Vec<(&str, &str)> = if words.iter().any(|word| word.contains('/')) {
        let pairs = words.iter().map(|word| word.split_once('/'));
        pairs.collect::<Option<_>>().ok_or_else(|| {
            Failure::flux("there is no need to specify a resource type as a separate argument when passing arguments in resource/name form")
        })?
    } else {
        match words {
            [] => return Err(usage()),
            [_] => {
                return Err(Failure::flux("resource(s) were provided, but no name was specified"));
            }
            [kinds, names @ ..] => {
                let of_kind = |kind| names.iter().map(move |name| (kind, name.as_str()));
                kinds.split(',').flat_map(of_kind).collect()
            }
        }
    };
    let mut objects = Vec::new();
    let mut failures = Vec::new();
    for (kind, name) in pairs {
        let found = find_resource(&session.client, kind).await?;
        let namespace = found.namespaced.then_some(session.namespace.as_str());
        match session.get_resource(&found.resource, namespace, name).await {
            Ok(object) => objects.push(object),
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    match failures.as_slice() {
        [] => Ok(objects),
        [one] => Err(Failure::flux(format!("x: {one}"))),
        several => Err(Failure::flux(format!("x: [{}]", several.join(", ")))),
    }
}
