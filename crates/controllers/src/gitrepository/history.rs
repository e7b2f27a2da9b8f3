//! Branches and tags that no longer lead back to the commit of the last artifact: somebody pushed by force.

use sluice_api::names::reasons::GIT_OPERATION_FAILED;
use sluice_api::names::sluice::REWRITTEN_HISTORY;
use sluice_api::names::sluice::reasons::{HISTORY_REWRITTEN, HISTORY_UNKNOWN};
use sluice_runtime::events::Severity;
use sluice_runtime::outcome::Stop;
use sluice_source::git::{Checkout, History};

use super::GitPass;
use crate::sourcing::fetch_failed;

/// Reports history that was rewritten, or refuses it where the annotation asks for that. What cannot be
/// found out is refused there as well.
pub(super) fn judge(pass: &GitPass<'_>, checkout: &Checkout) -> Result<(), Stop> {
    let refuses = refuses(pass)?;
    let name = checkout.revision.pointer();
    let new = checkout.commit.id;
    let (severity, reason, message) = match &checkout.history {
        History::Unasked | History::Continued => return Ok(()),
        History::Rewritten { from } => (
            Severity::Error,
            HISTORY_REWRITTEN,
            format!(
                "history of '{name}' was rewritten: commit '{new}' does not descend from commit '{from}' of the last artifact"
            ),
        ),
        History::Unknown { from, why } => (
            Severity::Info,
            HISTORY_UNKNOWN,
            format!(
                "cannot tell whether commit '{new}' of '{name}' descends from commit '{from}' of the last artifact: {why}"
            ),
        ),
    };
    if refuses {
        let help = format!("annotation {REWRITTEN_HISTORY}: report follows it");
        return Err(fetch_failed(reason, format!("{message} ({help})")));
    }
    pass.event(severity, reason, &message);
    Ok(())
}
fn refuses(pass: &GitPass<'_>) -> Result<bool, Stop> {
    let annotations = pass.object.metadata.annotations.as_ref();
    match annotations.and_then(|all| all.get(REWRITTEN_HISTORY)).map(String::as_str) {
        None | Some("report") => Ok(false),
        Some("refuse") => Ok(true),
        Some(other) => Err(fetch_failed(
            GIT_OPERATION_FAILED,
            format!("annotation {REWRITTEN_HISTORY}: \"{other}\" is neither report nor refuse"),
        )),
    }
}
