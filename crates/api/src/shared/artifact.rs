//! Artifacts: made by sources, used by appliers.

use std::collections::BTreeMap;

use sluice_base::time::Time;

use crate::schema::object;

object! {
    /// A packed revision of a source.
    pub struct Artifact {
        /// Digest of the file, in the form `<algorithm>:<hex>`.
        #[schema(pattern = "^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$")]
        pub digest: String,
        /// When the artifact was made.
        pub last_update_time: Time,
        /// Metadata of the revision, such as OCI annotations.
        pub metadata: Option<BTreeMap<String, String>>,
        /// Path below the root of the storage.
        pub path: String,
        /// Revision in the source's own terms.
        pub revision: String,
        /// Size of the file in bytes.
        pub size: Option<i64>,
        /// Address at which the artifact is served.
        pub url: String,
    }
}
