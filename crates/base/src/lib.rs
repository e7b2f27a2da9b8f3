//! The words every crate shares: Go's durations, times, quantities and JSON text, the clock, limits of input, and values
//! that are not shown.
//!
//! Nothing here does input or output, and nothing here reads the time by itself: a [`clock::Clock`]
//! is handed in, so that a simulation can own it.

pub mod clock;
pub mod duration;
pub mod gojson;
pub mod limits;
pub mod quantity;
pub mod redacted;
pub mod time;
