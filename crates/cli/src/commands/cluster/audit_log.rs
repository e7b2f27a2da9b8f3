//! The audit log of the embedded cluster as a file of JSON lines, bounded in size by rotation.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sluice_cluster::audit::{Event, Sink};

/// Writes events, one line each, to a file that only its owner can read.
pub(super) struct AuditLog {
    output: Mutex<Output>,
}

enum Output {
    Stdout,
    File(Rotated),
}

/// A file that is renamed to `PATH.1` when it has grown to its limit, `PATH.1` to `PATH.2`, and so on.
struct Rotated {
    path: PathBuf,
    file: File,
    size: u64,
    limit: u64,
    kept: usize,
}

impl AuditLog {
    /// A log at `path`, `-` for stdout; each file holds at most `limit` bytes (and one event), and `kept` full ones
    /// are kept beside it.
    pub(super) fn open(path: &Path, limit: u64, kept: usize) -> io::Result<Self> {
        let output = if path == Path::new("-") {
            Output::Stdout
        } else {
            let file = append(path)?;
            let size = file.metadata()?.len();
            Output::File(Rotated { path: path.to_owned(), file, size, limit, kept })
        };
        Ok(Self { output: Mutex::new(output) })
    }
}

impl Sink for AuditLog {
    fn write(&self, event: Event) {
        let mut line = event.to_value().to_string();
        line.push('\n');
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match &mut *output {
            Output::Stdout => io::stdout().write_all(line.as_bytes()),
            Output::File(file) => file.write(line.as_bytes()),
        };
        if let Err(error) = written {
            // A request does not fail because it cannot be logged; this is for demonstrations and tests.
            let _ = writeln!(io::stderr(), "cannot write the audit log: {error}");
        }
    }
}

impl Rotated {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.size > 0 && self.size + line.len() as u64 > self.limit {
            self.rotate()?;
        }
        self.file.write_all(line)?;
        self.size += line.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let backup = |number: usize| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        for number in (1..self.kept).rev() {
            match std::fs::rename(backup(number), backup(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if self.kept > 0 {
            std::fs::rename(&self.path, backup(1))?;
        } else {
            std::fs::remove_file(&self.path)?;
        }
        self.file = append(&self.path)?;
        self.size = self.file.metadata()?.len();
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    // An existing file may have had other readers.
    #[cfg(unix)]
    if file.metadata()?.is_file() {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let mut file = Rotated {
            file: append(&path).unwrap(),
            path: path.clone(),
            size: 0,
            limit: 8,
            kept: 2,
        };
        for line in ["one\n", "two\n", "three\n", "four\n", "five\n", "six\n", "seven\n"] {
            file.write(line.as_bytes()).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).ok();
        assert_eq!(read("audit.log").as_deref(), Some("seven\n"));
        assert_eq!(read("audit.log.1").as_deref(), Some("six\n"));
        assert_eq!(read("audit.log.2").as_deref(), Some("five\n"));
        assert_eq!(read("audit.log.3"), None);
    }
}
