//! Types of conditions.

super::names! {
    /// All types of conditions.
    ALL;

    /// The desired state is reached.
    READY = "Ready";
    /// Progress needs a change of the spec or of the cluster.
    STALLED = "Stalled";
    /// A reconciliation is in progress.
    RECONCILING = "Reconciling";
    /// Everything applied is healthy.
    HEALTHY = "Healthy";
    /// A cross-namespace reference is not allowed.
    ACCESS_DENIED = "AccessDenied";
    /// The artifact is in the storage.
    ARTIFACT_IN_STORAGE = "ArtifactInStorage";
    /// The artifact is older than the source.
    ARTIFACT_OUTDATED = "ArtifactOutdated";
    /// The signature was verified.
    SOURCE_VERIFIED = "SourceVerified";
    /// The source could not be fetched.
    FETCH_FAILED = "FetchFailed";
    /// The artifact could not be built.
    BUILD_FAILED = "BuildFailed";
    /// The storage failed.
    STORAGE_OPERATION_FAILED = "StorageOperationFailed";
    /// An included repository has no artifact.
    INCLUDE_UNAVAILABLE = "IncludeUnavailable";
    /// The release was installed or upgraded.
    RELEASED = "Released";
    /// The release's tests passed.
    TEST_SUCCESS = "TestSuccess";
    /// A failed release was rolled back or uninstalled.
    REMEDIATED = "Remediated";
    /// The cluster differs from the release.
    DRIFTED = "Drifted";
}
