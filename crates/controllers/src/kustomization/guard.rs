//! Deletion is never an accident: what is not pruned although it is gone from the source.

use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::sluice::PRUNE_GUARD;
use sluice_ssa::Inventory;

/// Why objects are not pruned although they are gone from the source: a build of nothing, or more of them
/// than the guard allows. Whoever means it says so.
pub(super) fn refusal(
    object: &Kustomization,
    old: &Inventory,
    new: &Inventory,
    stale: usize,
) -> Option<String> {
    let annotations = object.metadata.annotations.as_ref();
    let guard =
        annotations.and_then(|annotations| annotations.get(PRUNE_GUARD)).map(String::as_str);
    let percent = match guard {
        Some("off") => return None,
        Some(text) => match text.trim_end_matches('%').parse::<usize>() {
            Ok(percent) => percent.min(100),
            Err(_) => {
                return Some(format!(
                    "annotation {PRUNE_GUARD}: \"{text}\" is neither a share such as 20% nor off"
                ));
            }
        },
        None => 100,
    };
    if new.is_empty() {
        return Some(format!(
            "nothing was built, and {stale} objects were applied before: none is deleted. Set the annotation {PRUNE_GUARD}: \"off\" if they are to go"
        ));
    }
    (stale * 100 > old.len() * percent).then(|| {
        format!(
            "{stale} of {} objects would be deleted, and {PRUNE_GUARD} allows {percent}%: none is deleted",
            old.len()
        )
    })
}
