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
        references.extend(dependencies.into_iter().map(|it| Reference::new(it.kind, it.key)));
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
