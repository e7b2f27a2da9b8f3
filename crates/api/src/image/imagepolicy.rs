//! ImagePolicy: selects the latest image.

use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, choice, object};
use crate::shared::condition::Condition;
use crate::shared::reference::NamespacedObjectReference;

kind! {
    /// Selects the latest image.
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
    /// How to select the latest image.
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
        /// Order of tags.
        pub policy: ImagePolicyChoice,
        /// Whether reconciliation is suspended.
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
    /// Order of tags; exactly one.
    pub struct ImagePolicyChoice {
        /// Alphabetical.
        pub alphabetical: Option<TagOrder>,
        /// Numerical.
        pub numerical: Option<TagOrder>,
        /// By semantic version.
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
        /// Direction.
        #[schema(default = "asc")]
        pub order: Option<SortOrder>,
    }
}

object! {
    /// The selected image.
    pub struct ImagePolicyStatus {
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// The latest image.
        pub latest_ref: Option<ImageRef>,
        /// The generation that was last reconciled.
        pub observed_generation: Option<i64>,
        /// The previous latest image.
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
    /// Direction of sorting; the last tag is selected.
    pub enum SortOrder {
        Asc = "asc",
        Desc = "desc",
    }
}
