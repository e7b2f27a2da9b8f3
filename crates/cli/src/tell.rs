//! Output for people: data on stdout, progress on stderr with Flux's marks.

use std::io::{ErrorKind, Write as _};

use crate::outcome::Failure;

/// An action begins.
pub(crate) fn action(text: &str) {
    line("►", text);
}

/// An object is generated.
pub(crate) fn generated(text: &str) {
    line("✚", text);
}

/// The command waits.
pub(crate) fn waiting(text: &str) {
    line("◎", text);
}

/// An action succeeded.
pub(crate) fn success(text: &str) {
    line("✔", text);
}

/// A warning.
pub(crate) fn warning(text: &str) {
    line("⚠️", text);
}

/// An action failed, and the command continues.
pub(crate) fn failure(text: &str) {
    line("✗", text);
}

fn line(mark: &str, text: &str) {
    // stderr is closed.
    let _ = writeln!(std::io::stderr().lock(), "{mark} {text}");
}

/// Writes data to stdout.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // The reader closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::caused("cannot write to stdout", error)),
        Ok(()) => Ok(()),
    }
}

/// A text on stderr without a mark and a newline.
pub(crate) fn plain_error(text: &str) {
    let _ = write!(std::io::stderr().lock(), "{text}");
}
