//! Reasons of conditions and events.

super::names! {
    /// All reasons.
    ALL;

    /// Success.
    SUCCEEDED = "Succeeded";
    /// Failure.
    FAILED = "Failed";
    /// In progress.
    PROGRESSING = "Progressing";
    /// Suspended.
    SUSPENDED = "Suspended";
    /// Failed, and to be retried.
    PROGRESSING_WITH_RETRY = "ProgressingWithRetry";
    /// A dependency is not ready.
    DEPENDENCY_NOT_READY = "DependencyNotReady";
    /// A path is invalid or does not exist.
    INVALID_PATH = "InvalidPath";
    /// An address is invalid.
    INVALID_URL = "InvalidURL";
    /// Plain HTTP is not allowed.
    INSECURE_CONNECTIONS_DISALLOWED = "InsecureConnectionsDisallowed";
    /// The address has a scheme that is not supported.
    UNSUPPORTED_CONNECTION_TYPE = "UnsupportedConnectionType";
    /// Deleting failed.
    PRUNE_FAILED = "PruneFailed";
    /// The source's artifact could not be fetched.
    ARTIFACT_FAILED = "ArtifactFailed";
    /// Building failed.
    BUILD_FAILED = "BuildFailed";
    /// An applied object is not healthy.
    HEALTH_CHECK_FAILED = "HealthCheckFailed";
    /// Applied.
    RECONCILIATION_SUCCEEDED = "ReconciliationSucceeded";
    /// Applying failed.
    RECONCILIATION_FAILED = "ReconciliationFailed";
    /// A CEL expression is invalid.
    INVALID_CEL_EXPRESSION = "InvalidCELExpression";
    /// It needs a feature that is turned off.
    FEATURE_GATE_DISABLED = "FeatureGateDisabled";
    /// Waiting was cancelled because of a newer revision.
    HEALTH_CHECK_CANCELED = "HealthCheckCanceled";
    /// A cross-namespace reference is not allowed.
    ACCESS_DENIED = "AccessDenied";
    /// The bucket was read.
    BUCKET_OPERATION_SUCCEEDED = "BucketOperationSucceeded";
    /// The bucket could not be read.
    BUCKET_OPERATION_FAILED = "BucketOperationFailed";
    /// The address of a source is invalid.
    URL_INVALID = "URLInvalid";
    /// The credentials are missing or were refused.
    AUTHENTICATION_FAILED = "AuthenticationFailed";
    /// The signature could not be verified.
    VERIFICATION_ERROR = "VerificationError";
    /// A directory could not be created.
    DIRECTORY_CREATION_FAILED = "DirectoryCreationFailed";
    /// A file or directory could not be inspected.
    STAT_OPERATION_FAILED = "StatOperationFailed";
    /// Reading failed.
    READ_OPERATION_FAILED = "ReadOperationFailed";
    /// The artifact could not be locked.
    ACQUIRE_LOCK_FAILED = "AcquireLockFailed";
    /// The artifact could not be packed.
    ARCHIVE_OPERATION_FAILED = "ArchiveOperationFailed";
    /// The link to the newest artifact could not be set.
    SYMLINK_UPDATE_FAILED = "SymlinkUpdateFailed";
    /// The artifact is up to date.
    ARTIFACT_UP_TO_DATE = "ArtifactUpToDate";
    /// The cache failed.
    CACHE_OPERATION_FAILED = "CacheOperationFailed";
    /// The object could not be patched.
    PATCH_OPERATION_FAILED = "PatchOperationFailed";
    /// The service for temporary credentials is configured wrongly.
    INVALID_STS_CONFIGURATION = "InvalidSTSConfiguration";
    /// The provider is configured wrongly.
    INVALID_PROVIDER_CONFIGURATION = "InvalidProviderConfiguration";
    /// The repository was read.
    GIT_OPERATION_SUCCEEDED = "GitOperationSucceeded";
    /// The repository could not be read or written.
    GIT_OPERATION_FAILED = "GitOperationFailed";
    /// The chart was pulled.
    CHART_PULL_SUCCEEDED = "ChartPullSucceeded";
    /// The chart was packaged.
    CHART_PACKAGE_SUCCEEDED = "ChartPackageSucceeded";
    /// The index of a chart repository could not be read.
    INDEXATION_FAILED = "IndexationFailed";
    /// The artifact could not be pulled.
    OCI_ARTIFACT_PULL_FAILED = "OCIArtifactPullFailed";
    /// The layer could not be read.
    OCI_ARTIFACT_LAYER_OPERATION_FAILED = "OCIArtifactLayerOperationFailed";
    /// The release was installed.
    INSTALL_SUCCEEDED = "InstallSucceeded";
    /// The release could not be installed.
    INSTALL_FAILED = "InstallFailed";
    /// The release was upgraded.
    UPGRADE_SUCCEEDED = "UpgradeSucceeded";
    /// The release could not be upgraded.
    UPGRADE_FAILED = "UpgradeFailed";
    /// The tests passed.
    TEST_SUCCEEDED = "TestSucceeded";
    /// A test failed.
    TEST_FAILED = "TestFailed";
    /// The release was rolled back.
    ROLLBACK_SUCCEEDED = "RollbackSucceeded";
    /// The release could not be rolled back.
    ROLLBACK_FAILED = "RollbackFailed";
    /// The release was uninstalled.
    UNINSTALL_SUCCEEDED = "UninstallSucceeded";
    /// The release could not be uninstalled.
    UNINSTALL_FAILED = "UninstallFailed";
    /// The cluster has drifted from the release.
    DRIFT_DETECTED = "DriftDetected";
    /// The cluster matches the release.
    NO_DRIFT_DETECTED = "NoDriftDetected";
    /// The inventory of a release could not be built.
    INVENTORY_BUILD_FAILED = "InventoryBuildFailed";
    /// The existence of a namespace could not be checked.
    NAMESPACE_CHECK_SKIPPED = "NamespaceCheckSkipped";
    /// The receiver is ready.
    INITIALIZED = "Initialized";
    /// The object is invalid.
    VALIDATION_FAILED = "ValidationFailed";
    /// The Secret has no token.
    TOKEN_NOT_FOUND = "TokenNotFound";
    /// The name of an image is invalid.
    IMAGE_URL_INVALID = "ImageURLInvalid";
    /// An interval is missing.
    INTERVAL_NOT_CONFIGURED = "IntervalNotConfigured";
    /// The update strategy is unknown.
    INVALID_UPDATE_STRATEGY = "InvalidUpdateStrategy";
    /// The source of an automation is invalid.
    INVALID_SOURCE_CONFIGURATION = "InvalidSourceConfiguration";
    /// The repository could not be set up.
    SOURCE_MANAGER_FAILED = "SourceManagerFailed";
    /// The files could not be changed.
    UPDATE_FAILED = "UpdateFailed";
    /// The selector of policies is invalid.
    INVALID_POLICY_SELECTOR = "InvalidPolicySelector";
    /// A template uses a field that is gone.
    REMOVED_TEMPLATE_FIELD = "RemovedTemplateField";
    /// An annotation disables reconciliation.
    RECONCILIATION_DISABLED = "ReconciliationDisabled";
    /// A source could not be fetched.
    SOURCE_FETCH_FAILED = "SourceFetchFailed";
    /// The installed version is outdated.
    OUTDATED_VERSION = "OutdatedVersion";
    /// The default values are invalid.
    INVALID_DEFAULT_VALUES = "InvalidDefaultValues";
    /// The exported inputs are invalid.
    INVALID_EXPORTED_INPUTS = "InvalidExportedInputs";
    /// The specification is invalid.
    INVALID_SPEC = "InvalidSpec";
    /// A schedule is invalid.
    INVALID_SCHEDULE = "InvalidSchedule";
    /// No schedule allows it now.
    SKIPPED_DUE_TO_SCHEDULE = "SkippedDueToSchedule";
}
