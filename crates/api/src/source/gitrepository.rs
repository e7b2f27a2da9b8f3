//! GitRepository: a Git repository to fetch from.

use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, SHORT_DURATION, choice, object};
use crate::shared::artifact::Artifact;
use crate::shared::condition::Condition;
use crate::shared::reference::LocalObjectReference;

kind! {
    /// A Git repository to fetch from.
    pub struct GitRepository {
        pub spec: GitRepositorySpec,
        #[schema(default = serde_json::json!({"observedGeneration": -1}))]
        pub status: Option<GitRepositoryStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "GitRepository",
        plural: "gitrepositories",
        short_names: &["gitrepo"],
        categories: &["all", "fluxcd", "fluxcd-sources"],
        columns: &[
            Column::text("URL", ".spec.url"),
            Column::AGE,
            Column::READY,
            Column::MESSAGE,
        ],
        status: true,
        substitute: false,
    }
}

object! {
    /// What to fetch, and when.
    #[schema(
        rules = [
            (
                "!has(self.serviceAccountName) || (has(self.provider) && (self.provider == 'azure' || self.provider == 'aws'))",
                "serviceAccountName can only be set when provider is 'azure' or 'aws'",
            ),
        ],
    )]
    pub struct GitRepositorySpec {
        /// Patterns in the form of `.gitignore` of what to leave out of the artifact.
        pub ignore: Option<String>,
        /// Repositories with artifacts to include in this one.
        pub include: Option<Vec<GitInclude>>,
        /// Interval of reconciliations.
        #[schema(pattern = DURATION)]
        pub interval: GoDuration,
        /// Provider of the credentials.
        pub provider: Option<GitProvider>,
        /// Secret with the address of a proxy and the credentials for it.
        pub proxy_secret_ref: Option<LocalObjectReference>,
        /// Whether to fetch submodules too.
        pub recurse_submodules: Option<bool>,
        /// Which commit to fetch; the tip of `master` when absent.
        pub r#ref: Option<GitReference>,
        /// Secret with the credentials, in the same namespace.
        pub secret_ref: Option<LocalObjectReference>,
        /// Service account to act as.
        pub service_account_name: Option<String>,
        /// The only directories to fetch.
        pub sparse_checkout: Option<Vec<String>>,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
        /// How long a fetch may take.
        #[schema(pattern = SHORT_DURATION, default = "60s")]
        pub timeout: Option<GoDuration>,
        /// Address of the repository.
        #[schema(pattern = "^(http|https|ssh)://.*$")]
        pub url: String,
        /// How to verify the signature before use.
        pub verify: Option<GitVerification>,
    }
}

object! {
    /// Which commit of a repository to use.
    pub struct GitReference {
        /// Branch to follow.
        pub branch: Option<String>,
        /// Commit to use, of the branch when one is given.
        pub commit: Option<String>,
        /// Full name of a reference, such as `refs/pull/420/head`.
        pub name: Option<String>,
        /// Range of versions; the newest tag in it is used.
        pub semver: Option<String>,
        /// Tag to use.
        pub tag: Option<String>,
    }
}

object! {
    /// Another repository to include.
    pub struct GitInclude {
        /// Directory in the other repository; its root when absent.
        pub from_path: Option<String>,
        /// The other GitRepository.
        pub repository: LocalObjectReference,
        /// Directory in this repository; the other's name when absent.
        pub to_path: Option<String>,
    }
}

object! {
    /// How commits or tags are verified.
    pub struct GitVerification {
        /// What must be signed.
        #[schema(default = "HEAD")]
        pub mode: Option<GitVerificationMode>,
        /// Secret with the public keys of the authors to trust.
        pub secret_ref: LocalObjectReference,
    }
}

object! {
    /// Observed state.
    pub struct GitRepositoryStatus {
        /// The artifact made by the last successful reconciliation.
        pub artifact: Option<Artifact>,
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// The included artifacts.
        pub included_artifacts: Option<Vec<Artifact>>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// The generation that was last reconciled.
        pub observed_generation: Option<i64>,
        /// The patterns that the present artifact was made with.
        pub observed_ignore: Option<String>,
        /// The inclusions that the present artifact was made with.
        pub observed_include: Option<Vec<GitInclude>>,
        /// Whether the present artifact was made with submodules.
        pub observed_recurse_submodules: Option<bool>,
        /// The directories that the present artifact was made from.
        pub observed_sparse_checkout: Option<Vec<String>>,
        /// The mode in which the present artifact was verified.
        pub source_verification_mode: Option<String>,
    }
}

choice! {
    /// Provider of the credentials of a Git repository.
    pub enum GitProvider {
        Generic = "generic",
        Aws = "aws",
        Azure = "azure",
        Github = "github",
    }
}

choice! {
    /// What must be signed.
    pub enum GitVerificationMode {
        LowercaseHead = "head",
        Head = "HEAD",
        Tag = "Tag",
        TagAndHead = "TagAndHEAD",
    }
}
