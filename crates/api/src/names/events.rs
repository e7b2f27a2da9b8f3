//! What events carry. Keys of metadata have the kind's group and a slash in front on Kubernetes
//! events, and stand alone in what is sent to the notification receiver.

super::words! {
    /// All keys of metadata.
    METADATA;

    /// The revision of the artifact.
    REVISION = "revision";
    /// The revision of what the artifact was made from.
    ORIGIN_REVISION = "originRevision";
    /// The digest of the artifact, as older versions name it.
    CHECKSUM = "checksum";
    /// The digest of the artifact.
    DIGEST = "digest";
    /// Any text that tells two events apart.
    TOKEN = "token";
    /// A commit.
    COMMIT = "commit";
    /// That a commit status is to be updated.
    COMMIT_STATUS = "commit_status";
    /// A change request, such as a pull request.
    CHANGE_REQUEST = "change_request";
}

/// The value of [`COMMIT_STATUS`].
pub const COMMIT_STATUS_UPDATE: &str = "update";

/// The group in front of metadata that is not about one kind.
pub const GROUP: &str = "event.toolkit.fluxcd.io";

/// The severities of events.
pub mod severity {
    /// Neither good nor bad, and kept from alerts.
    pub const TRACE: &str = "trace";
    /// Something went well.
    pub const INFO: &str = "info";
    /// Something went wrong.
    pub const ERROR: &str = "error";
}

/// The types of Kubernetes events.
pub mod kind {
    /// Something went well.
    pub const NORMAL: &str = "Normal";
    /// Something went wrong.
    pub const WARNING: &str = "Warning";
    /// Sent to the notification receiver only, never to Kubernetes.
    pub const TRACE: &str = "Trace";
}
