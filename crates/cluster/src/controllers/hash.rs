//! Template hashes: 32-bit FNV, in the letters of generated names.

use serde_json::Value;

const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const OFFSET: u32 = 0x811c_9dc5;
const PRIME: u32 = 0x0100_0193;

/// FNV-1a.
pub(super) fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME))
}

/// FNV-1.
pub(super) fn fnv1(bytes: &[u8]) -> u32 {
    bytes.iter().fold(OFFSET, |hash, byte| hash.wrapping_mul(PRIME) ^ u32::from(*byte))
}

/// The digits of a number in letters that names may contain.
pub(super) fn safe(number: u32) -> String {
    let digit = |byte: u8| char::from(LETTERS[usize::from(byte) % LETTERS.len()]);
    number.to_string().bytes().map(digit).collect()
}

/// The hash of a pod template. Upstream hashes a dump of its Go structures; this one hashes the
/// JSON, so the values differ, but equal templates have equal hashes.
pub(super) fn template(template: &Value, collisions: Option<i64>) -> String {
    let mut bytes = serde_json::to_vec(template).unwrap_or_default();
    if let Some(collisions) = collisions {
        bytes.extend(collisions.to_le_bytes());
    }
    safe(fnv1a(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_the_known_ones_in_safe_letters() {
        assert_eq!(fnv1a(b"a"), 0xe40c_292c);
        assert_eq!(fnv1(b"a"), 0x050c_5d7e);
        assert_eq!(safe(1_234_567_890), "56789bcdf4");
    }
}
