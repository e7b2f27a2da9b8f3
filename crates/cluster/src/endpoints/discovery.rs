//! Discovery of groups, versions and resources: aggregated, and legacy.
//!
//! The built-in part is served as it was recorded, so that order and storage hashes are upstream's;
//! groups of CRDs follow it.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};
use sluice_schema::recorded;

use crate::body::{self, Body};
use crate::negotiate::{Encoding, clauses};
use crate::resource::{Resource, api_version};
use crate::state::State;
use crate::status::Status;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

pub(super) fn serve(
    state: &Arc<State>,
    parts: &[&str],
    headers: &HeaderMap,
) -> Result<Response<Body>, Status> {
    if parts.len() == 1 && wants_aggregated(headers) {
        let mut document = recorded::discovery()
            .aggregated(&format!("/{}", parts[0]))
            .cloned()
            .ok_or_else(Status::page_not_found)?;
        if parts[0] == "apis"
            && let Some(items) = document["items"].as_array_mut()
        {
            items.extend(custom_groups(state).into_iter().map(|group| group.aggregated()));
        }
        let text = sluice_base::gojson::to_string(&document);
        return Ok(body::text(StatusCode::OK, AGGREGATED, text));
    }
    let answer = match parts {
        ["api"] => json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [
                {"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"},
            ],
        }),
        ["apis"] => json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups(state)}),
        ["apis", name] => {
            let found = groups(state).into_iter().find(|group| group["name"] == *name);
            let mut group = found.ok_or_else(Status::page_not_found)?;
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            group
        }
        _ => resources(state, parts)?,
    };
    Ok(body::object(200, Encoding::Json, &answer))
}

/// The groups of legacy discovery, without the core group.
fn groups(state: &State) -> Vec<Value> {
    let built_in = recorded::discovery().groups().iter().filter(|group| !group.name.is_empty());
    built_in
        .map(|group| {
            let versions: Vec<&str> =
                group.versions.iter().map(|version| version.name.as_str()).collect();
            legacy_group(&group.name, &versions)
        })
        .chain(custom_groups(state).iter().map(CustomGroup::legacy))
        .collect()
}

/// The resources of one version of a group.
fn resources(state: &State, parts: &[&str]) -> Result<Value, Status> {
    let recorded = recorded::discovery().legacy(&format!("/{}", parts.join("/")));
    if let Some(list) = recorded {
        return Ok(list.clone());
    }
    let (group, version) = match parts {
        ["apis", group, version] => (*group, *version),
        _ => ("", ""),
    };
    custom_groups(state)
        .into_iter()
        .find(|found| found.name == group)
        .and_then(|found| found.resource_list(version))
        .ok_or_else(|| {
            if state.registry.has_group(group) {
                Status::no_such_resource()
            } else {
                Status::page_not_found()
            }
        })
}

fn legacy_group(name: &str, versions: &[&str]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| json!({"groupVersion": api_version(name, version), "version": version}))
        .collect();
    json!({
        "name": name,
        "preferredVersion": versions.first().cloned().unwrap_or_default(),
        "versions": versions,
    })
}

fn wants_aggregated(headers: &HeaderMap) -> bool {
    let accept = headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
    clauses(accept.unwrap_or_default()).first().is_some_and(|clause| {
        let is = |name: &str, wanted: &str| clause.parameters.contains(&(name, wanted));
        clause.media_type == "application/json"
            && is("g", "apidiscovery.k8s.io")
            && is("as", "APIGroupDiscoveryList")
            && is("v", "v2")
    })
}

/// A group that CRDs made.
struct CustomGroup {
    name: String,
    /// By descending priority.
    versions: Vec<(String, Vec<Arc<Resource>>)>,
}

fn custom_groups(state: &State) -> Vec<CustomGroup> {
    let mut groups: BTreeMap<String, BTreeMap<String, Vec<Arc<Resource>>>> = BTreeMap::new();
    for resource in state.registry.custom() {
        let versions = groups.entry(resource.group.clone()).or_default();
        versions.entry(resource.version.clone()).or_default().push(resource);
    }
    groups
        .into_iter()
        .map(|(name, versions)| {
            let mut versions: Vec<_> = versions.into_iter().collect();
            versions.sort_by(|left, right| crate::version_order::compare(&right.0, &left.0));
            CustomGroup { name, versions }
        })
        .collect()
}

impl CustomGroup {
    fn aggregated(&self) -> Value {
        let versions: Vec<Value> = self
            .versions
            .iter()
            .map(|(version, resources)| {
                let resources: Vec<Value> =
                    resources.iter().map(|resource| aggregated_resource(resource)).collect();
                json!({"version": version, "resources": resources, "freshness": "Current"})
            })
            .collect();
        json!({"metadata": {"name": self.name}, "versions": versions})
    }

    fn legacy(&self) -> Value {
        let versions: Vec<&str> =
            self.versions.iter().map(|(version, _)| version.as_str()).collect();
        legacy_group(&self.name, &versions)
    }

    fn resource_list(&self, version: &str) -> Option<Value> {
        let (_, resources) = self.versions.iter().find(|(name, _)| name == version)?;
        let mut list = Vec::new();
        for resource in resources {
            list.push(legacy_resource(resource));
            // `status` comes before `scale`.
            for (name, subresource) in resource.subresources.iter().rev() {
                let mut entry = json!({
                    "name": format!("{}/{name}", resource.plural),
                    "singularName": "",
                    "namespaced": resource.namespaced,
                    "kind": subresource.kind,
                    "verbs": subresource.verbs,
                });
                if subresource.group != resource.group || subresource.version != resource.version {
                    entry["group"] = subresource.group.as_str().into();
                    entry["version"] = subresource.version.as_str().into();
                }
                list.push(entry);
            }
        }
        Some(json!({
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": api_version(&self.name, version),
            "resources": list,
        }))
    }
}

fn aggregated_resource(resource: &Resource) -> Value {
    let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut out = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        out["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        out["categories"] = json!(resource.categories);
    }
    if !resource.subresources.is_empty() {
        out["subresources"] = resource
            .subresources
            .iter()
            .rev()
            .map(|(name, sub)| {
                json!({
                    "subresource": name,
                    "responseKind": kind(&sub.group, &sub.version, &sub.kind),
                    "verbs": sub.verbs,
                })
            })
            .collect();
    }
    out
}

fn legacy_resource(resource: &Resource) -> Value {
    let mut out = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        out["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        out["categories"] = json!(resource.categories);
    }
    if let Some(hash) = &resource.storage_hash {
        out["storageVersionHash"] = hash.as_str().into();
    }
    out
}
