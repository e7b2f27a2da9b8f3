//! ResourceSetInputProvider: a source of inputs for ResourceSets.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_base::duration::GoDuration;
use sluice_base::time::Time;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, choice, object};
use crate::shared::condition::Condition;
use crate::shared::reference::LocalObjectReference;
use crate::shared::selector::LabelSelectorRequirement;

kind! {
    /// A source of inputs for ResourceSets.
    pub struct ResourceSetInputProvider {
        pub spec: ResourceSetInputProviderSpec,
        pub status: Option<ResourceSetInputProviderStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "ResourceSetInputProvider",
        plural: "resourcesetinputproviders",
        short_names: &["rsip"],
        categories: &["all", "fluxcd", "fluxcd-sources"],
        columns: &[
            Column::AGE,
            Column::READY,
            Column::MESSAGE,
        ],
        status: true,
        substitute: true,
    }
}

object! {
    /// Where inputs come from, and when to look.
    #[schema(
        rules = [
            (
                "self.type != 'Static' || !has(self.url)",
                "spec.url must be empty when spec.type is 'Static'",
            ),
            (
                "self.type != 'ExternalArtifact' || !has(self.url)",
                "spec.url must be empty when spec.type is 'ExternalArtifact'",
            ),
            (
                "self.type == 'Static' || self.type == 'ExternalArtifact' || has(self.url)",
                "spec.url must not be empty when spec.type is not 'Static' or 'ExternalArtifact'",
            ),
            (
                "!self.type.startsWith('Git') || self.url.startsWith('http')",
                "spec.url must start with 'http://' or 'https://' when spec.type is a Git provider",
            ),
            (
                "!self.type.startsWith('AzureDevOps') || self.url.startsWith('http://') || self.url.startsWith('https://')",
                "spec.url must start with 'http://' or 'https://' when spec.type is an AzureDevOps provider",
            ),
            (
                "!self.type.startsWith('AWSCodeCommit') || self.url.startsWith('https://')",
                "spec.url must start with 'https://' when spec.type is a AWSCodeCommit provider",
            ),
            (
                "!self.type.endsWith('ArtifactTag') || self.url.startsWith('oci')",
                "spec.url must start with 'oci://' when spec.type is an OCI provider",
            ),
            (
                "!self.type.endsWith('ArtifactTag') || !self.url.startsWith('oci://') || self.url.substring(6).contains('/')",
                "spec.url must include the repository path after the registry host when spec.type is an OCI provider",
            ),
            (
                "self.type != 'ExternalService' || self.url.startsWith('http')",
                "spec.url must start with 'http://' or 'https://' when spec.type is 'ExternalService'",
            ),
            (
                "!has(self.insecure) || !self.insecure || self.type == 'ExternalService' || self.type == 'OCIArtifactTag'",
                "spec.insecure can only be set when spec.type is 'ExternalService' or 'OCIArtifactTag'",
            ),
            (
                "self.type != 'ExternalService' || !self.url.startsWith('http://') || (has(self.insecure) && self.insecure)",
                "spec.url must use 'https://' unless spec.insecure is true",
            ),
            (
                "!has(self.serviceAccountName) || self.type.startsWith('AzureDevOps') || self.type.startsWith('AWSCodeCommit') || self.type.endsWith('ArtifactTag') || self.type == 'ExternalArtifact'",
                "cannot specify spec.serviceAccountName when spec.type is not one of AzureDevOps*, AWSCodeCommit*, *ArtifactTag or ExternalArtifact",
            ),
            (
                "!has(self.certSecretRef) || !(self.type == 'Static' || self.type == 'ExternalArtifact' || self.type.startsWith('AzureDevOps') || self.type.startsWith('AWSCodeCommit') || (self.type.endsWith('ArtifactTag') && self.type != 'OCIArtifactTag'))",
                "cannot specify spec.certSecretRef when spec.type is one of Static, ExternalArtifact, AzureDevOps*, AWSCodeCommit*, ACRArtifactTag, ECRArtifactTag or GARArtifactTag",
            ),
            (
                "!has(self.secretRef) || !(self.type == 'Static' || self.type == 'ExternalArtifact' || self.type.startsWith('AWSCodeCommit') || (self.type.endsWith('ArtifactTag') && self.type != 'OCIArtifactTag'))",
                "cannot specify spec.secretRef when spec.type is one of Static, ExternalArtifact, AWSCodeCommit*, ACRArtifactTag, ECRArtifactTag or GARArtifactTag",
            ),
            (
                "self.type != 'ExternalArtifact' || (has(self.selectors) && size(self.selectors) > 0)",
                "spec.selectors must be set when spec.type is 'ExternalArtifact'",
            ),
            (
                "self.type == 'ExternalArtifact' || !has(self.selectors)",
                "spec.selectors must not be set when spec.type is not 'ExternalArtifact'",
            ),
        ],
    )]
    pub struct ResourceSetInputProviderSpec {
        /// Secret with a client certificate (`tls.crt`, `tls.key`) or an authority to trust (`ca.crt`).
        pub cert_secret_ref: Option<LocalObjectReference>,
        /// Values that every set of inputs gets unless it has its own.
        pub default_values: Option<BTreeMap<String, Value>>,
        /// Which results to export.
        pub filter: Option<InputFilter>,
        /// Whether plain HTTP is allowed.
        pub insecure: Option<bool>,
        /// When to look; always when absent.
        pub schedule: Option<Vec<Schedule>>,
        /// Secret with the credentials, in the same namespace.
        pub secret_ref: Option<LocalObjectReference>,
        /// Which ExternalArtifacts of the cluster to export.
        pub selectors: Option<Vec<ExternalArtifactSelector>>,
        /// Service account to act as.
        pub service_account_name: Option<String>,
        /// Which results to leave as they were.
        pub skip: Option<InputSkip>,
        /// What kind of source it is.
        pub r#type: InputProviderType,
        /// Address of the source.
        #[schema(pattern = "^((http|https|oci)://.*){0,1}$")]
        pub url: Option<String>,
    }
}

object! {
    /// Which results to export.
    pub struct InputFilter {
        /// Regular expression for branches to leave out.
        pub exclude_branch: Option<String>,
        /// Regular expression for environments to leave out.
        pub exclude_environment: Option<String>,
        /// Regular expression for tags to leave out.
        pub exclude_tag: Option<String>,
        /// Regular expression for branches to take.
        pub include_branch: Option<String>,
        /// Regular expression for environments to take.
        pub include_environment: Option<String>,
        /// Regular expression for tags to take.
        pub include_tag: Option<String>,
        /// Labels that results must have.
        pub labels: Option<Vec<String>>,
        /// How many to export at most.
        #[schema(maximum = 10000, default = 100)]
        pub limit: Option<isize>,
        /// Range of versions that tags must be in.
        pub semver: Option<String>,
    }
}

object! {
    /// Which results to leave as they were.
    pub struct InputSkip {
        /// Labels; with `!` in front, those that must be there.
        pub labels: Option<Vec<String>>,
    }
}

object! {
    /// Schedule.
    pub struct Schedule {
        /// When, as a cron expression.
        pub cron: String,
        /// Time zone of the cron expression.
        #[schema(default = "UTC")]
        pub time_zone: Option<String>,
        /// How long the window is open; without limit when zero.
        #[schema(pattern = DURATION, default = "0s")]
        pub window: Option<GoDuration>,
    }
}

object! {
    /// A choice of ExternalArtifacts, by name or by labels.
    #[schema(
        map_type = "atomic",
        rules = [
            (
                "!has(self.name) || (!has(self.matchLabels) && !has(self.matchExpressions))",
                "name is mutually exclusive with matchLabels and matchExpressions",
            ),
        ],
    )]
    pub struct ExternalArtifactSelector {
        /// Requirements for labels, all of which must hold.
        #[schema(list_type = "atomic")]
        pub match_expressions: Option<Vec<LabelSelectorRequirement>>,
        /// Labels and the values they must have.
        pub match_labels: Option<BTreeMap<String, String>>,
        /// Name of the object.
        pub name: Option<String>,
        /// Namespace of the object; the referrer's own when absent.
        pub namespace: Option<String>,
    }
}

object! {
    /// Observed state.
    pub struct ResourceSetInputProviderStatus {
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// The sets of inputs.
        pub exported_inputs: Option<Vec<BTreeMap<String, Value>>>,
        /// Digest of the sets of inputs.
        pub last_exported_revision: Option<String>,
        /// Last handled value of the force request annotation.
        pub last_handled_force_at: Option<String>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// Next scheduled run.
        pub next_schedule: Option<NextSchedule>,
    }
}

object! {
    /// Next scheduled run.
    pub struct NextSchedule {
        /// When, as a cron expression.
        pub cron: String,
        /// Time zone of the cron expression.
        #[schema(default = "UTC")]
        pub time_zone: Option<String>,
        /// The moment.
        pub when: Time,
        /// How long the window is open; without limit when zero.
        #[schema(pattern = DURATION, default = "0s")]
        pub window: Option<GoDuration>,
    }
}

choice! {
    /// What kind of source inputs come from.
    pub enum InputProviderType {
        Static = "Static",
        GitHubBranch = "GitHubBranch",
        GitHubTag = "GitHubTag",
        GitHubPullRequest = "GitHubPullRequest",
        GitLabBranch = "GitLabBranch",
        GitLabTag = "GitLabTag",
        GitLabMergeRequest = "GitLabMergeRequest",
        GitLabEnvironment = "GitLabEnvironment",
        AzureDevOpsBranch = "AzureDevOpsBranch",
        AzureDevOpsTag = "AzureDevOpsTag",
        AzureDevOpsPullRequest = "AzureDevOpsPullRequest",
        AwsCodeCommitBranch = "AWSCodeCommitBranch",
        AwsCodeCommitTag = "AWSCodeCommitTag",
        AwsCodeCommitPullRequest = "AWSCodeCommitPullRequest",
        GiteaBranch = "GiteaBranch",
        GiteaTag = "GiteaTag",
        GiteaPullRequest = "GiteaPullRequest",
        OciArtifactTag = "OCIArtifactTag",
        AcrArtifactTag = "ACRArtifactTag",
        EcrArtifactTag = "ECRArtifactTag",
        GarArtifactTag = "GARArtifactTag",
        ExternalService = "ExternalService",
        ExternalArtifact = "ExternalArtifact",
    }
}
