//! What a schema cannot check: names that repeat, aliases that do not exist, sources of other tenants.

use std::collections::BTreeSet;

use sluice_api::names::reasons::{ACCESS_DENIED, VALIDATION_FAILED};
use sluice_base::names::dns1123_subdomain;
use sluice_runtime::outcome::Stop;

use super::{ArtifactGenerators, Pass};

impl ArtifactGenerators {
    /// Whether the spec can be worked with at all.
    pub(super) fn validate(&self, pass: &Pass<'_>) -> Result<(), Stop> {
        let invalid = |message: String| Stop::stalled(VALIDATION_FAILED, message);
        let spec = &pass.object.spec;
        let mut aliases = BTreeSet::new();
        for source in &spec.sources {
            let alias = &source.alias;
            if !aliases.insert(alias.as_str()) {
                return Err(invalid(format!("duplicate source alias '{alias}' found")));
            }
            let elsewhere = source.namespace.as_ref().filter(|it| **it != pass.key.namespace);
            if let Some(namespace) = elsewhere.filter(|it| !it.is_empty())
                && self.context.settings.no_cross_namespace_refs
            {
                let (kind, name) = (source.kind.as_str(), &source.name);
                return Err(Stop::stalled(
                    ACCESS_DENIED,
                    format!(
                        "cross-namespace reference to source {kind}/{namespace}/{name} is not allowed"
                    ),
                ));
            }
        }
        let has_pattern = spec.path_pattern.as_ref().is_some_and(|it| !it.is_empty());
        let mut names = BTreeSet::new();
        for artifact in &spec.artifacts {
            let name = &artifact.name;
            if !names.insert(name.as_str()) {
                return Err(invalid(format!("duplicate artifact name '{name}' found")));
            }
            let wrong = if has_pattern { Vec::new() } else { dns1123_subdomain(name) };
            if !wrong.is_empty() {
                return Err(invalid(format!(
                    "artifact name {name:?} is not a valid Kubernetes object name: {}",
                    wrong.join("; ")
                )));
            }
            let alias = artifact.revision.as_deref().map(|it| it.trim_start_matches('@'));
            if let Some(alias) = alias.filter(|it| !it.is_empty() && !aliases.contains(it)) {
                return Err(invalid(format!(
                    "artifact {name} revision source alias '{alias}' not found"
                )));
            }
        }
        Ok(())
    }
}
