//! How the health of custom resources is told.

use crate::schema::object;

object! {
    /// CEL expressions that tell the health of a kind.
    pub struct CustomHealthCheck {
        /// Group and version of the object.
        pub api_version: String,
        /// Holds when the object is as it should be.
        pub current: String,
        /// Holds when the object has failed.
        pub failed: Option<String>,
        /// Holds while the object is on its way.
        pub in_progress: Option<String>,
        /// Kind of the object.
        pub kind: Option<String>,
    }
}
