//! Inventory and history of reconciliations.

use std::collections::BTreeMap;

use sluice_base::duration::GoDuration;
use sluice_base::time::Time;

use crate::schema::object;

object! {
    /// The objects that were applied.
    pub struct ResourceInventory {
        /// The objects.
        pub entries: Vec<ResourceRef>,
    }
}

object! {
    /// An object that was applied.
    pub struct ResourceRef {
        /// Namespace, name, group and kind, joined by underscores.
        pub id: String,
        /// API version without the group.
        pub v: String,
    }
}

object! {
    /// A run of reconciliations with the same outcome.
    pub struct Snapshot {
        /// Digest of what was reconciled.
        pub digest: String,
        /// When it was first reconciled.
        pub first_reconciled: Time,
        /// When it was last reconciled.
        pub last_reconciled: Time,
        /// How long the last reconciliation took.
        pub last_reconciled_duration: GoDuration,
        /// How the last reconciliation ended.
        pub last_reconciled_status: String,
        /// More about it, such as revisions.
        pub metadata: Option<BTreeMap<String, String>>,
        /// How often it was reconciled.
        pub total_reconciliations: i64,
    }
}
