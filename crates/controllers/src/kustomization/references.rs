//! What a Kustomization refers to, so that a change there wakes it.

use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::sluice::DEPENDS_ON;
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;

use crate::dependency::Dependency;

/// The source a Kustomization builds from.
pub(super) fn source(object: &Kustomization) -> Reference {
    let from = &object.spec.source_ref;
    let namespace = from.namespace.clone().filter(|namespace| !namespace.is_empty());
    let namespace = namespace.or_else(|| object.metadata.namespace.clone()).unwrap_or_default();
    Reference::new(from.kind.as_str(), Key::new(namespace, from.name.clone()))
}

/// The name under which objects of any kind are referred to.
pub(super) fn any_kind(group: &str, kind: &str) -> String {
    format!("{kind}.{group}")
}

/// A dependency of any kind, in its namespace and outside of all: which of them its kind has is not known
/// here. ConfigMaps and Secrets are watched in any case, under their plain names.
fn dependency(it: &Dependency) -> [Reference; 2] {
    let name = match (it.group(), it.kind.as_str()) {
        ("", "ConfigMap" | "Secret") => it.kind.clone(),
        (group, kind) => any_kind(group, kind),
    };
    let unnamespaced = Key::new(String::new(), it.key.name.clone());
    [Reference::new(name.clone(), it.key.clone()), Reference::new(name, unnamespaced)]
}

/// Everything it refers to: the source, its dependencies, and the ConfigMaps and Secrets it reads.
pub(super) fn all(object: &Kustomization) -> Vec<Reference> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let mut references = vec![source(object)];
    for dependency in object.spec.depends_on.iter().flatten() {
        let namespace = dependency.namespace.clone().unwrap_or_else(|| namespace.clone());
        let key = Key::new(namespace, dependency.name.clone());
        references.push(Reference::new("Kustomization", key));
    }
    let annotations = object.metadata.annotations.as_ref();
    if let Some(text) = annotations.and_then(|annotations| annotations.get(DEPENDS_ON)) {
        // One that cannot be read is reported by the pass; it wakes nobody.
        let dependencies = Dependency::parse_all(text, &namespace).unwrap_or_default();
        references.extend(dependencies.iter().flat_map(dependency));
    }
    let mut local = |kind: &str, name: &str| {
        references.push(Reference::new(kind, Key::new(namespace.clone(), name)));
    };
    for from in
        object.spec.post_build.iter().flat_map(|build| build.substitute_from.iter().flatten())
    {
        local(from.kind.as_str(), &from.name);
    }
    if let Some(secret) = object.spec.decryption.as_ref().and_then(|it| it.secret_ref.as_ref()) {
        local("Secret", &secret.name);
    }
    if let Some(way) = &object.spec.kube_config {
        if let Some(secret) = &way.secret_ref {
            local("Secret", &secret.name);
        }
        if let Some(config) = &way.config_map_ref {
            local("ConfigMap", &config.name);
        }
    }
    references
}
