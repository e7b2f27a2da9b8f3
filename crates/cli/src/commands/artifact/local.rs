//! The files of an artifact, on the disk and packed.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use sluice_source::archive::{Modes, pack_with};
use sluice_source::ignore::{Rules, read};
use sluice_source::tree::{Node, SourceTree};

use crate::outcome::Failure;

/// The default of `--ignore-paths`: version control, pictures and archives.
pub(super) const IGNORED: &str = ".git/,.gitignore,.gitmodules,.gitattributes,*.jpg,*.jpeg,*.gif,*.png,*.wmv,*.flv,*.tar.gz,*.zip";

/// The file name for standard input.
const STDIN: &str = "stdin.yaml";

/// Files to pack.
pub(super) struct Files {
    tree: SourceTree,
    /// The path in messages.
    pub(super) shown: String,
}

/// Why files could not be read.
pub(super) enum Trouble {
    /// The path does not exist.
    Missing(std::io::Error),
    /// Reading failed.
    Unreadable(String),
}

impl Files {
    /// Reads a directory, a single file, or standard input for `-`. Symbolic links are skipped, or followed if
    /// requested.
    pub(super) fn read(path: &Path, resolve: bool) -> Result<Self, Trouble> {
        let unreadable = |error: &dyn std::fmt::Display| Trouble::Unreadable(error.to_string());
        let mut tree = SourceTree::default();
        if path == Path::new("-") {
            let mut text = Vec::new();
            std::io::stdin().read_to_end(&mut text).map_err(|error| unreadable(&error))?;
            while matches!(text.last(), Some(b'\r' | b'\n')) {
                text.pop();
            }
            tree.insert_file(STDIN, text).map_err(|error| unreadable(&error))?;
            return Ok(Self { tree, shown: STDIN.to_owned() });
        }
        let metadata = std::fs::metadata(path).map_err(Trouble::Missing)?;
        let shown = path.display().to_string();
        if metadata.is_dir() {
            if resolve {
                copy(path, "", &mut tree, &mut BTreeSet::new())
                    .map_err(|error| unreadable(&error))?;
            } else {
                tree = SourceTree::read_directory(path).map_err(|error| unreadable(&error))?;
            }
        } else {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_else(|| STDIN.to_owned());
            insert(&mut tree, &name, path).map_err(|error| unreadable(&error))?;
        }
        Ok(Self { tree, shown })
    }

    /// Packs them, without those that match the patterns.
    pub(super) fn pack(&self, ignored: &[String]) -> Result<Bytes, Failure> {
        let rules = Rules::new(read(&ignored.join("\n"), &[]));
        pack_with(
            &self.tree,
            |path, is_directory| rules.excludes(path, is_directory),
            Modes::PUSHED,
        )
        .map_err(|error| Failure::flux(error.to_string()))
    }
}

fn insert(tree: &mut SourceTree, at: &str, path: &Path) -> std::io::Result<()> {
    let content = std::fs::read(path)?;
    let executable = is_executable(&std::fs::metadata(path)?);
    tree.insert(at, Node::File { content: content.into(), executable })
        .map_err(std::io::Error::other)
}

/// Copies a directory with the targets of its links; a link to a parent directory is skipped.
fn copy(
    directory: &Path,
    prefix: &str,
    tree: &mut SourceTree,
    on_the_way: &mut BTreeSet<PathBuf>,
) -> std::io::Result<()> {
    let real = std::fs::canonicalize(directory)?;
    if !on_the_way.insert(real.clone()) {
        return Ok(());
    }
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let at = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let target = std::fs::canonicalize(entry.path())?;
        let kind = std::fs::metadata(&target)?;
        if kind.is_dir() {
            tree.insert(&at, Node::Directory).map_err(std::io::Error::other)?;
            copy(&target, &at, tree, on_the_way)?;
        } else if kind.is_file() {
            insert(tree, &at, &target)?;
        }
    }
    on_the_way.remove(&real);
    Ok(())
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    false
}

/// The message without a path.
pub(super) fn no_path() -> Failure {
    Failure::flux("invalid path \"\"").hint("--path names the file or directory to pack")
}
