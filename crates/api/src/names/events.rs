//! Event metadata. On Kubernetes events the keys are prefixed with the kind's group and a slash; in notifications
//! they are not.

super::names! {
    /// All metadata keys.
    METADATA;

    /// The revision of the artifact.
    REVISION = "revision";
    /// The origin revision of the artifact.
    ORIGIN_REVISION = "originRevision";
    /// The digest of the artifact, in older versions.
    CHECKSUM = "checksum";
    /// The digest of the artifact.
    DIGEST = "digest";
    /// Any text that distinguishes two events.
    TOKEN = "token";
    /// A commit.
    COMMIT = "commit";
    /// Requests an update of a commit status.
    COMMIT_STATUS = "commit_status";
    /// A change request, such as a pull request.
    CHANGE_REQUEST = "change_request";
}

/// The value of [`COMMIT_STATUS`].
pub const COMMIT_STATUS_UPDATE: &str = "update";

/// The prefix of metadata that is not about one kind.
pub const GROUP: &str = "event.toolkit.fluxcd.io";

/// The severities of events.
pub mod severity {
    /// For tracing; not forwarded by alerts.
    pub const TRACE: &str = "trace";
    /// A success.
    pub const INFO: &str = "info";
    /// A failure.
    pub const ERROR: &str = "error";
}

/// The types of Kubernetes events.
pub mod kind {
    /// A success.
    pub const NORMAL: &str = "Normal";
    /// A failure.
    pub const WARNING: &str = "Warning";
    /// Sent to the notification receiver only, never to Kubernetes.
    pub const TRACE: &str = "Trace";
}
