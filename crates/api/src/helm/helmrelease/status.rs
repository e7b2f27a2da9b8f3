//! The status of a HelmRelease.

use std::collections::BTreeMap;

use sluice_base::duration::GoDuration;
use sluice_base::time::Time;

use crate::schema::{choice, object};
use crate::shared::condition::Condition;
use crate::shared::inventory::ResourceInventory;

object! {
    /// Observed state.
    pub struct HelmReleaseStatus {
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// Failures since the last success or change.
        pub failures: Option<i64>,
        /// Namespace and name of the HelmChart that was made.
        pub helm_chart: Option<String>,
        /// The last releases, newest first.
        pub history: Option<Vec<ReleaseSnapshot>>,
        /// Failed installations since the last success or change.
        pub install_failures: Option<i64>,
        /// The objects of the release.
        pub inventory: Option<ResourceInventory>,
        /// Digest of the values that were last tried.
        pub last_attempted_config_digest: Option<String>,
        /// The generation that was last tried.
        pub last_attempted_generation: Option<i64>,
        /// What was last tried.
        pub last_attempted_release_action: Option<ReleaseAction>,
        /// How long it took.
        pub last_attempted_release_action_duration: Option<GoDuration>,
        /// The chart's version that was last tried.
        pub last_attempted_revision: Option<String>,
        /// The chart's digest that was last tried, for OCI sources.
        pub last_attempted_revision_digest: Option<String>,
        /// Checksum of the values, as older versions kept it.
        pub last_attempted_values_checksum: Option<String>,
        /// Last handled value of the force request annotation.
        pub last_handled_force_at: Option<String>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// Last handled value of the reset request annotation.
        pub last_handled_reset_at: Option<String>,
        /// Helm's revision of the last release, as older versions kept it.
        pub last_release_revision: Option<isize>,
        /// Digest of the common metadata that was last used.
        pub observed_common_metadata_digest: Option<String>,
        /// The generation that was last reconciled.
        pub observed_generation: Option<i64>,
        /// Digest of the post-renderers that were last used.
        pub observed_post_renderers_digest: Option<String>,
        /// The namespace that Helm's records are in.
        #[schema(min_length = 1, max_length = 63)]
        pub storage_namespace: Option<String>,
        /// Failed upgrades since the last success or change.
        pub upgrade_failures: Option<i64>,
    }
}

object! {
    /// A release that Helm made.
    pub struct ReleaseSnapshot {
        /// What made it.
        pub action: Option<String>,
        /// Version of the form of this record.
        pub api_version: Option<String>,
        /// Version of the application, from the chart.
        pub app_version: Option<String>,
        /// Name of the chart.
        pub chart_name: String,
        /// Version of the chart.
        pub chart_version: String,
        /// Digest of the values.
        pub config_digest: String,
        /// When the release was deleted.
        pub deleted: Option<Time>,
        /// Digest of Helm's record.
        pub digest: String,
        /// When the release was first deployed.
        pub first_deployed: Time,
        /// When the release was last deployed.
        pub last_deployed: Time,
        /// Name of the release.
        pub name: String,
        /// Namespace of the release.
        pub namespace: String,
        /// Digest of the chart's OCI artifact.
        pub oci_digest: Option<String>,
        /// Status of the release.
        pub status: String,
        /// Status of its tests, by name.
        pub test_hooks: Option<BTreeMap<String, TestHookStatus>>,
        /// Helm's revision.
        pub version: isize,
    }
}

object! {
    /// Status of a test.
    pub struct TestHookStatus {
        /// When it last ended.
        pub last_completed: Option<Time>,
        /// When it last began.
        pub last_started: Option<Time>,
        /// How it ended.
        pub phase: Option<String>,
    }
}

choice! {
    /// An action on a release.
    pub enum ReleaseAction {
        Install = "install",
        Upgrade = "upgrade",
    }
}
