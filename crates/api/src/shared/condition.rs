//! The conditions of an object.

use sluice_base::time::Time;

use crate::schema::{choice, object};

object! {
    /// One aspect of an object's state.
    pub struct Condition {
        /// When the status last changed.
        pub last_transition_time: Time,
        /// What the state is, for people.
        #[schema(max_length = 32768)]
        pub message: String,
        /// The generation the condition is about.
        #[schema(minimum = 0)]
        pub observed_generation: Option<i64>,
        /// Reason, as one word.
        #[schema(
            pattern = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            min_length = 1,
            max_length = 1024,
        )]
        pub reason: String,
        /// Whether the condition holds.
        pub status: ConditionStatus,
        /// What the condition is about.
        #[schema(
            pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
            max_length = 316,
        )]
        pub r#type: String,
    }
}

choice! {
    /// Whether a condition holds.
    pub enum ConditionStatus {
        True = "True",
        False = "False",
        Unknown = "Unknown",
    }
}
