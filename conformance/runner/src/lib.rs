//! Plays the same request scripts on a real kube-apiserver and on the embedded one, and compares the answers.
//!
//! ```text
//! scripts/AREA/NAME.http --parse--> Script --play(Target)--> Transcript --normalise--> Golden --compare--> Differences
//! ```
//!
//! Goldens are written only by `record`, from the real program. `play` and the crate's test compare with them,
//! so that neither needs Go. What may differ is listed, with the reason, in `conformance/known-differences.txt`.

mod compare;
mod golden;
mod known;
mod normalise;
mod play;
mod report;
mod script;
pub mod session;
mod suite;
mod target;

pub use compare::{Difference, compare};
pub use golden::{Answer, Golden, GoldenError};
pub use known::{KnownDifferences, KnownError};
pub use normalise::normalise;
pub use play::{Exchange, Payload, PlayError, play};
pub use report::{Outcome, Report};
pub use script::{Script, ScriptError};
pub use suite::{Suite, SuiteError};
pub use target::{Target, TargetError};
