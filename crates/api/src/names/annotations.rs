//! Annotations that people and tools put on objects.

super::words! {
    /// All annotations.
    ALL;

    /// Asks for a reconciliation; the value is remembered once it was acted upon.
    REQUESTED_AT = "reconcile.fluxcd.io/requestedAt";
    /// Asks for an action to be forced, together with a request for reconciliation.
    FORCE_AT = "reconcile.fluxcd.io/forceAt";
    /// Asks for failure counts to be forgotten, together with a request for reconciliation.
    RESET_AT = "reconcile.fluxcd.io/resetAt";

    /// `disabled` keeps an object from being applied.
    KUSTOMIZE_RECONCILE = "kustomize.toolkit.fluxcd.io/reconcile";
    /// `disabled` keeps an object from being deleted.
    KUSTOMIZE_PRUNE = "kustomize.toolkit.fluxcd.io/prune";
    /// `Merge`, `IfNotPresent` or `Ignore`: how an object is applied.
    KUSTOMIZE_SSA = "kustomize.toolkit.fluxcd.io/ssa";
    /// `enabled` recreates an object whose immutable fields change.
    KUSTOMIZE_FORCE = "kustomize.toolkit.fluxcd.io/force";
    /// `disabled` keeps variables in an object from being substituted.
    KUSTOMIZE_SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute";
    /// `disabled` keeps an object from being decrypted.
    KUSTOMIZE_DECRYPT = "kustomize.toolkit.fluxcd.io/decrypt";
    /// A checksum that older versions of Flux left behind.
    KUSTOMIZE_CHECKSUM = "kustomize.toolkit.fluxcd.io/checksum";

    /// `disabled` leaves an object out of drift detection.
    HELM_DRIFT_DETECTION = "helm.toolkit.fluxcd.io/driftDetection";

    /// The address that a webhook of a Receiver is reached at.
    RECEIVER_WEBHOOK = "notification.toolkit.fluxcd.io/webhook";

    /// `disabled` keeps an ArtifactGenerator from working.
    GENERATOR_RECONCILE = "source.extensions.fluxcd.io/reconcile";
    /// The revision that an artifact was made from, as OCI images name it.
    ORIGIN_REVISION = "org.opencontainers.image.revision";

    /// `disabled` keeps the operator from working on an object.
    OPERATOR_RECONCILE = "fluxcd.controlplane.io/reconcile";
    /// How often the operator works on an object.
    OPERATOR_RECONCILE_EVERY = "fluxcd.controlplane.io/reconcileEvery";
    /// How often the operator looks for a new distribution.
    OPERATOR_RECONCILE_ARTIFACT_EVERY = "fluxcd.controlplane.io/reconcileArtifactEvery";
    /// How long the operator may take.
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
    /// Who suspended an object.
    OPERATOR_SUSPENDED_BY = "fluxcd.controlplane.io/suspendedBy";
    /// Who made an object.
    OPERATOR_CREATED_BY = "fluxcd.controlplane.io/createdBy";
}

/// The values of [`KUSTOMIZE_SSA`].
pub mod ssa {
    /// Fields of others are kept.
    pub const MERGE: &str = "Merge";
    /// The object is only ever created.
    pub const IF_NOT_PRESENT: &str = "IfNotPresent";
    /// The object is left alone.
    pub const IGNORE: &str = "Ignore";
}
