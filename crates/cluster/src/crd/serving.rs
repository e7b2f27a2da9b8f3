//! The resources of a definition.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use serde_json::Value;
use sluice_schema::managed::CustomVersions;
use sluice_schema::smd::{TypeRef, Unknown};
use sluice_schema::structural::{Schema, definition};

use super::columns::CustomColumns;
use super::version::Version;
use crate::resource::{Resource, Subresource};
use crate::store::GroupResource;
use crate::table::Columns;
use crate::version_order;

const VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let items = value.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// The resources of a definition, one for each served version, with its accepted names.
pub(super) fn resources(definition: &Value, revision: u64) -> Vec<Resource> {
    let null = Value::Null;
    let spec = definition.get("spec").unwrap_or(&null);
    let names = definition.pointer("/status/acceptedNames").unwrap_or(&null);
    let group = text(spec, "group");
    let versions = spec.get("versions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let schemas: BTreeMap<String, Arc<Schema>> = versions
        .iter()
        .filter_map(|version| {
            let document = version.pointer("/schema/openAPIV3Schema")?;
            Some((text(version, "name"), Arc::new(Schema::parse(document).ok()?)))
        })
        .collect();
    let unknown =
        if spec["preserveUnknownFields"] == true { Unknown::Preserved } else { Unknown::Refused };
    let types = versions.iter().map(|version| {
        let document = version.pointer("/schema/openAPIV3Schema");
        let types = TypeRef::from_crd(document, unknown).unwrap_or_else(|_| TypeRef::deduced());
        (format!("{group}/{}", text(version, "name")), types)
    });
    let types = Arc::new(CustomVersions { types: types.collect() });
    let storage = definition::storage_version(definition).unwrap_or_default().to_owned();
    let kind = text(names, "kind");
    versions
        .iter()
        .filter(|version| version["served"] == true)
        .map(|version| {
            let name = text(version, "name");
            let served = Arc::new(Version::new(
                definition,
                version,
                &storage,
                &schemas,
                types.clone(),
                revision,
            ));
            let columns = version.get("additionalPrinterColumns").and_then(Value::as_array);
            let columns = CustomColumns::new(columns.map_or(&[][..], Vec::as_slice));
            Resource {
                group: group.clone(),
                version: name.clone(),
                kind: kind.clone(),
                list_kind: text(names, "listKind"),
                plural: text(names, "plural"),
                singular: text(names, "singular"),
                namespaced: spec["scope"] == "Namespaced",
                short_names: texts(names, "shortNames"),
                categories: texts(names, "categories"),
                verbs: words(&VERBS),
                subresources: subresources(version, &group, &name, &kind),
                storage: GroupResource::new(&group, &text(names, "plural")),
                hooks: served.clone(),
                shape: served,
                columns: Columns::Computed(Arc::new(columns)),
                deprecation: deprecation(version, versions, &group, &kind),
                storage_hash: Some(storage_hash(&group, &storage, &kind)),
                definition: revision,
            }
        })
        .collect()
}

fn subresources(
    version: &Value,
    group: &str,
    name: &str,
    kind: &str,
) -> BTreeMap<String, Subresource> {
    let mut out = BTreeMap::new();
    let has = |key: &str| version.pointer(key).is_some_and(|found| !found.is_null());
    let mut add = |subresource: &str, group: &str, version: &str, kind: &str| {
        let entry = Subresource {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            verbs: words(&SUBRESOURCE_VERBS),
        };
        out.insert(subresource.to_owned(), entry);
    };
    if has("/subresources/status") {
        add("status", group, name, kind);
    }
    if has("/subresources/scale") {
        add("scale", "autoscaling", "v1", "Scale");
    }
    out
}

/// The warning of a deprecated version: its own text, or a pointer to a newer version.
fn deprecation(version: &Value, all: &[Value], group: &str, kind: &str) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(own) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(own.to_owned());
    }
    let name = text(version, "name");
    let newer = all
        .iter()
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .map(|other| text(other, "name"))
        .filter(|other| version_order::compare(other, &name).is_gt())
        .max_by(|left, right| version_order::compare(left, right));
    let instead = newer.map(|newer| format!("; use {group}/{newer} {kind}")).unwrap_or_default();
    Some(format!("{group}/{name} {kind} is deprecated{instead}"))
}

/// `storageVersionHash` of discovery, which changes with the storage version.
fn storage_hash(group: &str, version: &str, kind: &str) -> String {
    let name = format!("{group}/{version}/{kind}");
    let digest = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(&digest.as_ref()[..8])
}
