//! Bech32, the encoding of age keys.

const LETTERS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Decodes a text with the given lower-case prefix; the text is all upper or all lower case.
pub(super) fn decode(text: &str, prefix: &str) -> Option<Vec<u8>> {
    let lower = text.to_ascii_lowercase();
    if text != lower && text != text.to_ascii_uppercase() {
        return None;
    }
    let (found, data) = lower.rsplit_once('1')?;
    if found != prefix {
        return None;
    }
    let digit = |byte: u8| {
        let at = LETTERS.iter().position(|letter| *letter == byte)?;
        u8::try_from(at).ok()
    };
    let digits: Vec<u8> = data.bytes().map(digit).collect::<Option<_>>()?;
    let expanded = prefix.bytes().map(|byte| byte >> 5).chain([0]);
    let expanded = expanded.chain(prefix.bytes().map(|byte| byte & 31));
    if checksum(expanded.chain(digits.iter().copied())) != 1 {
        return None;
    }
    bytes(digits.get(..digits.len().checked_sub(6)?)?)
}

fn checksum(digits: impl Iterator<Item = u8>) -> u32 {
    const GENERATORS: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    digits.fold(1, |sum, digit| {
        let top = sum >> 25;
        let next = ((sum & 0x01ff_ffff) << 5) ^ u32::from(digit);
        let picked = GENERATORS.iter().enumerate().filter(|(bit, _)| (top >> bit) & 1 == 1);
        picked.fold(next, |sum, (_, generator)| sum ^ generator)
    })
}

/// Converts groups of five bits to bytes; the padding must be zero and shorter than a group.
fn bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut held, mut bits) = (Vec::new(), 0_u16, 0);
    for digit in digits {
        held = (held << 5) | u16::from(*digit);
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(held >> bits).ok()?);
            held &= (1 << bits) - 1;
        }
    }
    (bits < 5 && held == 0).then_some(out)
}
