//! Output for people: data on stdout, progress on stderr with Flux's marks.

use std::io::{ErrorKind, Write as _};

use crate::outcome::Failure;

/// Something is being done.
pub(crate) fn action(text: &str) {
    line("►", text);
}

/// Something is being made.
pub(crate) fn generated(text: &str) {
    line("✚", text);
}

/// Something is waited for.
pub(crate) fn waiting(text: &str) {
    line("◎", text);
}

/// Something worked.
pub(crate) fn success(text: &str) {
    line("✔", text);
}

/// Something deserves attention.
pub(crate) fn warning(text: &str) {
    line("⚠️", text);
}

/// Something failed, and work goes on.
pub(crate) fn failure(text: &str) {
    line("✗", text);
}

fn line(mark: &str, text: &str) {
    // Nothing is left to do if stderr is gone.
    let _ = writeln!(std::io::stderr().lock(), "{mark} {text}");
}

/// Writes data as it is.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // The reader closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::caused("cannot write to stdout", error)),
        Ok(()) => Ok(()),
    }
}

/// A text on stderr without mark and without an end.
pub(crate) fn plain_error(text: &str) {
    let _ = write!(std::io::stderr().lock(), "{text}");
}
