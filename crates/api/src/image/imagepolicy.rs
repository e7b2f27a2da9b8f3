//! ImagePolicy: a rule for which image is the newest.

use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, choice, object};
use crate::shared::condition::Condition;
use crate::shared::reference::NamespacedObjectReference;

kind! {
    /// A rule for which image is the newest.
    pub struct ImagePolicy {
        pub spec: ImagePolicySpec,
        #[schema(default = serde_json::json!({"observedGeneration": -1}))]
        pub status: Option<ImagePolicyStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "ImagePolicy",
        plural: "imagepolicies",
        short_names: &["imgpol", "imagepol"],
        categories: &["all", "fluxcd", "fluxcd-images"],
        columns: &[
            Column::text("Image", ".status.latestRef.name"),
            Column::text("Tag", ".status.latestRef.tag"),
            Column::READY,
            Column::MESSAGE,
            Column::AGE,
        ],
        status: true,
        substitute: false,
    }
}

object! {
    /// Which image is the newest.
    #[schema(
        rules = [
            (
                "!has(self.interval) || (has(self.digestReflectionPolicy) && self.digestReflectionPolicy == 'Always')",
                "spec.interval is only accepted when spec.digestReflectionPolicy is set to 'Always'",
            ),
            (
                "has(self.interval) || !has(self.digestReflectionPolicy) || self.digestReflectionPolicy != 'Always'",
                "spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'",
            ),
        ],
    )]
    pub struct ImagePolicySpec {
        /// When to look up the digest.
        #[schema(default = "Never")]
        pub digest_reflection_policy: Option<DigestReflectionPolicy>,
        /// Which tags to consider.
        pub filter_tags: Option<TagFilter>,
        /// The ImageRepository to choose from.
        pub image_repository_ref: NamespacedObjectReference,
        /// How often to look up the digest.
        #[schema(pattern = DURATION)]
        pub interval: Option<GoDuration>,
        /// How tags are ordered.
        pub policy: ImagePolicyChoice,
        /// Whether to leave the object alone.
        pub suspend: Option<bool>,
    }
}

object! {
    /// Which tags to consider, and what of them to compare.
    pub struct TagFilter {
        /// What of a match to compare, in terms of its groups.
        pub extract: Option<String>,
        /// Regular expression that tags must match.
        pub pattern: Option<String>,
    }
}

object! {
    /// How tags are ordered; one of them.
    pub struct ImagePolicyChoice {
        /// By letter.
        pub alphabetical: Option<TagOrder>,
        /// By number.
        pub numerical: Option<TagOrder>,
        /// By version.
        pub semver: Option<SemverPolicy>,
    }
}

object! {
    /// Tags as versions.
    pub struct SemverPolicy {
        /// Range of versions.
        pub range: String,
    }
}

object! {
    /// Tags in an order.
    pub struct TagOrder {
        /// Which way.
        #[schema(default = "asc")]
        pub order: Option<SortOrder>,
    }
}

object! {
    /// What has been chosen.
    pub struct ImagePolicyStatus {
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// The value of the reconcile request annotation that was last acted upon.
        pub last_handled_reconcile_at: Option<String>,
        /// The newest image.
        pub latest_ref: Option<ImageRef>,
        /// The generation that was last reconciled.
        pub observed_generation: Option<i64>,
        /// The newest image before that.
        pub observed_previous_ref: Option<ImageRef>,
    }
}

object! {
    /// An image.
    pub struct ImageRef {
        /// Its digest.
        pub digest: Option<String>,
        /// The image's name.
        pub name: String,
        /// Its tag.
        pub tag: String,
    }
}

choice! {
    /// When the digest of an image is looked up.
    pub enum DigestReflectionPolicy {
        Always = "Always",
        IfNotPresent = "IfNotPresent",
        Never = "Never",
    }
}

choice! {
    /// Which way to sort; the last one wins.
    pub enum SortOrder {
        Asc = "asc",
        Desc = "desc",
    }
}
