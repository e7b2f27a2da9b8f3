//! OpenAPI v3 documents of custom groups.
//!
//! A document has a path for each endpoint, with the parameters that clients look for
//! (`fieldValidation` above all), and the schemas of the kinds. Texts that are the same for every
//! resource are taken from the recorded document of a built-in one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde_json::{Map, Value, json};
use sluice_schema::recorded;
use sluice_schema::structural::{Schema, invariants};

use super::is_true;
use crate::state::State;
use crate::store::Stored;

mod paths;
mod schemas;

/// The documents, cached until a definition changes.
#[derive(Default)]
pub(crate) struct Documents {
    cached: Mutex<Cached>,
}

#[derive(Default)]
struct Cached {
    /// The revisions of the definitions.
    of: Vec<u64>,
    documents: Arc<Vec<(String, Value)>>,
    version_two: Option<Arc<VersionTwo>>,
}

/// The document of OpenAPI v2 in both forms.
pub(crate) struct VersionTwo {
    pub(crate) json: Bytes,
    pub(crate) protobuf: Bytes,
    /// The `ETag`.
    pub(crate) tag: String,
}

/// The document of OpenAPI v2, which `make` derives from the documents of custom groups.
pub(crate) fn version_two(
    state: &State,
    make: impl FnOnce(&[(String, Value)]) -> Value,
) -> Arc<VersionTwo> {
    let documents = documents(state);
    let mut cached = state.documents.cached.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = &cached.version_two
        && Arc::ptr_eq(&cached.documents, &documents)
    {
        return known.clone();
    }
    let document = make(&documents);
    let made = Arc::new(VersionTwo {
        json: document.to_string().into(),
        protobuf: sluice_schema::protobuf::openapi::version_two(&document).into(),
        tag: hash(&document),
    });
    if Arc::ptr_eq(&cached.documents, &documents) {
        cached.version_two = Some(made.clone());
    }
    made
}

/// The documents by name (`apis/GROUP/VERSION`).
pub(crate) fn documents(state: &State) -> Arc<Vec<(String, Value)>> {
    let listed = state.store.list(&super::definitions(), "", None, None);
    let definitions: Vec<Arc<Stored>> = listed
        .map(|listing| listing.items)
        .unwrap_or_default()
        .into_iter()
        .map(|(_, stored)| stored)
        .filter(|stored| is_true(&stored.value, "Established"))
        .collect();
    let revisions: Vec<u64> = definitions.iter().map(|stored| stored.revision).collect();
    let mut cached = state.documents.cached.lock().unwrap_or_else(PoisonError::into_inner);
    if cached.of == revisions {
        return cached.documents.clone();
    }
    let mut documents: BTreeMap<String, Value> = BTreeMap::new();
    for stored in &definitions {
        let versions = stored.value.pointer("/spec/versions").and_then(Value::as_array);
        for version in versions.into_iter().flatten().filter(|version| version["served"] == true) {
            let names = Names::of(&stored.value, version);
            let document = documents
                .entry(format!("apis/{}/{}", names.group, names.version))
                .or_insert_with(empty_document);
            add(document, version, &names);
        }
    }
    let documents: Arc<Vec<(String, Value)>> = Arc::new(documents.into_iter().collect());
    *cached = Cached { of: revisions, documents: documents.clone(), version_two: None };
    documents
}

/// The `ETag` of a document.
pub(crate) fn hash(document: &Value) -> String {
    let text = document.to_string();
    let digest = ring::digest::digest(&ring::digest::SHA512, text.as_bytes());
    digest.as_ref().iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02X}");
        out
    })
}

/// The names of a kind in one version.
struct Names {
    group: String,
    version: String,
    plural: String,
    kind: String,
    list_kind: String,
    namespaced: bool,
    has_status: bool,
    has_scale: bool,
}

impl Names {
    fn of(definition: &Value, version: &Value) -> Self {
        let text = |value: &Value, pointer: &str| {
            value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let has = |pointer: &str| version.pointer(pointer).is_some_and(|found| !found.is_null());
        Self {
            group: text(definition, "/spec/group"),
            version: text(version, "/name"),
            plural: text(definition, "/spec/names/plural"),
            kind: text(definition, "/spec/names/kind"),
            list_kind: text(definition, "/spec/names/listKind"),
            namespaced: definition["spec"]["scope"] == "Namespaced",
            has_status: has("/subresources/status"),
            has_scale: has("/subresources/scale"),
        }
    }

    /// `com.example.v1.Kind`.
    fn model(&self, kind: &str) -> String {
        let reversed: Vec<&str> = self.group.split('.').rev().collect();
        format!("{}.{}.{kind}", reversed.join("."), self.version)
    }
}

fn empty_document() -> Value {
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": {},
        "components": {"schemas": {}},
    })
}

/// Removes the API server's own groups from the `x-kubernetes-group-version-kind` of shared options,
/// which only built-in documents list.
fn forget_servers_groups(schema: &mut Value) {
    const SERVERS: [&str; 4] = [
        "admission.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "imagepolicy.k8s.io",
    ];
    let kinds = schema.get_mut("x-kubernetes-group-version-kind").and_then(Value::as_array_mut);
    if let Some(kinds) = kinds {
        kinds.retain(|kind| !SERVERS.iter().any(|group| kind["group"] == *group));
    }
}

fn add(document: &mut Value, version: &Value, names: &Names) {
    let paths = paths::all(names);
    let mut models = Map::new();
    let structural = version.pointer("/schema/openAPIV3Schema").filter(|written| {
        Schema::parse(written).is_ok_and(|schema| {
            invariants::check(&schema, &sluice_schema::field::Path::default()).is_empty()
        })
    });
    let selectable = version.get("selectableFields").and_then(Value::as_array);
    models.insert(names.model(&names.kind), schemas::object(structural, selectable, names));
    models.insert(names.model(&names.list_kind), schemas::list(selectable, names));
    let reached = {
        let parts = json!([paths, models]);
        let openapi = recorded::openapi();
        let names: Vec<String> =
            openapi.reached_from(&parts).into_iter().map(str::to_owned).collect();
        names
    };
    for name in reached {
        if let Some(mut schema) = recorded::openapi().schema(&name).cloned() {
            forget_servers_groups(&mut schema);
            models.insert(name, schema);
        }
    }
    if let Some(target) = document["paths"].as_object_mut() {
        target.extend(paths);
    }
    if let Some(target) = document["components"]["schemas"].as_object_mut() {
        target.extend(models);
    }
}
