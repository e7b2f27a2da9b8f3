//! The directory of the artifact store: from the flag, or in the user's state directory.
//!
//! Files in it are applied to clusters. So the default directory must not be one that others can prepare: it is created
//! for the user alone, and rejected if it is a link, has another owner or is writable by others. A directory of the flag
//! is the operator's choice (a volume belongs to root and is open to a group); it only has to be usable, which is checked
//! at the start.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::outcome::Failure;

/// The directory of the artifact store, with a lock that shows that it is in use.
pub(super) struct Storage {
    pub(super) path: PathBuf,
    /// Held while the process runs; another process gets a warning, not an error: replicas with leader election may share a
    /// volume.
    _lock: Option<File>,
}

/// Prepares a directory for artifacts.
pub(super) fn prepare(
    wanted: Option<PathBuf>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Storage, Failure> {
    let is_default = wanted.is_none();
    let path = match wanted {
        Some(path) => path,
        None => state(variable)?.join("artifacts"),
    };
    let failed = |error: io::Error| {
        Failure::caused(format!("cannot keep artifacts in {}", path.display()), error)
            .hint("choose a directory that this user can write with --storage-path")
    };
    make(&path).map_err(failed)?;
    let own = probe(&path).map_err(failed)?;
    if is_default {
        for directory in [path.parent(), Some(path.as_path())].into_iter().flatten() {
            check(directory, &own).map_err(failed)?;
        }
    }
    let lock = lock(&path);
    Ok(Storage { path, _lock: lock })
}

/// The user's state directory, as in the XDG base directory specification.
fn state(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Failure> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".local/state"));
    let state = absolute("XDG_STATE_HOME").or_else(home).ok_or_else(|| {
        Failure::new("there is no place for artifacts: neither XDG_STATE_HOME nor HOME is set")
            .hint("choose a directory with --storage-path")
    })?;
    Ok(state.join("sluice"))
}

/// Creates a directory for this user alone, with its parents; an existing one is unchanged.
fn make(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a file and removes it, to check that it works and as which user.
fn probe(path: &Path) -> io::Result<Metadata> {
    let file = path.join(format!(".{}.probe", std::process::id()));
    let probed = OpenOptions::new().write(true).create_new(true).open(&file).and_then(|opened| {
        io::Write::write_all(&mut &opened, b"x")?;
        opened.metadata()
    });
    if probed.is_ok() {
        std::fs::remove_file(&file)?;
    }
    probed
}

/// Whether no other user can have prepared a directory.
#[cfg(unix)]
fn check(path: &Path, own: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::symlink_metadata(path)?;
    let shown = path.display();
    let wrong = if found.is_symlink() {
        format!("{shown} is a symbolic link")
    } else if found.uid() != own.uid() {
        format!("{shown} belongs to another user")
    } else if found.mode() & 0o022 != 0 {
        format!("{shown} can be written by others")
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, wrong))
}

#[cfg(not(unix))]
fn check(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Warns if another process uses the same directory.
fn lock(path: &Path) -> Option<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path.join(".lock"));
    let file = file.ok()?;
    match file.try_lock() {
        Ok(()) => Some(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            tracing::warn!(
                path = %path.display(),
                "another process keeps its artifacts in the same directory; only replicas that elect a leader should share one"
            );
            None
        }
        // File systems without locks are used without.
        Err(std::fs::TryLockError::Error(_)) => None,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn home(path: &Path) -> impl Fn(&str) -> Option<OsString> + use<> {
        let path = path.as_os_str().to_owned();
        move |name| (name == "HOME").then(|| path.clone())
    }

    fn message(outcome: Result<Storage, Failure>) -> String {
        outcome.map_or_else(|failure| format!("{failure:?}"), |it| it.path.display().to_string())
    }

    #[test]
    fn the_default_is_in_the_state_directory_and_private() {
        let home_directory = tempfile::tempdir().unwrap();
        let storage = prepare(None, home(home_directory.path())).unwrap_or_else(|_| panic!("made"));
        assert_eq!(storage.path, home_directory.path().join(".local/state/sluice/artifacts"));
        for path in [storage.path.as_path(), storage.path.parent().unwrap()] {
            assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o777, 0o700);
        }
        let elsewhere = tempfile::tempdir().unwrap();
        let state = elsewhere.path().as_os_str().to_owned();
        let variable = move |name: &str| (name == "XDG_STATE_HOME").then(|| state.clone());
        let path = message(prepare(None, variable));
        assert!(path.starts_with(&elsewhere.path().display().to_string()), "{path}");
        assert!(message(prepare(None, |_| None)).contains("XDG_STATE_HOME"), "nowhere to go");
        let relative = |name: &str| (name == "XDG_STATE_HOME").then(|| OsString::from("here"));
        assert!(message(prepare(None, relative)).contains("XDG_STATE_HOME"), "not absolute");
    }

    #[test]
    fn a_default_that_others_prepared_is_refused() {
        type Prepare = fn(&Path);
        let attacks: [(&str, Prepare); 4] = [
            ("can be written by others", |sluice| {
                make(&sluice.join("artifacts")).unwrap();
                let open = std::fs::Permissions::from_mode(0o777);
                std::fs::set_permissions(sluice.join("artifacts"), open).unwrap();
            }),
            ("can be written by others", |sluice| {
                make(sluice).unwrap();
                let group = std::fs::Permissions::from_mode(0o770);
                std::fs::set_permissions(sluice, group).unwrap();
            }),
            ("is a symbolic link", |sluice| {
                make(&sluice.with_file_name("evil")).unwrap();
                symlink("evil", sluice).unwrap();
            }),
            ("is a symbolic link", |sluice| {
                make(&sluice.join("evil")).unwrap();
                symlink("evil", sluice.join("artifacts")).unwrap();
            }),
        ];
        for (words, attack) in attacks {
            let home_directory = tempfile::tempdir().unwrap();
            attack(&home_directory.path().join(".local/state/sluice"));
            let message = message(prepare(None, home(home_directory.path())));
            assert!(message.contains(words), "{words}: {message}");
        }
    }

    #[test]
    fn a_directory_of_another_user_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let own = probe(directory.path()).unwrap();
        assert!(check(directory.path(), &own).is_ok());
        if own.uid() == 0 {
            std::os::unix::fs::chown(directory.path(), Some(65534), None).unwrap();
            assert!(check(directory.path(), &own).is_err());
        } else {
            assert!(check(Path::new("/"), &own).is_err());
        }
    }

    #[test]
    fn what_cannot_be_used_is_said_at_the_start() {
        let message = message(prepare(Some("/proc/x".into()), |_| None));
        assert!(message.contains("cannot keep artifacts in /proc/x"), "{message}");
        assert!(message.contains("--storage-path"), "{message}");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert!(prepare(Some(file), |_| None).is_err(), "no directory");
    }

    #[test]
    fn a_volume_that_is_open_to_a_group_is_taken_when_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let open = std::fs::Permissions::from_mode(0o2775);
        std::fs::set_permissions(directory.path(), open).unwrap();
        let first = prepare(Some(directory.path().into()), |_| None).unwrap_or_else(|_| panic!());
        assert!(matches!(first, Storage { _lock: Some(_), .. }));
        let second = prepare(Some(directory.path().into()), |_| None).unwrap_or_else(|_| panic!());
        let has_lock = matches!(second, Storage { _lock: Some(_), .. });
        assert!(!has_lock, "the other one has it, and that is said");
    }
}
