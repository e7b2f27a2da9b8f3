//! One entry of a tar stream with its name, which may be in PAX or GNU records before it.
//!
//! The records are parsed here because the library accepts them in any size, uses the first of two paths where
//! Go uses the last, and allocates a list of all holes of a sparse file.

use std::io::{self, Read};

use bytes::Bytes;
use sluice_base::limits::{LimitError, TreeLimits, shortened};
use tar::{Entry, EntryType};

use super::read::ArchiveError;

/// The maximum size of a record before an entry, as in Go.
const LARGEST_RECORD: u64 = 1 << 20;

/// The attributes from records before an entry.
#[derive(Default)]
pub(super) struct Records {
    /// GNU's long name, which takes precedence over PAX.
    long_name: Option<Vec<u8>>,
    pax_path: Option<Vec<u8>>,
    pax_size: Option<u64>,
}

impl Records {
    /// Reads a record entry. Returns `false` for a regular entry.
    pub(super) fn take<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<bool, ArchiveError> {
        match entry.header().entry_type() {
            EntryType::GNULongName => {
                let mut name = read_record(entry)?;
                let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
                name.truncate(end);
                self.long_name = Some(name);
            }
            EntryType::XHeader => {
                let record = read_record(entry)?;
                (self.pax_path, self.pax_size) = (None, None);
                self.read_pax(&record)?;
            }
            EntryType::GNULongLink | EntryType::XGlobalHeader => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Parses `LENGTH KEY=VALUE\n` records; the last of equal keys counts, and an empty value is ignored.
    fn read_pax(&mut self, mut data: &[u8]) -> Result<(), ArchiveError> {
        while !data.is_empty() {
            let (record, rest) = split_record(data).ok_or_else(invalid)?;
            let at = record.iter().position(|byte| *byte == b'=').ok_or_else(invalid)?;
            let (key, value) = (record.get(..at), record.get(at + 1..).unwrap_or_default());
            match key.unwrap_or_default() {
                b"path" if value.contains(&0) => return Err(invalid()),
                b"path" => self.pax_path = (!value.is_empty()).then(|| value.to_vec()),
                b"size" => {
                    let text = std::str::from_utf8(value).ok();
                    let size = text.and_then(|text| text.parse().ok()).ok_or_else(invalid)?;
                    self.pax_size = Some(size);
                }
                key if key.starts_with(b"GNU.sparse.") => return Err(ArchiveError::Sparse),
                _ => {}
            }
            data = rest;
        }
        Ok(())
    }

    /// The name of an entry; clears the attributes.
    pub(super) fn name<R: Read>(&mut self, entry: &Entry<'_, R>) -> Result<String, ArchiveError> {
        let said = std::mem::take(self);
        // If two readers disagreed about a size, they would see different files in the same archive.
        let size = entry.header().entry_size().map_err(ArchiveError::Malformed)?;
        if said.pax_size.is_some_and(|said| said != size) {
            return Err(invalid());
        }
        let name = said.long_name.or(said.pax_path).unwrap_or_else(|| entry.path_bytes().into());
        let name = String::from_utf8_lossy(&name).into_owned();
        let limit = TreeLimits::DEFAULT.path;
        if name.len() > limit {
            let path = shortened(&name).into_owned();
            let error = LimitError { what: "bytes in a path", limit: limit as u64, path };
            return Err(ArchiveError::Entry(error.into()));
        }
        Ok(name)
    }
}

/// A record without its length, and the rest.
fn split_record(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = data.iter().take(20).position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(data.get(..space)?).ok()?.parse().ok()?;
    let (record, rest) = data.split_at_checked(length)?;
    Some((record.get(space + 1..)?.strip_suffix(b"\n")?, rest))
}

fn read_record<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, ArchiveError> {
    let size = entry.header().entry_size().map_err(ArchiveError::Malformed)?;
    if size > LARGEST_RECORD {
        return Err(ArchiveError::TooLarge { what: "bytes in a record", limit: LARGEST_RECORD });
    }
    read_exactly(entry, size).map(Vec::from)
}

/// Reads the content of a file. The claimed size is not trusted: memory grows with what is read.
pub(super) fn read_content<R: Read>(
    entry: &mut Entry<'_, R>,
    largest: u64,
) -> Result<Bytes, ArchiveError> {
    let size = entry.header().entry_size().map_err(ArchiveError::Malformed)?;
    if size > largest {
        return Err(ArchiveError::TooLarge { what: "unpacked bytes", limit: largest });
    }
    read_exactly(entry, size).map(Bytes::from)
}

fn read_exactly(stream: &mut impl Read, size: u64) -> Result<Box<[u8]>, ArchiveError> {
    const STEP: u64 = 64 << 10;
    let cut = || ArchiveError::Malformed(io::ErrorKind::UnexpectedEof.into());
    let mut content = Vec::new();
    let mut left = size;
    while left > 0 {
        let step = left.min(STEP.max(content.len() as u64));
        content.reserve_exact(usize::try_from(step).map_err(|_| cut())?);
        let read = stream.take(step).read_to_end(&mut content).map_err(ArchiveError::Malformed)?;
        if read as u64 != step {
            return Err(cut());
        }
        left -= step;
    }
    Ok(content.into_boxed_slice())
}

fn invalid() -> ArchiveError {
    ArchiveError::Malformed(io::Error::other("invalid record"))
}
