//! ImageUpdateAutomation: commits image updates to a Git repository.

use std::collections::BTreeMap;

use sluice_base::duration::GoDuration;
use sluice_base::time::Time;

use crate::crd::{Column, Definition, kind};
use crate::image::imagepolicy::ImageRef;
use crate::schema::{DURATION, choice, object};
use crate::shared::condition::Condition;
use crate::shared::reference::LocalObjectReference;
use crate::shared::selector::LabelSelector;
use crate::source::gitrepository::GitReference;

kind! {
    /// Commits image updates to a Git repository.
    pub struct ImageUpdateAutomation {
        pub spec: ImageUpdateAutomationSpec,
        #[schema(default = serde_json::json!({"observedGeneration": -1}))]
        pub status: Option<ImageUpdateAutomationStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "ImageUpdateAutomation",
        plural: "imageupdateautomations",
        short_names: &["iua", "imgupd", "imgauto"],
        categories: &["all", "fluxcd", "fluxcd-images"],
        columns: &[
            Column::READY,
            Column::MESSAGE,
            Column::wide("Last run", ".status.lastAutomationRunTime", 1),
            Column::AGE,
        ],
        status: true,
        substitute: false,
    }
}

object! {
    /// Repository, policies and interval.
    pub struct ImageUpdateAutomationSpec {
        /// How to check out, to commit and to push.
        pub git: Option<GitSpec>,
        /// Interval of reconciliations.
        #[schema(pattern = DURATION)]
        pub interval: GoDuration,
        /// The policies to consider; all of the namespace when absent.
        pub policy_selector: Option<LabelSelector>,
        /// The repository to update.
        pub source_ref: AutomationSourceReference,
        /// Whether reconciliation is suspended.
        pub suspend: Option<bool>,
        /// How to change the files.
        #[schema(default = serde_json::json!({"strategy": "Setters"}))]
        pub update: Option<UpdateStrategy>,
    }
}

object! {
    /// The repository to update.
    pub struct AutomationSourceReference {
        /// Group and version of the object.
        pub api_version: Option<String>,
        /// Kind of the object.
        #[schema(default = "GitRepository")]
        pub kind: AutomationSourceKind,
        /// Name of the object.
        pub name: String,
        /// Namespace of the object; the referrer's own when absent.
        pub namespace: Option<String>,
    }
}

object! {
    /// How to check out, to commit and to push.
    pub struct GitSpec {
        /// What to check out; the source's reference when absent.
        pub checkout: Option<GitCheckoutSpec>,
        /// How to commit.
        pub commit: CommitSpec,
        /// Where to push; what was checked out when absent.
        pub push: Option<PushSpec>,
    }
}

object! {
    /// What to check out.
    pub struct GitCheckoutSpec {
        /// The reference.
        pub r#ref: GitReference,
    }
}

object! {
    /// How to commit.
    pub struct CommitSpec {
        /// Author of the commits.
        pub author: CommitUser,
        /// Template of the commit message.
        pub message_template: Option<String>,
        /// Values for the template.
        pub message_template_values: Option<BTreeMap<String, String>>,
        /// Key to sign with.
        pub signing_key: Option<SigningKey>,
    }
}

object! {
    /// Author of the commits.
    pub struct CommitUser {
        /// Mail address.
        pub email: String,
        /// Name.
        pub name: Option<String>,
    }
}

object! {
    /// A key to sign commits with.
    pub struct SigningKey {
        /// Secret with the key.
        pub secret_ref: LocalObjectReference,
        /// What kind of key it is.
        pub r#type: Option<SigningKeyType>,
    }
}

object! {
    /// Where to push.
    pub struct PushSpec {
        /// The branch.
        pub branch: Option<String>,
        /// Options for the server.
        pub options: Option<BTreeMap<String, String>>,
        /// A refspec to push as well, or instead.
        #[schema(pattern = "^$|^[^+:]")]
        pub refspec: Option<String>,
    }
}

object! {
    /// How files are changed.
    pub struct UpdateStrategy {
        /// Directory to change; the root when absent.
        pub path: Option<String>,
        /// Strategy of finding fields to update.
        #[schema(default = "Setters")]
        pub strategy: Option<UpdateStrategyName>,
    }
}

object! {
    /// Pushed commits.
    pub struct ImageUpdateAutomationStatus {
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// When it last ran.
        pub last_automation_run_time: Option<Time>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// The commit that was last pushed.
        pub last_push_commit: Option<String>,
        /// When it was pushed.
        pub last_push_time: Option<Time>,
        /// The generation that was last reconciled.
        pub observed_generation: Option<i64>,
        /// The images that policies had chosen, by policy.
        pub observed_policies: Option<BTreeMap<String, ImageRef>>,
        /// The revision of the source that was last seen.
        pub observed_source_revision: Option<String>,
    }
}

choice! {
    /// What kind of key signs commits.
    pub enum SigningKeyType {
        Gpg = "gpg",
        Ssh = "ssh",
    }
}

choice! {
    /// Kinds that can be updated.
    pub enum AutomationSourceKind {
        GitRepository = "GitRepository",
    }
}

choice! {
    /// Strategy of finding fields to update.
    pub enum UpdateStrategyName {
        Setters = "Setters",
    }
}
