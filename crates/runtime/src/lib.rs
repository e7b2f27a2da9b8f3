//! What every controller is built on.
//!
//! ```text
//! watch ──▶ Store ──▶ Change ──▶ Index (reverse index of references) ──▶ Queue ──▶ workers ──▶ Pass
//!              ▲                                                                                │
//!              └──────────── what the pass wrote ◀── status, conditions, events ◀───────────────┘
//! ```
//!
//! A controller implements [`pass::Reconciler`]; the order of a pass, and what conditions, events and metrics say about
//! its end, is the same for every kind.
//!
//! **Invariants.** Nothing here reads the wall clock or a random source of its own: both are passed in, time passes
//! on tokio's timer, and no order comes from a hash, so a simulation repeats itself. There is one watch for each kind.
//! A key is worked on by one worker at a time.

pub mod class;
pub mod conditions;
pub mod controller;
pub mod error;
pub mod events;
pub mod gate;
mod history;
pub mod index;
pub mod key;
pub mod lease;
pub mod metrics;
pub mod outcome;
pub mod pass;
pub mod queue;
pub mod selector;
pub mod status;
pub mod store;
pub mod watch;
pub mod watches;
pub mod worker;
