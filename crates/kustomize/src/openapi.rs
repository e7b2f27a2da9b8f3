//! The OpenAPI schema of one build: merge keys of lists, and scopes of kinds.
//!
//! kustomize keeps this in global variables; here each build has its own. The default is Kubernetes 1.21.2, recorded in
//! `data/`. A kustomization can name a file instead; the first one of a build counts. Whether the recorded schema is
//! then still used depends on whether it was loaded before, so that is tracked.

mod shape;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use sluice_yaml::Node;

use self::shape::{Definitions, Shape};
use self::table::{KUBERNETES, KUSTOMIZE, Table};
use crate::failure::{Failure, Result};

/// The only version that the field `openapi` may have.
const VERSION: &str = "v1.21.2";

/// The maximum length of a chain of references.
const MAX_REFERENCES: usize = 64;

/// The schema of one build.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    /// The chosen schema, and its effect on the recorded one.
    custom: Option<(Arc<Definitions>, Recorded)>,
    /// Whether a kustomization chose a version or a schema, so that no other can.
    chosen: bool,
    needed: Needed,
    /// An extension: the schemas of CRDs, by `apiVersion` and `kind`.
    crds: Arc<BTreeMap<(String, String), Arc<Shape>>>,
}

/// The recorded schema beside a chosen one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recorded {
    /// It was loaded; the chosen one takes precedence.
    Behind,
    /// Its scopes were used: it is loaded with the other one, and takes precedence.
    Before,
    /// It is not used.
    Absent,
}

/// How far the recorded schema has been used; only increases.
#[derive(Debug, Default)]
struct Needed(AtomicU8);

impl Needed {
    const FOR_SCOPE: u8 = 1;
    const FOR_MERGE: u8 = 2;

    fn note(&self, how: u8) {
        self.0.fetch_max(how, Ordering::Relaxed);
    }

    fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clone for Schema {
    fn clone(&self) -> Self {
        Self {
            custom: self.custom.clone(),
            chosen: self.chosen,
            needed: Needed(AtomicU8::new(self.needed.get())),
            crds: Arc::clone(&self.crds),
        }
    }
}

/// The schema of a value.
#[derive(Clone)]
pub(crate) struct SchemaRef<'s> {
    schema: &'s Schema,
    place: Place,
}

#[derive(Clone)]
enum Place {
    Recorded(&'static Table, usize),
    Shape(Arc<Shape>),
}

impl Schema {
    /// The schema of a build without a chosen one.
    pub(crate) fn builtin() -> Self {
        Self::default()
    }

    /// Loads the recorded schema before anything is chosen.
    pub(crate) fn use_recorded(&self) {
        self.needed.note(Needed::FOR_MERGE);
    }

    /// Applies the field `openapi` of a kustomization with the content of its file. Only the first choice counts, unless
    /// `reset` is set.
    pub(crate) fn set(
        &mut self,
        field: &BTreeMap<String, String>,
        content: Option<&[u8]>,
        reset: bool,
    ) -> Result<()> {
        if self.chosen && !reset {
            return Ok(());
        }
        let version = field.get("version");
        if let Some(content) = content {
            if version.is_some() {
                return Err(Failure::new(
                    "builtin version and custom schema provided, cannot use both",
                )
                .hint("keep one of `version` and `path` in `openapi`"));
            }
            let recorded = match self.needed.get() {
                Needed::FOR_MERGE => Recorded::Behind,
                Needed::FOR_SCOPE => Recorded::Before,
                _ => Recorded::Absent,
            };
            self.custom = Some((Arc::new(Definitions::read(content)?), recorded));
            self.chosen = true;
            return Ok(());
        }
        match version.map(String::as_str) {
            None | Some("") => Ok(()),
            Some(VERSION) => {
                self.chosen = true;
                self.custom = None;
                Ok(())
            }
            Some(_) => Err(Failure::new("the specified OpenAPI version is not built in")
                .hint(format!("the version that is built in is {VERSION}"))),
        }
    }

    /// Whether a kind is cluster-scoped.
    pub(crate) fn is_certainly_cluster_scoped(&self, api_version: &str, kind: &str) -> bool {
        self.namespaced(api_version, kind) == Some(false)
    }

    /// Whether a kind is namespaced, if known.
    pub(crate) fn namespaced(&self, api_version: &str, kind: &str) -> Option<bool> {
        // kyaml knows these without the schema.
        if let Some(namespaced) = KUBERNETES.namespaced(api_version, kind) {
            return Some(namespaced);
        }
        let Some((custom, _)) = &self.custom else {
            self.needed.note(Needed::FOR_SCOPE);
            return None;
        };
        custom.namespaced.get(&(api_version.to_owned(), kind.to_owned())).copied()
    }

    /// The schema of a kind.
    pub(crate) fn of(&self, api_version: &str, kind: &str) -> Option<SchemaRef<'_>> {
        self.needed.note(Needed::FOR_MERGE);
        let key = || (api_version.to_owned(), kind.to_owned());
        let found = self.find(
            |table| table.kind(api_version, kind),
            |definitions| definitions.by_kind.get(&key()),
        );
        let crd = || self.crds.get(&key()).map(|shape| Place::Shape(Arc::clone(shape)));
        Some(SchemaRef { schema: self, place: found.or_else(crd)? })
    }

    /// The schema in the comment of a value, as kyaml reads it.
    pub(crate) fn in_comment(&self, comment: &str) -> Option<SchemaRef<'_>> {
        let shape = Arc::new(Shape::read_comment(comment)?);
        let target = shape.reference.as_deref().and_then(|reference| self.definition(reference));
        Some(SchemaRef { schema: self, place: target.unwrap_or(Place::Shape(shape)) })
    }

    /// Reads the merge keys of a custom resource's lists. kustomize does not.
    pub(crate) fn add_crd(&mut self, crd: &Node) {
        let Ok(crd) = crd.to_json() else { return };
        let text = |pointer: &str| crd.pointer(pointer).and_then(|value| value.as_str());
        let (Some(group), Some(kind)) = (text("/spec/group"), text("/spec/names/kind")) else {
            return;
        };
        let common = crd.pointer("/spec/validation/openAPIV3Schema");
        let versions = crd.pointer("/spec/versions").and_then(|versions| versions.as_array());
        let mut add = |version: &str, schema: &serde_json::Value| {
            let shape = Arc::new(Shape::read_structural(schema));
            let key = (format!("{group}/{version}"), kind.to_owned());
            Arc::make_mut(&mut self.crds).insert(key, shape);
        };
        for version in versions.into_iter().flatten() {
            let schema = version.pointer("/schema/openAPIV3Schema").or(common);
            let name = version.get("name").and_then(|name| name.as_str());
            if let (Some(name), Some(schema)) = (name, schema) {
                add(name, schema);
            }
        }
        if let (None, Some(version), Some(schema)) = (versions, text("/spec/version"), common) {
            add(version, schema);
        }
    }

    /// The target of a reference.
    fn definition(&self, reference: &str) -> Option<Place> {
        let mut name = decoded(reference.strip_prefix("#/definitions/")?);
        for _ in 0..MAX_REFERENCES {
            let place = self.find(
                |table| table.definition(&name),
                |definitions| definitions.by_name.get(&name),
            )?;
            match &place {
                Place::Shape(shape) => match &shape.reference {
                    Some(next) => name = decoded(next.strip_prefix("#/definitions/")?),
                    None => return Some(place),
                },
                Place::Recorded(..) => return Some(place),
            }
        }
        None
    }

    /// The first match, in kyaml's order of precedence.
    fn find<'d>(
        &'d self,
        recorded: impl Fn(&Table) -> Option<usize>,
        shape: impl Fn(&'d Definitions) -> Option<&'d Arc<Shape>>,
    ) -> Option<Place> {
        let recorded = |table: &'static LazyLockTable| {
            recorded(table).map(|number| Place::Recorded(table, number))
        };
        let custom = || {
            let (definitions, _) = self.custom.as_ref()?;
            shape(definitions).map(|shape| Place::Shape(Arc::clone(shape)))
        };
        let kustomize = recorded(&KUSTOMIZE);
        kustomize.or_else(|| match &self.custom {
            None => recorded(&KUBERNETES),
            Some((_, Recorded::Absent)) => custom(),
            Some((_, Recorded::Behind)) => custom().or_else(|| recorded(&KUBERNETES)),
            Some((_, Recorded::Before)) => recorded(&KUBERNETES).or_else(custom),
        })
    }
}

type LazyLockTable = std::sync::LazyLock<Table>;

/// A name in a reference, unescaped.
fn decoded(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

impl SchemaRef<'_> {
    /// The schema of a field.
    pub(crate) fn field(&self, name: &str) -> Option<Self> {
        self.follow(match &self.place {
            Place::Recorded(table, number) => {
                Place::Recorded(table, table.record(*number).field(name)?)
            }
            Place::Shape(shape) => Place::Shape(Arc::clone(shape.field(name)?)),
        })
    }

    /// The schema of list items.
    pub(crate) fn elements(&self) -> Option<Self> {
        self.follow(match &self.place {
            Place::Recorded(table, number) => Place::Recorded(table, table.record(*number).items?),
            Place::Shape(shape) => Place::Shape(Arc::clone(shape.items.as_ref()?)),
        })
    }

    /// The patch strategy, such as `merge` or `merge,retainKeys`; empty if there is none.
    pub(crate) fn patch_strategy(&self) -> &str {
        match &self.place {
            Place::Recorded(table, number) => table.record(*number).strategy,
            Place::Shape(shape) => &shape.strategy,
        }
    }

    /// Whether lists are merged item by item.
    pub(crate) fn is_merged(&self) -> bool {
        self.patch_strategy().split(',').any(|strategy| strategy == "merge")
    }

    /// The merge keys of a list; none for a list of scalars.
    pub(crate) fn merge_keys(&self) -> Vec<&str> {
        match &self.place {
            Place::Recorded(table, number) => table.record(*number).keys.clone(),
            Place::Shape(shape) => shape.keys.iter().map(String::as_str).collect(),
        }
    }

    fn follow(&self, place: Place) -> Option<Self> {
        let schema = self.schema;
        let place = match place {
            Place::Shape(shape) => match &shape.reference {
                Some(reference) => schema.definition(reference)?,
                None => Place::Shape(shape),
            },
            Place::Recorded(table, number) => {
                let name = table.record(number).definition;
                // A chosen schema can override a recorded definition.
                if name.is_empty() || schema.custom.is_none() {
                    Place::Recorded(table, number)
                } else {
                    schema.definition(&format!("#/definitions/{name}"))?
                }
            }
        };
        Some(Self { schema, place })
    }
}

#[cfg(test)]
mod tests;
