//! Dependencies of any kind, written in the annotation `sluice.dev/depends-on`.
//!
//! ```yaml
//! sluice.dev/depends-on: |
//!   - {apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, name: cert-manager, namespace: cert-manager}
//!   - {apiVersion: v1, kind: ConfigMap, name: region, readyExpr: "has(dep.data.zone)"}
//! ```

use serde::Deserialize;
use serde_json::Value;
use sluice_runtime::key::Key;
use sluice_ssa::{ObjectId, ObjectKey};

/// How many dependencies one object may name.
const MOST: usize = 100;

/// An object that must be usable first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object.
    pub key: Key,
    /// CEL over `dep` and `self`; without one, its status decides.
    pub ready_expr: Option<String>,
}

/// Why the annotation cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("annotation sluice.dev/depends-on: {0}")]
pub struct DependencyError(String);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    api_version: String,
    kind: String,
    name: String,
    namespace: Option<String>,
    ready_expr: Option<String>,
}

impl Dependency {
    /// The group of its kind.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Its name to the API server.
    pub fn object(&self) -> ObjectKey {
        let version = self.api_version.rsplit('/').next().unwrap_or_default();
        ObjectKey {
            id: ObjectId {
                group: self.group().to_owned(),
                kind: self.kind.clone(),
                namespace: self.key.namespace.clone(),
                name: self.key.name.clone(),
            },
            version: version.to_owned(),
        }
    }

    /// Reads the annotation of an object in `namespace`.
    pub fn parse_all(text: &str, namespace: &str) -> Result<Vec<Self>, DependencyError> {
        let value = sluice_yaml::to_json(text.as_bytes(), sluice_yaml::Duplicates::Reject)
            .map_err(|error| DependencyError(error.to_string()))?;
        let written: Vec<Written> = serde_json::from_value(value.unwrap_or(Value::Null))
            .map_err(|error| DependencyError(error.to_string()))?;
        if written.len() > MOST {
            return Err(DependencyError(format!(
                "names {} objects; {MOST} are the most",
                written.len()
            )));
        }
        let dependencies = written.into_iter().map(|it| Self {
            api_version: it.api_version,
            kind: it.kind,
            key: Key::new(it.namespace.unwrap_or_else(|| namespace.to_owned()), it.name),
            ready_expr: it.ready_expr,
        });
        Ok(dependencies.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Dependency;

    #[test]
    fn dependencies_are_a_list_of_objects() {
        let text = "- {apiVersion: v1, kind: ConfigMap, name: a}\n- {apiVersion: apps/v1, kind: Deployment, name: b, namespace: m, readyExpr: 'true'}";
        let read = Dependency::parse_all(text, "n").unwrap();
        assert_eq!(read[0].key.to_string(), "n/a");
        assert_eq!(read[1].key.to_string(), "m/b");
        assert_eq!(read[1].ready_expr.as_deref(), Some("true"));
        for wrong in
            ["a: b", "- {kind: ConfigMap}", "- {apiVersion: v1, kind: A, name: b, extra: c}", "["]
        {
            assert!(Dependency::parse_all(wrong, "n").is_err(), "{wrong}");
        }
    }
}
