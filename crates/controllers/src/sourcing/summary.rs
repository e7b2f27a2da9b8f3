//! What all conditions of a source say together: Ready.

use sluice_api::names::conditions::{READY, SOURCE_VERIFIED};
use sluice_api::shared::condition::{Condition, ConditionStatus};
use sluice_runtime::conditions::Conditions;

/// Conditions, the weightiest first, and whether they tell of something bad.
pub(super) type Weighed = [(&'static str, bool)];

/// Sets Ready. What is bad and true comes first, then what is good and false, then what is good and true.
/// A signature that could not be verified is always the one to tell of.
pub(super) fn summarise(conditions: &mut Conditions, weighed: &Weighed) {
    let found: Vec<(usize, &Condition)> = weighed
        .iter()
        .filter_map(|(kind, is_bad)| {
            let condition = conditions.get(kind)?;
            let rank = match (&condition.status, is_bad) {
                (ConditionStatus::True, true) => 0,
                (ConditionStatus::False, false) => 1,
                (ConditionStatus::True, false) => 2,
                (ConditionStatus::False, true) => 3,
                _ => 4,
            };
            Some((rank, condition))
        })
        .collect();
    let unverified = conditions.get(SOURCE_VERIFIED);
    let unverified = unverified.filter(|it| it.status == ConditionStatus::False);
    // The first of equals: `min_by_key` keeps it.
    let top = unverified.map(|it| (1, it)).or_else(|| found.into_iter().min_by_key(|it| it.0));
    let Some((rank, top)) = top else { return };
    let status = match rank {
        0 | 1 => ConditionStatus::False,
        2 | 3 => ConditionStatus::True,
        _ => ConditionStatus::Unknown,
    };
    let (reason, message) = (top.reason.clone(), top.message.clone());
    conditions.set(READY, status, &reason, &message);
}

#[cfg(test)]
mod tests {
    use sluice_api::names::conditions::{
        ARTIFACT_IN_STORAGE, FETCH_FAILED, READY, RECONCILING, SOURCE_VERIFIED,
    };
    use sluice_api::shared::condition::ConditionStatus;
    use sluice_api::source::gitrepository::GitRepository;
    use sluice_runtime::conditions::Conditions;

    use super::summarise;
    use crate::sourcing::SourceKind as _;

    #[test]
    fn the_weightiest_condition_speaks() {
        let mut conditions = Conditions::new(Vec::new(), 1, jiff::Timestamp::UNIX_EPOCH);
        let said = |conditions: &mut Conditions| {
            summarise(conditions, GitRepository::WEIGHED);
            conditions.get(READY).map(|it| format!("{} {}", it.status.as_str(), it.reason))
        };
        assert_eq!(said(&mut conditions), None);
        conditions.set(ARTIFACT_IN_STORAGE, ConditionStatus::True, "Stored", "");
        assert_eq!(said(&mut conditions).as_deref(), Some("True Stored"));
        conditions.set(RECONCILING, ConditionStatus::True, "Progressing", "");
        assert_eq!(said(&mut conditions).as_deref(), Some("False Progressing"));
        conditions.set(FETCH_FAILED, ConditionStatus::True, "GitOperationFailed", "");
        assert_eq!(said(&mut conditions).as_deref(), Some("False GitOperationFailed"));
        conditions.set(SOURCE_VERIFIED, ConditionStatus::False, "InvalidCommitSignature", "");
        assert_eq!(said(&mut conditions).as_deref(), Some("False InvalidCommitSignature"));
    }
}
