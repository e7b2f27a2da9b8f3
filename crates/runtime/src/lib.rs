//! What every controller stands on.
//!
//! ```text
//! watch ──▶ Store ──▶ Change ──▶ Index (who is concerned) ──▶ Queue ──▶ workers ──▶ a pass
//!              ▲                                                                    │
//!              └────────── what the pass wrote ◀── status, conditions, events ◀─────┘
//! ```
//!
//! **Invariants.** Nothing here asks the wall clock or a random source of its own: both are handed in, time
//! passes on tokio's timer, and no order comes from a hash, so a simulation repeats itself. One watch for
//! each kind, whoever is interested. A key is worked on by one worker at a time.

pub mod conditions;
pub mod error;
pub mod events;
pub mod index;
pub mod key;
pub mod lease;
pub mod metrics;
pub mod queue;
pub mod selector;
pub mod status;
pub mod store;
pub mod watch;
pub mod watches;
pub mod worker;
