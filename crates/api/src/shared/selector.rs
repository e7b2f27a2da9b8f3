//! Label selectors, and access by namespace.

use std::collections::BTreeMap;

use crate::schema::object;

object! {
    /// A choice by labels.
    #[schema(map_type = "atomic")]
    pub struct LabelSelector {
        /// Requirements, all of which must hold.
        #[schema(list_type = "atomic")]
        pub match_expressions: Option<Vec<LabelSelectorRequirement>>,
        /// Labels and the values they must have.
        pub match_labels: Option<BTreeMap<String, String>>,
    }
}

object! {
    /// A requirement for one label.
    pub struct LabelSelectorRequirement {
        /// The label.
        pub key: String,
        /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
        pub operator: String,
        /// The values for `In` and `NotIn`.
        #[schema(list_type = "atomic")]
        pub values: Option<Vec<String>>,
    }
}

object! {
    /// Namespaces from which an object may be referred to.
    pub struct AccessFrom {
        /// Labels of the namespaces; one of them must match.
        pub namespace_selectors: Vec<NamespaceSelector>,
    }
}

object! {
    /// Namespaces by label.
    pub struct NamespaceSelector {
        /// Labels and the values they must have.
        pub match_labels: Option<BTreeMap<String, String>>,
    }
}
