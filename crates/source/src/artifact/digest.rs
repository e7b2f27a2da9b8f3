//! Digests, written `<algorithm>:<hex>`.

use std::fmt;
use std::str::FromStr;

/// A hash algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum DigestAlgorithm {
    /// The default.
    #[default]
    Sha256,
    /// By `--artifact-digest-algo=sha384`.
    Sha384,
    /// By `--artifact-digest-algo=sha512`.
    Sha512,
    /// By `--artifact-digest-algo=blake3`.
    Blake3,
}

/// A digest with a valid length for its algorithm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    algorithm: DigestAlgorithm,
    hex: String,
}

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// An unsupported algorithm.
    #[error("unsupported digest algorithm {0:?}")]
    Algorithm(String),
    /// No colon, or an invalid hex text for that algorithm.
    #[error("invalid digest {0:?}")]
    Format(String),
}

/// Hashes content in chunks.
pub struct Hasher {
    algorithm: DigestAlgorithm,
    state: State,
}

enum State {
    Ring(Box<ring::digest::Context>),
    Blake3(Box<blake3::Hasher>),
}

impl DigestAlgorithm {
    /// The name before the colon.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
            Self::Blake3 => "blake3",
        }
    }

    fn hex_length(self) -> usize {
        match self {
            Self::Sha256 | Self::Blake3 => 64,
            Self::Sha384 => 96,
            Self::Sha512 => 128,
        }
    }
}

impl FromStr for DigestAlgorithm {
    type Err = DigestError;

    fn from_str(name: &str) -> Result<Self, DigestError> {
        [Self::Sha256, Self::Sha384, Self::Sha512, Self::Blake3]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or_else(|| DigestError::Algorithm(name.to_owned()))
    }
}

impl Digest {
    /// Computes the digest of content.
    pub fn of(algorithm: DigestAlgorithm, content: &[u8]) -> Self {
        let mut hasher = Hasher::new(algorithm);
        hasher.update(content);
        hasher.finish()
    }

    /// The algorithm before the colon.
    pub fn algorithm(&self) -> DigestAlgorithm {
        self.algorithm
    }

    /// The text after the colon.
    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// Whether this is the digest of the content.
    pub fn matches(&self, content: &[u8]) -> bool {
        Self::of(self.algorithm, content) == *self
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.algorithm.name(), self.hex)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let malformed = || DigestError::Format(text.to_owned());
        let (name, hex) = text.split_once(':').ok_or_else(malformed)?;
        let algorithm: DigestAlgorithm = name.parse()?;
        let is_hex = hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if hex.len() != algorithm.hex_length() || !is_hex {
            return Err(malformed());
        }
        Ok(Self { algorithm, hex: hex.to_owned() })
    }
}

impl Hasher {
    /// A hasher without input.
    pub fn new(algorithm: DigestAlgorithm) -> Self {
        let state = match algorithm {
            DigestAlgorithm::Sha256 => ring_state(&ring::digest::SHA256),
            DigestAlgorithm::Sha384 => ring_state(&ring::digest::SHA384),
            DigestAlgorithm::Sha512 => ring_state(&ring::digest::SHA512),
            DigestAlgorithm::Blake3 => State::Blake3(Box::new(blake3::Hasher::new())),
        };
        Self { algorithm, state }
    }

    /// Adds a chunk.
    pub fn update(&mut self, piece: &[u8]) {
        match &mut self.state {
            State::Ring(context) => context.update(piece),
            State::Blake3(hasher) => {
                hasher.update(piece);
            }
        }
    }

    /// The digest of all chunks.
    pub fn finish(self) -> Digest {
        let hex = match self.state {
            State::Ring(context) => hex(context.finish().as_ref()),
            State::Blake3(hasher) => hasher.finalize().to_hex().to_string(),
        };
        Digest { algorithm: self.algorithm, hex }
    }
}

fn ring_state(algorithm: &'static ring::digest::Algorithm) -> State {
    State::Ring(Box::new(ring::digest::Context::new(algorithm)))
}

/// Bytes as lower-case hex text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_well_known() {
        let cases = [
            (
                DigestAlgorithm::Sha256,
                "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                DigestAlgorithm::Blake3,
                "blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
            ),
        ];
        for (algorithm, text) in cases {
            let digest = Digest::of(algorithm, b"");
            assert_eq!(digest.to_string(), text);
            assert_eq!(text.parse(), Ok(digest));
        }
    }

    #[test]
    fn texts_that_no_algorithm_writes_are_refused() {
        for bad in ["", "sha256", "sha256:", "sha256:AB", "md5:d41d8cd98f00b204e9800998ecf8427e"] {
            assert!(bad.parse::<Digest>().is_err(), "{bad:?}");
        }
    }
}
