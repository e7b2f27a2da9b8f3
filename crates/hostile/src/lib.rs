//! Every parser of input from outside, as a table: what it reads, honest inputs, and hostile ones.
//!
//! Two programs run the table. `tests/bench.rs` gives each hostile input to its parser in a process of its own, with
//! limits of memory, stack and time. `xtask fuzz` grows inputs out of the honest ones. A new format is a file below
//! `formats/` and a line in [`FORMATS`].
//!
//! Inputs are made in code, and small: what matters is how far a parser lets them grow.

#![expect(
    clippy::format_push_string,
    clippy::format_collect,
    reason = "inputs are texts that are put together once; nobody waits for it"
)]

mod formats;
mod make;

pub use formats::FORMATS;

/// What a parser made of an input: nothing to complain about, or a reason.
pub type Outcome = Result<(), String>;

/// An input with what is hostile about it.
pub type Hostile = (&'static str, Vec<u8>);

/// A parser of input from outside.
#[derive(Clone, Copy)]
pub struct Format {
    /// What it reads.
    pub name: &'static str,
    /// Reads an input as the product does.
    pub parse: fn(&[u8]) -> Outcome,
    /// Inputs that it reads without complaint, small ones.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Inputs that want to exhaust it.
    pub hostile: fn() -> Vec<Hostile>,
}

impl Format {
    /// The format of a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }
}
