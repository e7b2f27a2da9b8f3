//! The parts of Kustomize that several kinds offer.

use std::collections::BTreeMap;

use crate::schema::object;

object! {
    /// A patch and what it applies to.
    pub struct Patch {
        /// The patch, strategic merge or JSON 6902, as YAML.
        pub patch: String,
        /// Which objects to patch; the one the patch names when absent.
        pub target: Option<Selector>,
    }
}

object! {
    /// A choice of objects; all given fields must match.
    pub struct Selector {
        /// Label selector over annotations.
        pub annotation_selector: Option<String>,
        /// Regular expression for the group.
        pub group: Option<String>,
        /// Regular expression for the kind.
        pub kind: Option<String>,
        /// Label selector over labels.
        pub label_selector: Option<String>,
        /// Regular expression for the name.
        pub name: Option<String>,
        /// Regular expression for the namespace.
        pub namespace: Option<String>,
        /// Regular expression for the version.
        pub version: Option<String>,
    }
}

object! {
    /// A replacement for an image.
    pub struct Image {
        /// The digest to use; the tag is then ignored.
        pub digest: Option<String>,
        /// The image to replace.
        pub name: String,
        /// The name to put in its place.
        pub new_name: Option<String>,
        /// The tag to use.
        pub new_tag: Option<String>,
    }
}

object! {
    /// Fields to leave out of drift detection and correction.
    pub struct IgnoreRule {
        /// JSON pointers to the fields.
        pub paths: Vec<String>,
        /// Which objects it holds for; all when absent.
        pub target: Option<Selector>,
    }
}

object! {
    /// Labels and annotations to add.
    pub struct CommonMetadata {
        /// Annotations.
        pub annotations: Option<BTreeMap<String, String>>,
        /// Labels.
        pub labels: Option<BTreeMap<String, String>>,
    }
}
