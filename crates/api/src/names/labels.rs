//! Owner labels, and labels for selecting objects.

super::names! {
    /// All labels.
    ALL;

    /// The shard of an object.
    SHARDING_KEY = "sharding.fluxcd.io/key";
    /// `Enabled` on a ConfigMap or Secret: changes of it trigger the objects that refer to it.
    WATCH = "reconcile.fluxcd.io/watch";
    /// The tenant that a namespace belongs to.
    TENANT = "toolkit.fluxcd.io/tenant";
    /// Name of the Kustomization that applied an object.
    KUSTOMIZE_NAME = "kustomize.toolkit.fluxcd.io/name";
    /// Namespace of the Kustomization that applied an object.
    KUSTOMIZE_NAMESPACE = "kustomize.toolkit.fluxcd.io/namespace";
    /// Name of the HelmRelease that applied an object.
    HELM_NAME = "helm.toolkit.fluxcd.io/name";
    /// Namespace of the HelmRelease that applied an object.
    HELM_NAMESPACE = "helm.toolkit.fluxcd.io/namespace";
    /// Uid of the ArtifactGenerator that made an artifact.
    GENERATOR = "source.extensions.fluxcd.io/generator";
    /// Name of the FluxInstance that applied an object.
    OPERATOR_NAME = "fluxcd.controlplane.io/name";
    /// Namespace of the FluxInstance that applied an object.
    OPERATOR_NAMESPACE = "fluxcd.controlplane.io/namespace";
    /// Name of the ResourceSet that applied an object.
    RESOURCE_SET_NAME = "resourceset.fluxcd.controlplane.io/name";
    /// Namespace of the ResourceSet that applied an object.
    RESOURCE_SET_NAMESPACE = "resourceset.fluxcd.controlplane.io/namespace";
}

/// The value of [`WATCH`] that turns it on.
pub const WATCH_ENABLED: &str = "Enabled";
