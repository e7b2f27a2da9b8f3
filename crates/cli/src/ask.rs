//! Questions on the terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

/// Asks for confirmation.
pub(crate) fn confirmed(what: &str) -> bool {
    answered_yes(&format!("Are you sure you want to {what}"))
}

/// Asks if there is a terminal; without one the answer is no.
pub(crate) fn answered_yes(question: &str) -> bool {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return false;
    }
    let mut stderr = std::io::stderr();
    let _ = write!(stderr, "{question}? [y/N] ");
    let _ = stderr.flush();
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y")
}
