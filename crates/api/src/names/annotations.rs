//! Annotations that people and tools put on objects.

super::names! {
    /// All annotations.
    ALL;

    /// Requests a reconciliation; the value is stored in the status once it was handled.
    REQUESTED_AT = "reconcile.fluxcd.io/requestedAt";
    /// Forces an action, together with a reconciliation request.
    FORCE_AT = "reconcile.fluxcd.io/forceAt";
    /// Resets failure counts, together with a reconciliation request.
    RESET_AT = "reconcile.fluxcd.io/resetAt";

    /// `disabled` keeps an object from being applied.
    KUSTOMIZE_RECONCILE = "kustomize.toolkit.fluxcd.io/reconcile";
    /// `disabled` keeps an object from being deleted.
    KUSTOMIZE_PRUNE = "kustomize.toolkit.fluxcd.io/prune";
    /// `Merge`, `IfNotPresent` or `Ignore`: how to apply an object.
    KUSTOMIZE_SSA = "kustomize.toolkit.fluxcd.io/ssa";
    /// `enabled` recreates an object when immutable fields change.
    KUSTOMIZE_FORCE = "kustomize.toolkit.fluxcd.io/force";
    /// `disabled` excludes an object from variable substitution.
    KUSTOMIZE_SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute";
    /// `disabled` excludes an object from decryption.
    KUSTOMIZE_DECRYPT = "kustomize.toolkit.fluxcd.io/decrypt";
    /// A checksum of older versions of Flux.
    KUSTOMIZE_CHECKSUM = "kustomize.toolkit.fluxcd.io/checksum";

    /// `disabled` excludes an object from drift detection.
    HELM_DRIFT_DETECTION = "helm.toolkit.fluxcd.io/driftDetection";

    /// The URL of a Receiver's webhook.
    RECEIVER_WEBHOOK = "notification.toolkit.fluxcd.io/webhook";

    /// `disabled` disables an ArtifactGenerator.
    GENERATOR_RECONCILE = "source.extensions.fluxcd.io/reconcile";
    /// The revision that an artifact was made from, as in OCI images.
    ORIGIN_REVISION = "org.opencontainers.image.revision";

    /// `disabled` disables the operator's reconciliation of an object.
    OPERATOR_RECONCILE = "fluxcd.controlplane.io/reconcile";
    /// The operator's reconciliation interval.
    OPERATOR_RECONCILE_EVERY = "fluxcd.controlplane.io/reconcileEvery";
    /// The operator's interval of looking for a new distribution.
    OPERATOR_RECONCILE_ARTIFACT_EVERY = "fluxcd.controlplane.io/reconcileArtifactEvery";
    /// The operator's timeout.
    OPERATOR_RECONCILE_TIMEOUT = "fluxcd.controlplane.io/reconcileTimeout";
    /// `disabled` keeps the operator from deleting an object.
    OPERATOR_PRUNE = "fluxcd.controlplane.io/prune";
    /// `enabled` lets the operator recreate an object.
    OPERATOR_FORCE = "fluxcd.controlplane.io/force";
    /// `enabled` lets the operator recreate an object that has failed.
    OPERATOR_RECREATE_ON_FAILURE = "fluxcd.controlplane.io/recreateOnFailure";
    /// The revision that the operator applied.
    OPERATOR_REVISION = "fluxcd.controlplane.io/revision";
    /// The ConfigMap or Secret, as `namespace/name`, that data is copied from.
    OPERATOR_COPY_FROM = "fluxcd.controlplane.io/copyFrom";
    /// The Secret that a kubeconfig is converted from.
    OPERATOR_CONVERT_KUBE_CONFIG_FROM = "fluxcd.controlplane.io/convertKubeConfigFrom";
    /// The ConfigMaps and Secrets that a checksum is made of.
    OPERATOR_CHECKSUM_FROM = "fluxcd.controlplane.io/checksumFrom";
    /// The checksum.
    OPERATOR_CHECKSUM = "fluxcd.controlplane.io/checksum";
    /// The user that suspended an object.
    OPERATOR_SUSPENDED_BY = "fluxcd.controlplane.io/suspendedBy";
    /// The creator of an object.
    OPERATOR_CREATED_BY = "fluxcd.controlplane.io/createdBy";
}

/// The values of [`KUSTOMIZE_SSA`].
pub mod ssa {
    /// Fields of other managers are kept.
    pub const MERGE: &str = "Merge";
    /// The object is created, never updated.
    pub const IF_NOT_PRESENT: &str = "IfNotPresent";
    /// The object is ignored.
    pub const IGNORE: &str = "Ignore";
}
