//! Archives as Flux writes and reads them: `gzip(tar)` of regular files and directories.

mod entry;
mod read;
mod write;

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

pub use read::{ArchiveError, ArchiveLimits, unpack, unpack_over, unpack_tar};

use crate::tree::{Node, SourceTree};

/// The modes of an archive's entries, whatever the modes on the disk or in the repository are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    file: u32,
    executable: u32,
    directory: u32,
}

impl Modes {
    /// The modes of artifacts in the store.
    pub const STORED: Self = Self { file: 0o600, executable: 0o700, directory: 0o750 };
    /// The modes of artifacts that are pushed to registries.
    pub const PUSHED: Self = Self { file: 0o644, executable: 0o755, directory: 0o755 };
}

/// The length of a header's name field; longer names and those beyond ASCII go into a record before it.
const NAME_FIELD: usize = 100;

/// Packs a tree. Skips paths for which `skip` returns true (it gets the path and whether it is a
/// directory); the content of a skipped directory is not skipped with it.
///
/// The same tree always gives the same bytes: walk order, root entry `.`, zero times and owners, fixed
/// modes. Links are skipped, as Flux does.
pub fn pack(tree: &SourceTree, skip: impl Fn(&str, bool) -> bool) -> io::Result<Bytes> {
    pack_with(tree, skip, Modes::STORED)
}

/// Packs a tree with other modes.
pub fn pack_with(
    tree: &SourceTree,
    skip: impl Fn(&str, bool) -> bool,
    modes: Modes,
) -> io::Result<Bytes> {
    let encoder: GzEncoder<Vec<u8>> =
        GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    let mut builder = Builder::new(encoder);
    append(&mut builder, ".", EntryType::Directory, modes.directory, &[])?;
    for (path, node) in tree.iter() {
        match node {
            Node::Link { .. } => {}
            Node::Directory if skip(path, true) => {}
            Node::File { .. } if skip(path, false) => {}
            Node::Directory => {
                append(&mut builder, path, EntryType::Directory, modes.directory, &[])?;
            }
            Node::File { content, executable } => {
                let mode = if *executable { modes.executable } else { modes.file };
                append(&mut builder, path, EntryType::Regular, mode, content)?;
            }
        }
    }
    Ok(builder.into_inner()?.finish()?.into())
}

fn append<W: Write>(
    builder: &mut Builder<W>,
    path: &str,
    kind: EntryType,
    mode: u32,
    content: &[u8],
) -> io::Result<()> {
    let mut header = Header::new_ustar();
    let field = header.as_mut_bytes().get_mut(..NAME_FIELD).unwrap_or_default();
    // The library's own code for long names fails for names with two dots in a row.
    let fits = path.is_ascii() && path.len() <= field.len();
    if !fits {
        builder.append_pax_extensions([("path", path.as_bytes())])?;
    }
    let ascii = path.bytes().filter(u8::is_ascii);
    for (place, byte) in field.iter_mut().zip(ascii) {
        *place = byte;
    }
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(content.len() as u64);
    header.set_cksum();
    builder.append(&header, content)
}

#[cfg(test)]
mod tests;
