//! Discovery of resources, used only where a name must be resolved.

use kube::Client;
use kube::discovery::ApiResource;
use serde_json::Value;

use crate::kinds::text_at;
use crate::outcome::Failure;

/// A resource in discovery.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    names: Vec<String>,
}

/// The resources of a group's version.
pub(super) async fn resources(
    client: &Client,
    of: &ApiResource,
) -> Result<Vec<Found>, kube::Error> {
    of_version(client, &of.group, &of.version).await
}

async fn of_version(
    client: &Client,
    group: &str,
    version: &str,
) -> Result<Vec<Found>, kube::Error> {
    let path = if group.is_empty() {
        format!("/api/{version}")
    } else {
        format!("/apis/{group}/{version}")
    };
    let answer = read(client, &path).await?;
    let listed = answer.get("resources").and_then(Value::as_array).cloned().unwrap_or_default();
    let found = listed.iter().filter(|entry| !text_at(entry, "/name").contains('/'));
    Ok(found.map(|entry| described(entry, group, version)).collect())
}

fn described(entry: &Value, group: &str, version: &str) -> Found {
    let text = |path| text_at(entry, path).to_owned();
    let mut names = vec![text("/name"), text("/singularName"), text("/kind").to_lowercase()];
    let short = entry.get("shortNames").and_then(Value::as_array).into_iter().flatten();
    names.extend(short.filter_map(|name| name.as_str().map(str::to_owned)));
    let api_version =
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Found {
        resource: ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version,
            kind: text("/kind"),
            plural: text("/name"),
        },
        namespaced: entry.get("namespaced").and_then(Value::as_bool).unwrap_or_default(),
        names,
    }
}

async fn read(client: &Client, path: &str) -> Result<Value, kube::Error> {
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request(request).await
}

/// The resource with a name: a plural, a singular, a kind or a short name, optionally followed by a dot and its
/// group.
pub(crate) async fn find_resource(client: &Client, word: &str) -> Result<Found, Failure> {
    let lower = word.to_lowercase();
    let (name, of_group) = match lower.split_once('.') {
        Some((name, group)) => (name, Some(group)),
        None => (lower.as_str(), None),
    };
    let failed = |error: kube::Error| Failure::flux(error.to_string());
    let groups = read(client, "/apis").await.map_err(failed)?;
    let listed = groups.get("groups").and_then(Value::as_array).cloned().unwrap_or_default();
    let preferred = listed.iter().map(|group| {
        (text_at(group, "/name").to_owned(), text_at(group, "/preferredVersion/version").to_owned())
    });
    let all = std::iter::once((String::new(), "v1".to_owned())).chain(preferred);
    for (group, version) in all {
        if of_group.is_some_and(|wanted| !format!("{group}.").starts_with(wanted)) {
            continue;
        }
        // An unavailable aggregated API hides only its own resources.
        let Ok(found) = of_version(client, &group, &version).await else { continue };
        if let Some(found) = found.into_iter().find(|found| found.names.iter().any(|n| n == name)) {
            return Ok(found);
        }
    }
    Err(Failure::flux(format!("the server doesn't have a resource type \"{word}\"")))
}

/// The resource of a kind in a group's version; the kind may be in lower case.
pub(crate) async fn find_kind(
    client: &Client,
    api_version: &str,
    kind: &str,
) -> Result<Option<Found>, kube::Error> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let found = match of_version(client, group, version).await {
        Ok(found) => found,
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(found
        .into_iter()
        .find(|found| found.resource.kind == kind || found.resource.kind.to_lowercase() == kind))
}

/// Whether a kind is namespaced; false for unknown kinds.
pub(crate) async fn namespaced(session: &super::Session, api_version: &str, kind: &str) -> bool {
    let found = find_kind(&session.client, api_version, kind).await;
    matches!(found, Ok(Some(found)) if found.namespaced)
}
