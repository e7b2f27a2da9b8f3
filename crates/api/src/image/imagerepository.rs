//! ImageRepository: a repository of images to scan.

use sluice_base::duration::GoDuration;
use sluice_base::time::Time;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, SHORT_DURATION, object};
use crate::shared::condition::Condition;
use crate::shared::provider::CloudProvider;
use crate::shared::reference::LocalObjectReference;
use crate::shared::selector::AccessFrom;

kind! {
    /// A repository of images to scan.
    pub struct ImageRepository {
        pub spec: ImageRepositorySpec,
        #[schema(default = serde_json::json!({"observedGeneration": -1}))]
        pub status: Option<ImageRepositoryStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "ImageRepository",
        plural: "imagerepositories",
        short_names: &["imgrepo", "imagerepo"],
        categories: &["all", "fluxcd", "fluxcd-images"],
        columns: &[
            Column::text("Image", ".spec.image"),
            Column::text("Tags", ".status.lastScanResult.tagCount"),
            Column::READY,
            Column::MESSAGE,
            Column::wide("Last scan", ".status.lastScanResult.scanTime", 1),
            Column::AGE,
        ],
        status: true,
        substitute: false,
    }
}

object! {
    /// What to scan, and when.
    pub struct ImageRepositorySpec {
        /// Namespaces from which references are allowed.
        pub access_from: Option<AccessFrom>,
        /// Secret with a client certificate (`tls.crt`, `tls.key`) or an authority to trust (`ca.crt`).
        pub cert_secret_ref: Option<LocalObjectReference>,
        /// Regular expressions for tags to leave out.
        #[schema(max_items = 25, default = [r"^.*\.sig$"])]
        pub exclusion_list: Option<Vec<String>>,
        /// Name of the image, without a tag.
        pub image: String,
        /// Whether plain HTTP is allowed.
        pub insecure: Option<bool>,
        /// Interval of reconciliations.
        #[schema(pattern = DURATION)]
        pub interval: GoDuration,
        /// Provider of the credentials.
        #[schema(default = "generic")]
        pub provider: Option<CloudProvider>,
        /// Secret with the address of a proxy and the credentials for it.
        pub proxy_secret_ref: Option<LocalObjectReference>,
        /// Secret with the credentials, in the same namespace.
        pub secret_ref: Option<LocalObjectReference>,
        /// Service account to act as.
        #[schema(max_length = 253)]
        pub service_account_name: Option<String>,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
        /// How long a scan may take.
        #[schema(pattern = SHORT_DURATION)]
        pub timeout: Option<GoDuration>,
    }
}

object! {
    /// Observed state.
    pub struct ImageRepositoryStatus {
        /// The image's full name.
        pub canonical_image_name: Option<String>,
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// What the last scan found.
        pub last_scan_result: Option<ScanResult>,
        /// The exclusions of the last scan.
        pub observed_exclusion_list: Option<Vec<String>>,
        /// The generation that was last reconciled.
        pub observed_generation: Option<i64>,
    }
}

object! {
    /// What a scan found.
    pub struct ScanResult {
        /// A few of the newest tags.
        pub latest_tags: Option<Vec<String>>,
        /// Digest of the list of tags.
        pub revision: Option<String>,
        /// When the scan was.
        pub scan_time: Option<Time>,
        /// How many tags there are.
        pub tag_count: isize,
    }
}
