//! Conditions as Flux keeps them: their order, and when their transition time changes.

use std::cmp::Ordering;

use jiff::Timestamp;
use sluice_api::names::conditions::{READY, RECONCILING, STALLED};
use sluice_api::names::reasons::PROGRESSING_WITH_RETRY;
use sluice_api::shared::condition::{Condition, ConditionStatus};
use sluice_base::time::Time;

/// The longest message of a condition, in bytes.
const LONGEST: usize = 32_768;

/// The conditions of one object while it is reconciled.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    list: Vec<Condition>,
    generation: i64,
    now: Timestamp,
}

impl Conditions {
    /// The conditions an object has, to be changed at this moment for this generation.
    pub fn new(list: Vec<Condition>, generation: i64, now: Timestamp) -> Self {
        Self { list, generation, now }
    }

    /// The conditions, in Flux's order.
    pub fn into_list(self) -> Vec<Condition> {
        self.list
    }

    /// The conditions, in Flux's order.
    pub fn list(&self) -> &[Condition] {
        &self.list
    }

    /// Takes back everything that was set: the conditions are these again.
    pub fn restore(&mut self, list: Vec<Condition>) {
        self.list = list;
    }

    /// What was being done will be tried again.
    pub fn mark_retrying(&mut self) {
        if let Some(message) = self.get(RECONCILING).map(|it| it.message.clone()) {
            let status = ConditionStatus::True;
            self.set(RECONCILING, status, PROGRESSING_WITH_RETRY, &message);
        }
    }

    /// Moves to a later moment.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// The condition of that type.
    pub fn get(&self, kind: &str) -> Option<&Condition> {
        self.list.iter().find(|condition| condition.r#type == kind)
    }

    /// Whether the condition is there and true.
    pub fn is_true(&self, kind: &str) -> bool {
        self.get(kind).is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// Whether the condition is there and false.
    pub fn is_false(&self, kind: &str) -> bool {
        self.get(kind).is_some_and(|condition| condition.status == ConditionStatus::False)
    }

    /// Sets a condition. Its time moves only when status, reason or message change.
    pub fn set(&mut self, kind: &str, status: ConditionStatus, reason: &str, message: &str) {
        let message = trim(message);
        let now = self.now - jiff::SignedDuration::from_nanos(self.now.subsec_nanosecond().into());
        let mut condition = Condition {
            r#type: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message,
            observed_generation: Some(self.generation),
            last_transition_time: Time(now),
            ..Condition::default()
        };
        match self.list.iter_mut().find(|there| there.r#type == kind) {
            Some(there) => {
                let same = there.status == condition.status
                    && there.reason == condition.reason
                    && there.message == condition.message;
                if same {
                    condition.last_transition_time = there.last_transition_time;
                }
                *there = condition;
            }
            None => self.list.push(condition),
        }
        self.list.sort_by(order);
    }

    /// Removes a condition.
    pub fn remove(&mut self, kind: &str) {
        self.list.retain(|condition| condition.r#type != kind);
    }

    /// The object is being reconciled, so it is not stalled.
    pub fn mark_reconciling(&mut self, reason: &str, message: &str) {
        self.remove(STALLED);
        self.set(RECONCILING, ConditionStatus::True, reason, message);
    }

    /// Nothing will happen until the object or the operator's settings change.
    pub fn mark_stalled(&mut self, reason: &str, message: &str) {
        self.remove(RECONCILING);
        self.set(STALLED, ConditionStatus::True, reason, message);
    }

    /// The cluster is in the state that the object describes.
    pub fn mark_ready(&mut self, reason: &str, message: &str) {
        self.set(READY, ConditionStatus::True, reason, message);
    }

    /// It is not.
    pub fn mark_not_ready(&mut self, reason: &str, message: &str) {
        self.set(READY, ConditionStatus::False, reason, message);
    }
}

/// A message that is not longer than a condition's may be.
pub(crate) fn trim(message: &str) -> String {
    if message.len() <= LONGEST {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST - 3);
    format!("{}...", &message[..end])
}

/// Stalled, Reconciling and Ready come first; the others by generation, newest first, and by name.
fn order(a: &Condition, b: &Condition) -> Ordering {
    let weight = |condition: &Condition| match condition.r#type.as_str() {
        STALLED => 0,
        RECONCILING => 1,
        READY => 2,
        _ => 3,
    };
    weight(a)
        .cmp(&weight(b))
        .then_with(|| b.observed_generation.cmp(&a.observed_generation))
        .then_with(|| a.r#type.cmp(&b.r#type))
}

#[cfg(test)]
mod tests {
    use sluice_api::names::conditions::{READY, RECONCILING, STALLED};
    use sluice_api::shared::condition::ConditionStatus;

    use super::Conditions;

    #[test]
    fn time_moves_only_with_what_is_said() {
        let first: jiff::Timestamp = "2026-01-01T00:00:00.5Z".parse().unwrap();
        let mut conditions = Conditions::new(Vec::new(), 1, first);
        conditions.mark_not_ready("Failed", "no");
        conditions.mark_reconciling("Progressing", "working");
        conditions.mark_stalled("Wrong", "never");
        conditions.set("Healthy", ConditionStatus::True, "Succeeded", "ok");
        let types: Vec<_> = conditions.list().iter().map(|it| it.r#type.as_str()).collect();
        assert_eq!(types, [STALLED, READY, "Healthy"]);
        assert!(conditions.get(RECONCILING).is_none());
        let time = conditions.get(READY).unwrap().last_transition_time;
        assert_eq!(serde_json::to_value(time).unwrap(), "2026-01-01T00:00:00Z");
        let mut later =
            Conditions::new(conditions.into_list(), 2, first + jiff::SignedDuration::from_hours(1));
        later.mark_not_ready("Failed", "no");
        let ready = later.get(READY).unwrap();
        assert_eq!(ready.last_transition_time, time);
        assert_eq!(ready.observed_generation, Some(2));
        later.mark_not_ready("Failed", "still no");
        assert_ne!(later.get(READY).unwrap().last_transition_time, time);
    }
}
