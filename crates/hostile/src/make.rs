//! What several formats make inputs with.

use std::fmt::Display;
use std::io::Write as _;

use flate2::write::{GzEncoder, ZlibEncoder};
use flate2::{Compress, Compression, FlushCompress};
use tokio::runtime::Runtime;

/// An error as the reason that a user sees.
pub(crate) fn reason(error: impl Display) -> String {
    error.to_string()
}

/// A text of something many times over.
pub(crate) fn times(part: &str, count: usize) -> Vec<u8> {
    part.repeat(count).into_bytes()
}

/// `{n}` replaced by numbers from 0.
pub(crate) fn numbered(part: &str, count: usize) -> String {
    (0..count).map(|number| part.replace("{n}", &number.to_string())).collect()
}

/// One thing in another, in another.
pub(crate) fn nested(open: &str, inner: &str, close: &str, depth: usize) -> Vec<u8> {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth)).into_bytes()
}

/// Several parts, one after another.
pub(crate) fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// `gzip` of so many mebibytes of zeros, each a member of its own.
pub(crate) fn gzip_zeros(mebibytes: usize) -> Vec<u8> {
    gzip(&vec![0; 1 << 20]).repeat(mebibytes)
}

/// `zlib`, packed only if it is worth it: making a packer costs more than the bytes of a small object.
pub(crate) fn zlib(bytes: &[u8]) -> Vec<u8> {
    if let Ok(length) = u16::try_from(bytes.len()) {
        let head = [&[0x78, 1, 1][..], &length.to_le_bytes(), &(!length).to_le_bytes()].concat();
        return [head.as_slice(), bytes, &adler32(bytes).to_be_bytes()].concat();
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn adler32(bytes: &[u8]) -> u32 {
    let (low, high) = bytes.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}

/// `zlib` of so many mebibytes of zeros, made of one block that repeats.
pub(crate) fn zlib_zeros(mebibytes: usize) -> Vec<u8> {
    const PRIME: u64 = 65_521;
    let mut deflate = Compress::new(Compression::best(), false);
    let mut block = Vec::with_capacity(8 << 10);
    let _ = deflate.compress_vec(&vec![0; 1 << 20], &mut block, FlushCompress::Full);
    let count = (mebibytes as u64) << 20;
    let sum = u32::try_from(count % PRIME).unwrap_or_default() << 16 | 1;
    // A header, the blocks, an empty last block, Adler's sum of zeros.
    [&[0x78, 0xda][..], &block.repeat(mebibytes), &[3, 0], &sum.to_be_bytes()].concat()
}

/// A runtime of one thread, the waits on it passing at once.
pub(crate) fn runtime() -> Result<Runtime, String> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().map_err(reason)
}

/// Runs a future on a runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, String> {
    Ok(runtime()?.block_on(future))
}

/// Files in one text: a line `-- path --` before each.
pub(crate) fn files(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        let head = line.trim_end().strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --"));
        match (head, found.last_mut()) {
            (Some(path), _) => found.push((path.to_owned(), String::new())),
            (None, Some((_, content))) => content.push_str(line),
            (None, None) => {}
        }
    }
    found
}
