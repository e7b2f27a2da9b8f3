//! Packfiles: reads objects within limits, and writes them.

mod delta;
mod write;

use std::collections::HashMap;

use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};

pub use write::write;

use super::error::{Cause, malformed};
use super::object::{ObjectId, ObjectKind, Objects};
use super::remote::Budget;

/// Limits of what a remote may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitLimits {
    /// Bytes of a packfile.
    pub pack_bytes: u64,
    /// Objects in it.
    pub objects: u64,
    /// Bytes of one object.
    pub object_bytes: u64,
    /// Bytes of all objects, unpacked.
    pub total_bytes: u64,
    /// Unpacked bytes per packed byte. Small packs may exceed it, see [`Self::RATIO_FREE`].
    pub ratio: u64,
    /// The maximum length of a chain of deltas.
    pub delta_depth: u32,
    /// The number of refs.
    pub refs: u64,
    /// Bytes of a ref's name.
    pub ref_name_bytes: u64,
    /// Bytes of the names of all refs.
    pub ref_names_bytes: u64,
    /// Bytes of the server's capabilities.
    pub capability_bytes: u64,
    /// Lines of an advertisement that are neither refs nor capabilities.
    pub idle_lines: u64,
    /// Bytes beside a packfile: progress, shallow commits, acknowledgements.
    pub talk_bytes: u64,
}

impl GitLimits {
    /// The size below which the ratio is not checked: deltas of large similar files compress extremely well.
    pub const RATIO_FREE: u64 = 96 << 20;
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            pack_bytes: 512 << 20,
            objects: 2_000_000,
            object_bytes: 256 << 20,
            total_bytes: 1 << 30,
            ratio: 200,
            // The maximum that git itself can be configured to write.
            delta_depth: 4095,
            refs: 500_000,
            // The longest path of a ref file.
            ref_name_bytes: 4096,
            ref_names_bytes: 32 << 20,
            capability_bytes: 128 << 10,
            idle_lines: 100_000,
            talk_bytes: 16 << 20,
        }
    }
}

impl GitLimits {
    /// The limits of one fetch.
    pub(super) fn within(self, budget: Budget) -> Self {
        match budget {
            Budget::Repository => self,
            Budget::History => Self {
                pack_bytes: self.pack_bytes.min(32 << 20),
                objects: self.objects.min(100_000),
                total_bytes: self.total_bytes.min(64 << 20),
                ..self
            },
        }
    }
}

/// A delta that waits for its base.
struct Waiting {
    offset: usize,
    delta: Bytes,
}

/// An object that may be the base of others.
struct Resolved {
    offset: usize,
    kind: ObjectKind,
    data: Bytes,
    depth: u32,
}

/// Reads a packfile. Every object's id is computed from its content.
pub fn read(pack: &[u8], limits: GitLimits) -> Result<Objects, Cause> {
    let mut reader = Reader::open(pack, limits)?;
    let mut ready = Vec::new();
    let mut by_offset: HashMap<usize, Vec<Waiting>> = HashMap::new();
    let mut by_id: HashMap<ObjectId, Vec<Waiting>> = HashMap::new();
    for _ in 0..reader.count {
        let offset = reader.at;
        let (base, data) = reader.entry()?;
        match base {
            Base::Whole(kind) => ready.push(Resolved { offset, kind, data, depth: 0 }),
            Base::Offset(of) => {
                by_offset.entry(of).or_default().push(Waiting { offset, delta: data });
            }
            Base::Id(id) => by_id.entry(id).or_default().push(Waiting { offset, delta: data }),
        }
    }
    reader.finish()?;
    let mut objects = Objects::default();
    while let Some(base) = ready.pop() {
        let id = objects.receive(base.kind, base.data.clone())?;
        let waiting = by_offset.remove(&base.offset).into_iter().chain(by_id.remove(&id)).flatten();
        for Waiting { offset, delta } in waiting {
            if base.depth >= limits.delta_depth {
                let limit = u64::from(limits.delta_depth);
                return Err(Cause::TooLarge { what: "deltas in a row", limit });
            }
            let size = delta::result_size(&delta)?;
            reader.account(size)?;
            let data = delta::apply(&base.data, &delta)?.into();
            ready.push(Resolved { offset, kind: base.kind, data, depth: base.depth + 1 });
        }
    }
    // Entries that still wait have a missing base, or form a cycle.
    if by_offset.is_empty() && by_id.is_empty() {
        Ok(objects)
    } else {
        Err(malformed("the packfile has deltas without their base"))
    }
}

/// The base of an entry.
enum Base {
    Whole(ObjectKind),
    Offset(usize),
    Id(ObjectId),
}

struct Reader<'a> {
    pack: &'a [u8],
    at: usize,
    count: u32,
    inflate: Decompress,
    limits: GitLimits,
    total: u64,
}

impl<'a> Reader<'a> {
    fn open(pack: &'a [u8], limits: GitLimits) -> Result<Self, Cause> {
        if pack.len() as u64 > limits.pack_bytes {
            return Err(Cause::TooLarge { what: "packed bytes", limit: limits.pack_bytes });
        }
        let field = |at: usize| {
            let bytes: Option<[u8; 4]> =
                pack.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map(u32::from_be_bytes)
        };
        let (Some(b"PACK"), Some(2 | 3), Some(count)) = (pack.get(..4), field(4), field(8)) else {
            return Err(malformed("not a packfile"));
        };
        if u64::from(count) > limits.objects {
            return Err(Cause::TooLarge { what: "objects", limit: limits.objects });
        }
        // A few bytes of deltas can copy a large object a thousand times.
        let by_ratio = (pack.len() as u64).saturating_mul(limits.ratio);
        let total_bytes = limits.total_bytes.min(by_ratio.max(GitLimits::RATIO_FREE));
        let limits = GitLimits { total_bytes, ..limits };
        Ok(Self { pack, at: 12, count, inflate: Decompress::new(true), limits, total: 0 })
    }

    fn byte(&mut self) -> Result<u8, Cause> {
        let byte = self.pack.get(self.at).copied().ok_or_else(truncated)?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads one entry: its base, and its inflated content or delta.
    fn entry(&mut self) -> Result<(Base, Bytes), Cause> {
        let start = self.at;
        let mut byte = self.byte()?;
        let code = byte >> 4 & 7;
        let mut size = u64::from(byte & 15);
        let mut shift = 4;
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            if shift > 56 {
                return Err(malformed("the size of an object overflows"));
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let base = match code {
            1 => Base::Whole(ObjectKind::Commit),
            2 => Base::Whole(ObjectKind::Tree),
            3 => Base::Whole(ObjectKind::Blob),
            4 => Base::Whole(ObjectKind::Tag),
            6 => {
                let back = self.back_offset()?;
                // A base always comes before, so offsets cannot form a cycle.
                let of = start.checked_sub(back).filter(|of| *of >= 12 && back > 0);
                Base::Offset(of.ok_or_else(|| malformed("a delta's base lies outside"))?)
            }
            7 => {
                let bytes = self.pack.get(self.at..self.at + 20).ok_or_else(truncated)?;
                self.at += 20;
                Base::Id(ObjectId::from_bytes(bytes).ok_or_else(truncated)?)
            }
            _ => return Err(malformed(format!("unknown object type {code}"))),
        };
        self.account(size)?;
        Ok((base, self.inflate(size)?.into()))
    }

    fn back_offset(&mut self) -> Result<usize, Cause> {
        let mut byte = self.byte()?;
        let mut back = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            back = back
                .checked_add(1)
                .and_then(|back| back.checked_mul(128))
                .and_then(|back| back.checked_add(usize::from(byte & 0x7f)))
                .ok_or_else(|| malformed("the offset of a delta overflows"))?;
        }
        Ok(back)
    }

    /// Counts bytes before they are allocated.
    fn account(&mut self, size: u64) -> Result<(), Cause> {
        if size > self.limits.object_bytes {
            return Err(Cause::TooLarge {
                what: "bytes in an object",
                limit: self.limits.object_bytes,
            });
        }
        self.total = self.total.saturating_add(size);
        if self.total > self.limits.total_bytes {
            return Err(Cause::TooLarge { what: "unpacked bytes", limit: self.limits.total_bytes });
        }
        Ok(())
    }

    /// Inflates exactly that many bytes. The claimed size is not trusted: memory grows with the data.
    fn inflate(&mut self, size: u64) -> Result<Vec<u8>, Cause> {
        const STEP: usize = 64 << 10;
        let size = usize::try_from(size).map_err(|_| malformed("an object does not fit"))?;
        self.inflate.reset(true);
        let mut out = Vec::with_capacity(size.min(STEP) + 1);
        loop {
            let rest = self.pack.get(self.at..).unwrap_or_default();
            let (read, made) = (self.inflate.total_in(), out.len());
            // One byte more than claimed is enough to detect that there is more.
            if out.len() == out.capacity() {
                out.reserve_exact(STEP.max(out.len()).min(size + 1 - out.len().min(size)));
            }
            let status = self
                .inflate
                .decompress_vec(rest, &mut out, FlushDecompress::None)
                .map_err(|error| match error.to_string() {
                    text if text.contains("incorrect data check") => Cause::Checksum,
                    text => malformed(format!("zlib: {text}")),
                })?;
            let progress = usize::try_from(self.inflate.total_in() - read).unwrap_or(usize::MAX);
            self.at = self.at.saturating_add(progress);
            if out.len() > size {
                return Err(malformed("an object is longer than it says"));
            }
            match status {
                Status::StreamEnd if out.len() == size => return Ok(out),
                Status::StreamEnd => return Err(malformed("an object is shorter than it says")),
                _ if progress == 0 && out.len() == made => return Err(truncated()),
                _ => {}
            }
        }
    }

    /// Checks that only the checksum follows the last entry.
    fn finish(&self) -> Result<(), Cause> {
        let (content, checksum) = self.pack.split_at_checked(self.at).ok_or_else(truncated)?;
        let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, content);
        if digest.as_ref() == checksum {
            Ok(())
        } else {
            Err(malformed("the packfile's checksum differs"))
        }
    }
}

fn truncated() -> Cause {
    malformed("the packfile ends early")
}

#[cfg(test)]
mod tests;
