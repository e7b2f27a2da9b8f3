//! What an engine needs from outside, and how it asks for it.
//!
//! Engines do no input or output. A build that comes to a remote base, or to a document the data key of which is at
//! a key service, goes as far as it can and returns [`Step::Needs`] with everything it missed. The driver answers
//! and runs the engine again from the same input, now with the answers; an engine keeps nothing between two runs.

mod key;

use std::collections::BTreeSet;

pub use key::MasterKey;

/// The outcome of one run of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<T> {
    /// It has come to its end.
    Done(T),
    /// It cannot go on before these are answered; never empty.
    Needs(BTreeSet<Need>),
}

/// Something that an engine needs from outside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The content of the file at a URL.
    File(String),
    /// The files of a git repository.
    Repository(RepositoryRef),
    /// The data key that a master key has encrypted.
    DataKey(MasterKey),
}

/// A git repository at a reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepositoryRef {
    /// What to clone.
    pub url: String,
    /// Branch, tag or commit; the default branch where it is empty.
    pub reference: String,
    /// Whether submodules are cloned as well.
    pub submodules: bool,
}
