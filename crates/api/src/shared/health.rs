//! Custom health checks.

use crate::schema::object;

object! {
    /// A custom health check: CEL expressions for a kind.
    pub struct CustomHealthCheck {
        /// Group and version of the object.
        pub api_version: String,
        /// CEL expression that is true when the object is current.
        pub current: String,
        /// CEL expression that is true when the object has failed.
        pub failed: Option<String>,
        /// CEL expression that is true while the object is in progress.
        pub in_progress: Option<String>,
        /// Kind of the object.
        pub kind: Option<String>,
    }
}
