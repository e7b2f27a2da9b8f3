//! The fields of a HelmRelease for each of Helm's actions.

use sluice_base::duration::GoDuration;

use crate::schema::{DURATION, choice, object};

object! {
    /// How to install.
    pub struct Install {
        /// What to do with the chart's CRDs.
        pub crds: Option<CrdsPolicy>,
        /// Whether to make the target namespace.
        pub create_namespace: Option<bool>,
        /// Whether to leave out the hooks.
        pub disable_hooks: Option<bool>,
        /// Whether not to validate manifests against the cluster's OpenAPI.
        #[wire("disableOpenAPIValidation")]
        pub disable_open_api_validation: Option<bool>,
        /// Whether not to validate values against the chart's schema.
        pub disable_schema_validation: Option<bool>,
        /// Whether to fail over objects that belong to something else.
        pub disable_take_ownership: Option<bool>,
        /// Whether not to wait until the objects are ready.
        pub disable_wait: Option<bool>,
        /// Whether not to wait until the jobs are complete.
        pub disable_wait_for_jobs: Option<bool>,
        /// What to do when the action fails.
        pub remediation: Option<InstallRemediation>,
        /// Whether a deleted release's name may be used again.
        pub replace: Option<bool>,
        /// Whether to use server-side apply.
        pub server_side_apply: Option<bool>,
        /// Whether to leave out CRDs; older than the policy.
        #[wire("skipCRDs")]
        pub skip_cr_ds: Option<bool>,
        /// What to do when an installation fails.
        pub strategy: Option<InstallStrategy>,
        /// How long an operation may take.
        #[schema(pattern = DURATION)]
        pub timeout: Option<GoDuration>,
    }
}

object! {
    /// What to do when an installation fails.
    pub struct InstallRemediation {
        /// Whether a failed test counts as success.
        pub ignore_test_failures: Option<bool>,
        /// Whether to act on the failure of the last retry as well.
        pub remediate_last_failure: Option<bool>,
        /// How often to try again; without end when negative.
        pub retries: Option<isize>,
    }
}

object! {
    /// What to do when an installation fails.
    #[schema(
        rules = [
            (
                "!has(self.retryInterval) || self.name != 'RemediateOnFailure'",
                ".retryInterval cannot be set when .name is 'RemediateOnFailure'",
            ),
        ],
    )]
    pub struct InstallStrategy {
        /// The strategy.
        pub name: ActionStrategyName,
        /// How long to wait after a failure; the interval when absent.
        #[schema(pattern = DURATION)]
        pub retry_interval: Option<GoDuration>,
    }
}

object! {
    /// How to upgrade.
    pub struct Upgrade {
        /// What to do when the chart's name changes.
        pub chart_name_change_strategy: Option<ChartNameChangeStrategy>,
        /// Whether to delete what this action created when it fails.
        pub cleanup_on_fail: Option<bool>,
        /// What to do with the chart's CRDs.
        pub crds: Option<CrdsPolicy>,
        /// Whether to leave out the hooks.
        pub disable_hooks: Option<bool>,
        /// Whether not to validate manifests against the cluster's OpenAPI.
        #[wire("disableOpenAPIValidation")]
        pub disable_open_api_validation: Option<bool>,
        /// Whether not to validate values against the chart's schema.
        pub disable_schema_validation: Option<bool>,
        /// Whether to fail over objects that belong to something else.
        pub disable_take_ownership: Option<bool>,
        /// Whether not to wait until the objects are ready.
        pub disable_wait: Option<bool>,
        /// Whether not to wait until the jobs are complete.
        pub disable_wait_for_jobs: Option<bool>,
        /// Whether to recreate objects when immutable fields change.
        pub force: Option<bool>,
        /// Whether to keep the values of the last release.
        pub preserve_values: Option<bool>,
        /// What to do when the action fails.
        pub remediation: Option<UpgradeRemediation>,
        /// Whether to use server-side apply.
        pub server_side_apply: Option<ServerSideApplyMode>,
        /// What to do when an upgrade fails.
        pub strategy: Option<UpgradeStrategy>,
        /// How long an operation may take.
        #[schema(pattern = DURATION)]
        pub timeout: Option<GoDuration>,
    }
}

object! {
    /// What to do when an upgrade fails.
    pub struct UpgradeRemediation {
        /// Whether a failed test counts as success.
        pub ignore_test_failures: Option<bool>,
        /// Whether to act on the failure of the last retry as well.
        pub remediate_last_failure: Option<bool>,
        /// How often to try again; without end when negative.
        pub retries: Option<isize>,
        /// Whether to roll back or to uninstall.
        pub strategy: Option<RemediationStrategy>,
    }
}

object! {
    /// What to do when an upgrade fails.
    #[schema(
        rules = [
            (
                "!has(self.retryInterval) || self.name == 'RetryOnFailure'",
                ".retryInterval can only be set when .name is 'RetryOnFailure'",
            ),
        ],
    )]
    pub struct UpgradeStrategy {
        /// The strategy.
        pub name: ActionStrategyName,
        /// How long to wait after a failure; the interval when absent.
        #[schema(pattern = DURATION)]
        pub retry_interval: Option<GoDuration>,
    }
}

object! {
    /// How to roll back.
    pub struct Rollback {
        /// Whether to delete what this action created when it fails.
        pub cleanup_on_fail: Option<bool>,
        /// Whether to leave out the hooks.
        pub disable_hooks: Option<bool>,
        /// Whether not to wait until the objects are ready.
        pub disable_wait: Option<bool>,
        /// Whether not to wait until the jobs are complete.
        pub disable_wait_for_jobs: Option<bool>,
        /// Whether to recreate objects when immutable fields change.
        pub force: Option<bool>,
        /// Whether to restart pods; without effect since Helm lost it.
        pub recreate: Option<bool>,
        /// Whether to use server-side apply.
        pub server_side_apply: Option<ServerSideApplyMode>,
        /// How long an operation may take.
        #[schema(pattern = DURATION)]
        pub timeout: Option<GoDuration>,
    }
}

object! {
    /// How to test.
    pub struct Test {
        /// Whether to run the tests.
        pub enable: Option<bool>,
        /// Which tests to run.
        pub filters: Option<Vec<TestFilter>>,
        /// Whether a failed test counts as success.
        pub ignore_failures: Option<bool>,
        /// How long an operation may take.
        #[schema(pattern = DURATION)]
        pub timeout: Option<GoDuration>,
    }
}

object! {
    /// A choice of tests.
    pub struct TestFilter {
        /// Whether the named test is the one to leave out.
        pub exclude: Option<bool>,
        /// Name of the test.
        #[schema(min_length = 1, max_length = 253)]
        pub name: String,
    }
}

object! {
    /// How to uninstall.
    pub struct Uninstall {
        /// Propagation policy.
        #[schema(default = "background")]
        pub deletion_propagation: Option<DeletionPropagation>,
        /// Whether to leave out the hooks.
        pub disable_hooks: Option<bool>,
        /// Whether not to wait until the objects are ready.
        pub disable_wait: Option<bool>,
        /// Whether Helm's records stay.
        pub keep_history: Option<bool>,
        /// How long an operation may take.
        #[schema(pattern = DURATION)]
        pub timeout: Option<GoDuration>,
    }
}

choice! {
    /// What to do with a chart's CRDs.
    pub enum CrdsPolicy {
        Skip = "Skip",
        Create = "Create",
        CreateReplace = "CreateReplace",
    }
}

choice! {
    /// What to do when an action fails.
    pub enum ActionStrategyName {
        RemediateOnFailure = "RemediateOnFailure",
        RetryOnFailure = "RetryOnFailure",
    }
}

choice! {
    /// Whether to use server-side apply.
    pub enum ServerSideApplyMode {
        Enabled = "enabled",
        Disabled = "disabled",
        Auto = "auto",
    }
}

choice! {
    /// What becomes of the dependents of a deleted object.
    pub enum DeletionPropagation {
        Background = "background",
        Foreground = "foreground",
        Orphan = "orphan",
    }
}

choice! {
    /// What to do when a chart's name changes.
    pub enum ChartNameChangeStrategy {
        InPlaceUpdate = "InPlaceUpdate",
        Reinstall = "Reinstall",
    }
}

choice! {
    /// How to get rid of a failed upgrade.
    pub enum RemediationStrategy {
        Rollback = "rollback",
        Uninstall = "uninstall",
    }
}
