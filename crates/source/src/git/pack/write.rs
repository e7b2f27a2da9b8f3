//! Writes a packfile of whole objects, for repositories in memory.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::git::object::{Object, ObjectKind};

/// A packfile with these objects, without deltas.
pub fn write<'a>(objects: impl ExactSizeIterator<Item = &'a Object>) -> io::Result<Vec<u8>> {
    let mut pack = b"PACK\0\0\0\x02".to_vec();
    let count = u32::try_from(objects.len()).map_err(io::Error::other)?;
    pack.extend_from_slice(&count.to_be_bytes());
    for object in objects {
        write_header(&mut pack, code(object.kind), object.data.len());
        pack = deflate(pack, &object.data)?;
    }
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, &pack);
    pack.extend_from_slice(digest.as_ref());
    Ok(pack)
}

pub(super) fn deflate(out: Vec<u8>, data: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(out, Compression::fast());
    encoder.write_all(data)?;
    encoder.finish()
}

pub(super) fn write_header(out: &mut Vec<u8>, code: u8, size: usize) {
    let low = |bits: usize| u8::try_from(bits & 0x7f).unwrap_or_default();
    let mut byte = code << 4 | low(size & 15);
    let mut rest = size >> 4;
    while rest > 0 {
        out.push(byte | 0x80);
        byte = low(rest);
        rest >>= 7;
    }
    out.push(byte);
}

fn code(kind: ObjectKind) -> u8 {
    match kind {
        ObjectKind::Commit => 1,
        ObjectKind::Tree => 2,
        ObjectKind::Blob => 3,
        ObjectKind::Tag => 4,
    }
}
