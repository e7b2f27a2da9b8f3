//! Go's standard base64: line ends are skipped, spare bits are ignored, and an error names the byte at which decoding
//! stopped.

/// The bytes that `text` stands for.
pub(super) fn read(text: &str) -> Result<Vec<u8>, String> {
    decode(text.as_bytes()).map_err(|at| format!("illegal base64 data at input byte {at}"))
}

fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    loop {
        let mut group = [0_u8; 4];
        let mut filled = 0;
        while filled < 4 {
            let Some(&byte) = text.get(at) else {
                return if filled == 0 { Ok(out) } else { Err(at - filled) };
            };
            at += 1;
            match (sextet(byte), byte) {
                (Some(value), _) => {
                    group[filled] = value;
                    filled += 1;
                }
                (None, b'\r' | b'\n') => {}
                (None, b'=') => {
                    padding(text, at, filled)?;
                    push(&mut out, group, filled - 1);
                    return Ok(out);
                }
                (None, _) => return Err(at - 1),
            }
        }
        push(&mut out, group, 3);
    }
}

/// Checks what follows the first `=`, which lies before `at`.
fn padding(text: &[u8], at: usize, filled: usize) -> Result<(), usize> {
    let skip_lines = |mut at: usize| {
        while matches!(text.get(at), Some(b'\r' | b'\n')) {
            at += 1;
        }
        at
    };
    let mut at = match filled {
        0 | 1 => return Err(at - 1),
        2 => {
            let second = skip_lines(at);
            match text.get(second) {
                Some(b'=') => second + 1,
                Some(_) => return Err(second - 1),
                None => return Err(text.len()),
            }
        }
        _ => at,
    };
    at = skip_lines(at);
    if at < text.len() { Err(at) } else { Ok(()) }
}

fn push(out: &mut Vec<u8>, group: [u8; 4], bytes: usize) {
    let word = group.iter().fold(0_u32, |word, sextet| (word << 6) | u32::from(*sextet));
    out.extend(&word.to_be_bytes()[1..=bytes]);
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}
