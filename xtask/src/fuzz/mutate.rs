//! Inputs out of inputs.

/// Inputs do not grow beyond this.
const LARGEST: usize = 4096;

/// What has a meaning somewhere, so that mutations get past the first check.
const TOKENS: [&str; 64] = [
    "---\n",
    "...\n",
    "- ",
    ": ",
    "? ",
    "{",
    "}",
    "[",
    "]",
    "&a ",
    "*a",
    "<<: ",
    "!!int ",
    "!!binary ",
    "|\n",
    ">-\n",
    "\"",
    "'",
    "\\",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{85}",
    "null",
    "~",
    "yes",
    "0o7",
    "1e3",
    ".inf",
    "2001-01-01",
    "$patch: delete\n",
    "$patch: replace\n",
    "$patch: merge\n",
    "metadata:\n",
    "  name: x\n",
    "kind: List\n",
    "items:\n",
    "spec:\n",
    "op: add\n",
    "path: /a/-\n",
    "$(VAR)",
    "${x:=y}",
    "[name=x]",
    "*",
    "\\.",
    "apiVersion: v1\n",
    "#",
    "\n",
    "ENC[AES256_GCM,data:",
    "-----BEGIN ",
    "-----\n",
    "self.",
    ".all(x, ",
    "**/",
    "{a,b}",
    "0000",
    "\0",
    "</a>",
    "&a;",
    "null,",
    "1e999",
    "18446744073709551615",
    "-9223372036854775808",
    "sha256:",
];

/// Numbers that lengths like to be.
const LENGTHS: [u32; 6] = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x1000];

/// A small generator of numbers (splitmix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % (limit.max(1) as u64)).unwrap_or_default()
    }
}

/// A seed with a few changes; parts of other seeds among them.
pub(super) fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let pick = |random: &mut Random| {
        let seed = random.below(seeds.len());
        seeds.get(seed).cloned().unwrap_or_default()
    };
    let mut input = pick(random);
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        let end = (at + random.below(40)).min(input.len());
        match random.below(9) {
            0 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            1 => drop(input.drain(at..end)),
            2 => {
                let copy = input.get(at..end).unwrap_or_default().to_vec();
                let to = random.below(input.len() + 1);
                let times = 1 + random.below(4) * random.below(40);
                input.splice(to..to, copy.repeat(times));
            }
            3 => {
                let other = pick(random);
                let from = random.below(other.len() + 1);
                let until = (from + random.below(200)).min(other.len());
                input.splice(at..at, other.get(from..until).unwrap_or_default().to_vec());
            }
            4 => input.truncate(at),
            5 => {
                let length = LENGTHS.get(random.below(LENGTHS.len())).copied().unwrap_or_default();
                let end = (at + 4).min(input.len());
                input.splice(at..end, length.to_be_bytes());
            }
            6 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = u8::try_from(random.below(256)).unwrap_or_default();
                }
            }
            _ => {
                let token = TOKENS.get(random.below(TOKENS.len())).copied().unwrap_or_default();
                input.splice(at..at, token.bytes());
            }
        }
        input.truncate(LARGEST);
    }
    input
}
