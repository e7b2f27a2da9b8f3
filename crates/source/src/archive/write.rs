//! Writes a tree over a directory of the disk. Existing links are not followed, neither in place of a file nor of a
//! directory, and hard links are broken.

use std::fs::FileType;
use std::io::{self, Write as _};
use std::path::Path;

use super::Modes;
use super::read::ArchiveError;
use crate::tree::{Node, SourceTree};

/// Writes files and directories; links of the tree are skipped. The directory itself may be a link, as it is the
/// user's choice.
pub(super) fn write_over(tree: &SourceTree, directory: &Path) -> Result<(), ArchiveError> {
    let failed = |path: &str, source| ArchiveError::Write { path: path.to_owned(), source };
    std::fs::create_dir_all(directory).map_err(|source| failed("", source))?;
    // A directory comes before its content, so every parent has been checked when a file is written.
    for (path, node) in tree.iter() {
        let target = directory.join(path);
        let written = match node {
            Node::Directory => make_directory(&target),
            Node::File { content, executable } => replace_file(&target, content, *executable),
            Node::Link { .. } => Ok(()),
        };
        written.map_err(|source| failed(path, source))?;
    }
    Ok(())
}

/// The type of a path, not following links.
fn standing(path: &Path) -> io::Result<Option<FileType>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata.file_type())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    match standing(path)? {
        None => std::fs::create_dir(path),
        Some(kind) if kind.is_dir() => Ok(()),
        Some(kind) if kind.is_symlink() => {
            let words = "a link stands where a directory has to be, and is not followed";
            Err(io::Error::new(io::ErrorKind::NotADirectory, words))
        }
        Some(_) => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Removes the existing name and creates a new file, which fails if another one appears in between.
fn replace_file(path: &Path, content: &[u8], executable: bool) -> io::Result<()> {
    match standing(path)? {
        None => {}
        Some(kind) if kind.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Some(_) => std::fs::remove_file(path)?,
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let modes = Modes::STORED;
        options.mode(if executable { modes.executable } else { modes.file });
    }
    #[cfg(not(unix))]
    let _ = (executable, Modes::STORED);
    options.open(path)?.write_all(content)
}
