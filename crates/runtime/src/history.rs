//! `status.history`: the last distinct reconciliations of an object, newest first.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use sluice_api::shared::inventory::Snapshot;
use sluice_base::duration::GoDuration;
use sluice_base::time::Time;

/// How many are kept.
const KEPT: usize = 5;

/// A reconciliation that came to an end.
pub(crate) struct Attempt<'a> {
    /// Digest of what was applied.
    pub(crate) digest: &'a str,
    /// The reason that Ready got.
    pub(crate) outcome: &'a str,
    pub(crate) ended: Timestamp,
    pub(crate) took: Duration,
    /// The revisions it was about.
    pub(crate) metadata: BTreeMap<String, String>,
}

/// Adds a reconciliation: one that equals a kept one in digest and outcome is counted there.
pub(crate) fn note(history: &mut Vec<Snapshot>, attempt: Attempt<'_>) {
    let Attempt { digest, outcome, ended, took, metadata } = attempt;
    let now = Time(ended);
    let took = GoDuration::from_nanos(i64::try_from(took.as_nanos()).unwrap_or(i64::MAX));
    let known =
        history.iter().position(|it| it.digest == digest && it.last_reconciled_status == outcome);
    let mut snapshot = match known {
        Some(at) => history.remove(at),
        None => Snapshot {
            digest: digest.to_owned(),
            first_reconciled: now,
            last_reconciled_status: outcome.to_owned(),
            ..Snapshot::default()
        },
    };
    snapshot.last_reconciled = now;
    snapshot.last_reconciled_duration = took;
    snapshot.total_reconciliations += 1;
    snapshot.metadata = (!metadata.is_empty()).then_some(metadata);
    history.insert(0, snapshot);
    history.truncate(KEPT);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::{Attempt, note};

    #[test]
    fn the_same_outcome_is_counted_and_old_ones_fall_out() {
        let now: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut history = Vec::new();
        let mut add = |digest: &str, outcome: &str| {
            let (took, metadata) = (Duration::from_secs(1), BTreeMap::new());
            note(&mut history, Attempt { digest, outcome, ended: now, took, metadata });
            let all = history.iter().map(|it| format!("{}{}", it.digest, it.total_reconciliations));
            all.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(add("a", "ok"), "a1");
        assert_eq!(add("b", "ok"), "b1 a1");
        assert_eq!(add("a", "ok"), "a2 b1");
        assert_eq!(add("a", "failed"), "a1 a2 b1");
        for digest in ["c", "d", "e"] {
            add(digest, "ok");
        }
        assert_eq!(add("f", "ok"), "f1 e1 d1 c1 a1");
    }
}
