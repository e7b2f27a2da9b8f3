//! What a pass decides about its inventory: what to remember before and after each step, and what pruning may delete.
//!
//! Pure functions over inventories. The rule behind all of them: whatever may be in the cluster because of this
//! Kustomization is in its inventory, so that a crash at any point orphans nothing.

use sluice_api::kustomize::kustomization::Kustomization;
use sluice_ssa::{ChangeSet, Inventory, ObjectKey};

use super::guard;
use crate::context::Settings;
use crate::safety::SafetyRule;

/// What has to be in the status before anything is applied, if it is more than what is there.
pub(super) fn before_apply(
    settings: &Settings,
    old: &Inventory,
    wanted: &Inventory,
) -> Option<Inventory> {
    let union = old.union(wanted);
    let grows = union.len() > old.len();
    (grows && settings.keeps(SafetyRule::RememberBeforeApplying)).then_some(union)
}

/// What stays after an apply that failed: the old objects, those that were applied, and those that may have been. What
/// was certainly not written is left out.
pub(super) fn after_failed_apply(
    settings: &Settings,
    old: &Inventory,
    applied: &ChangeSet,
    in_doubt: &Inventory,
) -> Option<Inventory> {
    let applied = Inventory::of_changes(applied);
    if !settings.keeps(SafetyRule::FailedApplyIsRemembered) {
        return Some(applied);
    }
    let left = old.union(&applied).union(in_doubt);
    (!left.is_empty()).then_some(left)
}

/// What pruning does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Prune {
    /// Nothing is stale.
    Nothing,
    /// Deleting is refused, with this message; everything stays in the inventory.
    Refuse(String),
    /// These are no longer wanted. What others want among them is spared.
    Delete(Vec<ObjectKey>),
}

/// The objects that were applied before and are no longer wanted.
pub(super) fn stale(object: &Kustomization, old: &Inventory, new: &Inventory) -> Vec<ObjectKey> {
    if object.spec.prune { old.minus(new) } else { Vec::new() }
}

/// Whether the stale objects may be deleted, `claimed` of which stay for others anyway.
pub(super) fn prune(
    settings: &Settings,
    object: &Kustomization,
    (old, new): (&Inventory, &Inventory),
    claimed: usize,
) -> Prune {
    let stale = stale(object, old, new);
    if stale.is_empty() {
        return Prune::Nothing;
    }
    let going = stale.len().saturating_sub(claimed);
    let is_guarded = going > 0 && settings.keeps(SafetyRule::EmptyBuildPrunesNothing);
    match guard::refusal(object, old, new, going).filter(|_| is_guarded) {
        Some(refusal) => Prune::Refuse(refusal),
        None => Prune::Delete(stale),
    }
}

/// What stays after pruning: what was applied, what is kept for others, and what could not be deleted, to be tried again.
pub(super) fn after_prune(
    settings: &Settings,
    new: &Inventory,
    kept: &Inventory,
    survivors: Vec<ObjectKey>,
) -> Inventory {
    let remembers = settings.keeps(SafetyRule::FailedPruneIsRemembered);
    let survivors = if remembers { Inventory::of_keys(survivors) } else { Inventory::default() };
    new.union(kept).union(&survivors)
}

#[cfg(test)]
mod tests {
    use sluice_api::kustomize::kustomization::Kustomization;
    use sluice_api::names::sluice::PRUNE_GUARD;
    use sluice_ssa::{Action, Change, ChangeSet, Inventory, ObjectId, ObjectKey};

    use super::{Prune, after_failed_apply, after_prune, before_apply, prune};
    use crate::context::Settings;

    /// ConfigMaps of these names, one letter each.
    fn inventory(names: &str) -> Inventory {
        Inventory::of_keys(keys(names))
    }

    fn keys(names: &str) -> Vec<ObjectKey> {
        let key = |name: char| ObjectKey {
            id: ObjectId {
                group: String::new(),
                kind: "ConfigMap".to_owned(),
                namespace: "n".to_owned(),
                name: name.to_string(),
            },
            version: "v1".to_owned(),
        };
        names.chars().map(key).collect()
    }

    fn names(inventory: &Inventory) -> String {
        inventory.keys().iter().map(|key| key.id.name.as_str()).collect()
    }

    #[test]
    fn what_may_be_applied_is_remembered_before_the_first_write() {
        for (old, wanted, remembered) in
            [("", "", None), ("ab", "a", None), ("ab", "ba", None), ("a", "b", Some("ab"))]
        {
            let found = before_apply(&Settings::default(), &inventory(old), &inventory(wanted));
            assert_eq!(found.as_ref().map(names).as_deref(), remembered, "{old} {wanted}");
        }
    }

    #[test]
    fn a_failed_apply_forgets_only_what_was_certainly_not_written() {
        for (old, applied, in_doubt, left) in [
            ("", "", "", None),
            ("ab", "", "", Some("ab")),
            ("ab", "c", "", Some("abc")),
            ("a", "b", "c", Some("abc")),
            ("", "", "x", Some("x")),
        ] {
            let entries = keys(applied).into_iter().map(|key| Change::new(key, Action::Created));
            let changes = ChangeSet { entries: entries.collect() };
            let settings = Settings::default();
            let found =
                after_failed_apply(&settings, &inventory(old), &changes, &inventory(in_doubt));
            assert_eq!(found.as_ref().map(names).as_deref(), left, "{old} {applied} {in_doubt}");
        }
    }

    #[test]
    fn pruning_deletes_what_is_gone_unless_the_guard_refuses() {
        let refused = |text: &'static str| Err(text);
        for (prunes, guard, old, new, claimed, expected) in [
            (true, None, "abc", "ab", 0, Ok("c")),
            (true, None, "ab", "abc", 0, Ok("")),
            (false, None, "abc", "a", 0, Ok("")),
            (true, None, "abc", "", 0, refused("nothing was built")),
            (true, None, "abc", "", 3, Ok("abc")),
            (true, Some("off"), "abc", "", 0, Ok("abc")),
            (true, Some("20%"), "abc", "ab", 0, refused("1 of 3 objects would be deleted")),
            (true, Some("20%"), "abcde", "abcd", 0, Ok("e")),
            (true, Some("20%"), "abc", "ab", 1, Ok("c")),
            (true, Some("some"), "abc", "ab", 0, refused("neither a share")),
        ] {
            let mut object = Kustomization::default();
            object.spec.prune = prunes;
            let annotation = guard.map(|guard| (PRUNE_GUARD.to_owned(), guard.to_owned()));
            object.metadata.annotations = Some(annotation.into_iter().collect());
            let both = (&inventory(old), &inventory(new));
            let found = prune(&Settings::default(), &object, both, claimed);
            let case = format!("{guard:?} {old} {new} {claimed}");
            match (found, expected) {
                (Prune::Nothing, Ok("")) => {}
                (Prune::Delete(stale), Ok(gone)) => {
                    assert_eq!(names(&Inventory::of_keys(stale)), gone, "{case}");
                }
                (Prune::Refuse(message), Err(part)) => assert!(message.contains(part), "{message}"),
                (found, _) => panic!("{case}: {found:?}"),
            }
        }
    }

    #[test]
    fn what_could_not_be_deleted_stays_remembered() {
        let (new, kept) = (inventory("ab"), inventory("c"));
        let left = after_prune(&Settings::default(), &new, &kept, keys("cd"));
        assert_eq!(names(&left), "abcd");
    }
}
