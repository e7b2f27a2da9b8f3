//! Finalizers.

super::names! {
    /// All finalizers.
    ALL;

    /// The one of all of Flux's own kinds.
    FLUX = "finalizers.fluxcd.io";
    /// The one of ArtifactGenerators.
    GENERATOR = "source.extensions.fluxcd.io/finalizer";
    /// The one of Flux Operator's kinds.
    OPERATOR = "fluxcd.controlplane.io/finalizer";
}
