//! The words every crate shares: Go's durations, times, quantities and JSON text, the clock, limits of input, values
//! that are not shown, and errors with their causes.
//!
//! Nothing here does input or output, and nothing here reads the time by itself: a [`clock::Clock`]
//! is handed in, so that a simulation can own it.

pub mod causes;
pub mod clock;
pub mod duration;
pub mod fault;
pub mod gojson;
pub mod limits;
pub mod need;
pub mod place;
pub mod quantity;
pub mod random;
pub mod redacted;
pub mod time;
