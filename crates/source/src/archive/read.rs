//! Unpacks untrusted archives: paths cannot leave the tree, links are not followed, and decompression bombs
//! are rejected early.

use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sluice_base::limits::{TreeLimits, shortened};
use tar::{Archive, EntryType};

use super::entry::{Records, read_content};
use super::write::write_over;
use crate::tree::{Node, SourceTree, TreeError};

/// The limits of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Bytes of the unpacked tar stream.
    pub unpacked: u64,
    /// Entries of any kind. The resulting tree has limits of its own.
    pub entries: usize,
    /// Unpacked bytes per packed byte. Small archives may exceed it, see [`Self::RATIO_FREE`].
    pub ratio: u64,
}

impl ArchiveLimits {
    /// The unpacked size below which the ratio is not checked: a few empty files compress a thousandfold.
    pub const RATIO_FREE: u64 = 16 << 20;
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self {
            unpacked: TreeLimits::DEFAULT.content,
            entries: TreeLimits::DEFAULT.nodes,
            // Manifests compress to a tenth, generated ones to a thirtieth.
            ratio: 50,
        }
    }
}

/// Why an archive was not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Not an archive, or truncated.
    #[error("tar error: {}", message(.0))]
    Malformed(io::Error),
    /// Not compressed.
    #[error("requires gzip-compressed body: {0}")]
    NotPacked(&'static str),
    /// It exceeds a limit.
    #[error("the archive exceeds the limit of {limit} {what}")]
    TooLarge {
        /// The limited quantity.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A sparse file: its holes take no space in the archive but do in memory.
    #[error("tar error: sparse files are not supported")]
    Sparse,
    /// The path of an entry is invalid or leaves the tree.
    #[error("{}", entry_message(.0))]
    Entry(TreeError),
    /// The directory could not be written.
    #[error("cannot write {path:?}")]
    Write {
        /// Which path.
        path: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// Unpacks `gzip(tar)` into memory. Links and special files are skipped.
pub fn unpack(packed: &[u8], limits: ArchiveLimits) -> Result<SourceTree, ArchiveError> {
    check_header(packed)?;
    let by_ratio = (packed.len() as u64).saturating_mul(limits.ratio);
    let ceiling = limits.unpacked.min(by_ratio.max(ArchiveLimits::RATIO_FREE));
    let limits = ArchiveLimits { unpacked: ceiling, ..limits };
    // Some tools write a gzip member for each file or block.
    unpack_tar(MultiGzDecoder::new(packed), limits)
}

/// Checks the gzip header.
fn check_header(packed: &[u8]) -> Result<(), ArchiveError> {
    match packed {
        [0x1f, 0x8b, 8, _, _, _, _, _, _, _, ..] => Ok(()),
        [] => Err(ArchiveError::NotPacked("EOF")),
        short if short.len() < 10 => Err(ArchiveError::NotPacked("unexpected EOF")),
        _ => Err(ArchiveError::NotPacked("gzip: invalid header")),
    }
}

/// Go's messages for truncated or invalid archives.
fn message(error: &io::Error) -> &'static str {
    let text = error.to_string();
    if error.kind() == io::ErrorKind::UnexpectedEof || text.contains("failed to read entire block")
    {
        "unexpected EOF"
    } else if text.contains("corrupt deflate stream") {
        "flate: corrupt input"
    } else if text.contains("corrupt gzip stream") {
        "gzip: invalid checksum"
    } else {
        "archive/tar: invalid tar header"
    }
}

fn entry_message(error: &TreeError) -> String {
    match error {
        TreeError::Path(path) => {
            format!("tar contained invalid name error {:?}", shortened(path))
        }
        TreeError::BelowFile(path) => {
            let above = path.rsplit_once('/').map(|(above, _)| above).unwrap_or_default();
            format!("mkdir /{}: not a directory", shortened(above))
        }
        TreeError::Limit(error) => format!("tar error: {error}"),
    }
}

impl From<TreeError> for ArchiveError {
    fn from(error: TreeError) -> Self {
        Self::Entry(error)
    }
}

/// Unpacks a tar stream into memory, with the same limits.
pub fn unpack_tar(stream: impl Read, limits: ArchiveLimits) -> Result<SourceTree, ArchiveError> {
    let mut archive = Archive::new(Bounded { stream, left: limits.unpacked, over: false });
    let outcome = unpack_entries(&mut archive, limits);
    let mut rest = archive.into_inner();
    // The rest is read too: the checksum of a compressed stream is at its end.
    let outcome = outcome.and_then(|tree| {
        match io::copy(&mut rest, &mut io::sink()) {
            // As in Go, trailing bytes that are not a gzip member are ignored.
            Err(error) if !error.to_string().contains("invalid gzip header") => {
                Err(ArchiveError::Malformed(error))
            }
            _ => Ok(tree),
        }
    });
    // Exceeding the bound appears as a read error; here it gets its own error.
    if rest.over {
        return Err(ArchiveError::TooLarge { what: "unpacked bytes", limit: limits.unpacked });
    }
    outcome
}

/// Unpacks `gzip(tar)` over the files of a directory. Links in the directory are not followed.
pub fn unpack_over(
    packed: &[u8],
    limits: ArchiveLimits,
    directory: &Path,
) -> Result<SourceTree, ArchiveError> {
    let tree = unpack(packed, limits)?;
    write_over(&tree, directory)?;
    Ok(tree)
}

fn unpack_entries<R: Read>(
    archive: &mut Archive<R>,
    limits: ArchiveLimits,
) -> Result<SourceTree, ArchiveError> {
    let mut tree = SourceTree::default();
    let mut count = 0_usize;
    let mut records = Records::default();
    for entry in archive.entries().map_err(ArchiveError::Malformed)?.raw(true) {
        let mut entry = entry.map_err(ArchiveError::Malformed)?;
        count += 1;
        if count > limits.entries {
            let limit = limits.entries as u64;
            return Err(ArchiveError::TooLarge { what: "entries", limit });
        }
        if records.take(&mut entry)? {
            continue;
        }
        let name = records.name(&entry)?;
        let Some(path) = clean(&name)? else { continue };
        match entry.header().entry_type() {
            EntryType::Directory => tree.insert(&path, Node::Directory)?,
            EntryType::Regular | EntryType::Continuous => {
                let mode = entry.header().mode().map_err(ArchiveError::Malformed)?;
                let content = read_content(&mut entry, limits.unpacked)?;
                tree.insert(&path, Node::File { content, executable: mode & 0o111 != 0 })?;
            }
            EntryType::GNUSparse => return Err(ArchiveError::Sparse),
            _ => {}
        }
    }
    Ok(tree)
}

/// The path inside the tree; `None` for the root itself. `..` and absolute paths are errors, not
/// normalised: no honest tool writes them.
fn clean(raw: &str) -> Result<Option<String>, TreeError> {
    if raw.starts_with('/') || raw.split('/').any(|part| part == "..") {
        return Err(TreeError::Path(raw.to_owned()));
    }
    let parts: Vec<&str> = raw.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    Ok((!parts.is_empty()).then(|| parts.join("/")))
}

/// A reader that fails after a number of bytes.
struct Bounded<R> {
    stream: R,
    left: u64,
    over: bool,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        let Some(left) = self.left.checked_sub(read as u64) else {
            self.over = true;
            return Err(io::Error::other("too many bytes"));
        };
        self.left = left;
        Ok(read)
    }
}
