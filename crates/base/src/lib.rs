//! What every crate shares: Go's and Kubernetes' own behaviour ([`go`], [`gojson`], [`duration`], [`time`],
//! [`quantity`], [`labels`], [`names`], [`semver`]), the clock, limits of input, values that are not shown, and errors with their
//! causes.
//!
//! Nothing here does input or output, and nothing here reads the time by itself: a [`clock::Clock`]
//! is handed in, so that a simulation can own it.

pub mod causes;
pub mod clock;
pub mod duration;
pub mod fault;
pub mod go;
pub mod gojson;
pub mod labels;
pub mod limits;
pub mod names;
pub mod need;
pub mod place;
pub mod quantity;
pub mod random;
pub mod redacted;
pub mod semver;
pub mod time;
