//! Deltas: instructions that copy parts of a base or insert new bytes.

use crate::git::error::{Cause, malformed};

/// The size of a delta's result.
pub(super) fn result_size(delta: &[u8]) -> Result<u64, Cause> {
    let mut rest = delta;
    size(&mut rest)?;
    size(&mut rest)
}

/// Applies a delta to its base. The result's size has been checked against the limits.
pub(super) fn apply(base: &[u8], delta: &[u8]) -> Result<Vec<u8>, Cause> {
    let mut rest = delta;
    if size(&mut rest)? != base.len() as u64 {
        return Err(malformed("a delta is for another base"));
    }
    let expected =
        usize::try_from(size(&mut rest)?).map_err(|_| malformed("a delta does not fit"))?;
    let mut out = Vec::with_capacity(expected.min(1 << 20));
    while let Some(code) = take(&mut rest) {
        let piece = if code & 0x80 != 0 {
            let (offset, length) = copy_range(code, &mut rest)?;
            base.get(offset..offset + length)
        } else if code != 0 {
            let (piece, after) = rest.split_at_checked(usize::from(code)).ok_or_else(truncated)?;
            rest = after;
            Some(piece)
        } else {
            None
        };
        let piece = piece.ok_or_else(|| malformed("a delta copies from outside its base"))?;
        if out.len() + piece.len() > expected {
            return Err(malformed("a delta makes more than it says"));
        }
        out.extend_from_slice(piece);
    }
    if out.len() == expected { Ok(out) } else { Err(malformed("a delta makes less than it says")) }
}

/// The range of a copy instruction: the bits of the opcode say which bytes of offset and size follow.
fn copy_range(code: u8, rest: &mut &[u8]) -> Result<(usize, usize), Cause> {
    let (mut offset, mut length) = (0, 0);
    for bit in 0..4 {
        if code & 1 << bit != 0 {
            offset |= usize::from(take(rest).ok_or_else(truncated)?) << (8 * bit);
        }
    }
    for bit in 0..3 {
        if code & 0x10 << bit != 0 {
            length |= usize::from(take(rest).ok_or_else(truncated)?) << (8 * bit);
        }
    }
    Ok((offset, if length == 0 { 0x10000 } else { length }))
}

fn size(rest: &mut &[u8]) -> Result<u64, Cause> {
    let mut size = 0_u64;
    let mut shift = 0;
    loop {
        let byte = take(rest).ok_or_else(truncated)?;
        if shift > 56 {
            return Err(malformed("a size in a delta overflows"));
        }
        size |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Ok(size);
        }
    }
}

fn take(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

fn truncated() -> Cause {
    malformed("a delta ends early")
}
