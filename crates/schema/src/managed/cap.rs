//! The bound on entries of updaters: beyond ten the oldest are put together, per version.

use std::collections::BTreeMap;

use crate::smd::VersionedSet;

use super::entries::{Managed, Operation, identity};

const MOST_UPDATERS: usize = 10;
const OLD_UPDATES: &str = "ancient-changes";

/// Puts the oldest updaters together until at most ten are left.
pub(crate) fn cap_updaters(managed: &mut Managed) {
    let mut updaters: Vec<String> = managed
        .fields
        .iter()
        .filter(|(_, owned)| !owned.applied)
        .map(|(manager, _)| manager.clone())
        .collect();
    if updaters.len() <= MOST_UPDATERS {
        return;
    }
    updaters.sort_by_key(|manager| {
        (managed.times.get(manager).map_or(0, |time| time.seconds), manager.clone())
    });
    let mut left = updaters.len();
    let mut first_of: BTreeMap<String, String> = BTreeMap::new();
    for manager in updaters {
        if left <= MOST_UPDATERS {
            break;
        }
        let Some(owned) = managed.fields.get(&manager).cloned() else { continue };
        let Some(first) = first_of.get(&owned.api_version) else {
            first_of.insert(owned.api_version, manager);
            continue;
        };
        let bucket = identity(OLD_UPDATES, Operation::Update, &owned.api_version, "");
        if !managed.fields.contains_key(&bucket)
            && let Some(set) = managed.fields.remove(first)
        {
            managed.fields.insert(bucket.clone(), set);
        }
        let before = managed.fields.get(&bucket).map(|owned| owned.set.clone()).unwrap_or_default();
        let merged = VersionedSet { set: owned.set.union(&before), ..owned };
        managed.fields.insert(bucket.clone(), merged);
        managed.fields.remove(&manager);
        left -= 1;
        // The update that came last into the bucket is the latest of them.
        match managed.times.get(&manager).cloned() {
            Some(time) => managed.times.insert(bucket, time),
            None => managed.times.remove(&bucket),
        };
    }
}
