//! Public keys and signature verification.

use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};

use super::der::{BIT_STRING, INTEGER, OBJECT, Reader, SEQUENCE, pem_blocks};

const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// Why a text is not a public key, with the messages of Sigstore's library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not PEM.
    #[error("PEM decoding failed")]
    Pem,
    /// Another PEM block.
    #[error("unknown Public key PEM file type: {0}. Are you passing the correct public key?")]
    Label(String),
    /// An unsupported type.
    #[error("unsupported public key type")]
    Unsupported,
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    kind: Kind,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    P256,
    P384,
    Rsa,
    Ed25519,
}

/// A signature scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    /// cosign's with keys: SHA-256 for every key type; plain for Ed25519.
    Sha256,
    /// A JWS algorithm, such as `ES256`.
    Jws(Jws),
}

/// The JWS algorithms that notation allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Jws {
    Es256,
    Es384,
    Ps256,
    Ps384,
    Ps512,
}

impl Jws {
    /// Parses the name of an algorithm.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            _ => return None,
        })
    }
}

impl PublicKey {
    /// Parses a key in PEM.
    pub fn of_pem(text: &[u8]) -> Result<Self, KeyError> {
        let blocks = pem_blocks(text);
        let (label, content) = blocks.first().ok_or(KeyError::Pem)?;
        match label.as_str() {
            "PUBLIC KEY" => Self::of_spki(content).ok_or(KeyError::Unsupported),
            "RSA PUBLIC KEY" => Ok(Self { kind: Kind::Rsa, bytes: content.clone() }),
            other => Err(KeyError::Label(other.to_owned())),
        }
    }

    /// Parses a key as in certificates.
    pub(super) fn of_spki(der: &[u8]) -> Option<Self> {
        let mut outer = Reader(der);
        let whole = outer.expect(SEQUENCE)?;
        let mut inner = Reader(whole.content);
        let mut algorithm = inner.open(SEQUENCE)?;
        let oid = algorithm.expect(OBJECT)?.content;
        // The first byte is the number of unused bits in the last one.
        let (unused, bytes) = inner.expect(BIT_STRING)?.content.split_first()?;
        if *unused != 0 {
            return None;
        }
        let kind = match oid {
            EC => match algorithm.expect(OBJECT)?.content {
                P256 => Kind::P256,
                P384 => Kind::P384,
                _ => return None,
            },
            RSA => Kind::Rsa,
            ED25519 => Kind::Ed25519,
            _ => return None,
        };
        Some(Self { kind, bytes: bytes.to_vec() })
    }

    /// The one algorithm that notation allows for this key; a header cannot choose another.
    pub(super) fn jws(&self) -> Option<Jws> {
        match self.kind {
            Kind::P256 => Some(Jws::Es256),
            Kind::P384 => Some(Jws::Es384),
            Kind::Rsa => {
                let modulus = Reader(&self.bytes).open(SEQUENCE)?.expect(INTEGER)?.content;
                let size = modulus.len() - usize::from(modulus.first() == Some(&0));
                match size * 8 {
                    2048 => Some(Jws::Ps256),
                    3072 => Some(Jws::Ps384),
                    4096 => Some(Jws::Ps512),
                    _ => None,
                }
            }
            Kind::Ed25519 => None,
        }
    }

    /// Whether a signature of a message was made with this key.
    pub(super) fn verifies(&self, scheme: Scheme, message: &[u8], signature: &[u8]) -> bool {
        let algorithm: &dyn VerificationAlgorithm = match (scheme, self.kind) {
            (Scheme::Sha256, Kind::P256) => &signature::ECDSA_P256_SHA256_ASN1,
            (Scheme::Sha256, Kind::P384) => &signature::ECDSA_P384_SHA256_ASN1,
            (Scheme::Sha256, Kind::Rsa) => &signature::RSA_PKCS1_2048_8192_SHA256,
            (Scheme::Sha256, Kind::Ed25519) => &signature::ED25519,
            (Scheme::Jws(Jws::Es256), Kind::P256) => &signature::ECDSA_P256_SHA256_FIXED,
            (Scheme::Jws(Jws::Es384), Kind::P384) => &signature::ECDSA_P384_SHA384_FIXED,
            (Scheme::Jws(Jws::Ps256), Kind::Rsa) => &signature::RSA_PSS_2048_8192_SHA256,
            (Scheme::Jws(Jws::Ps384), Kind::Rsa) => &signature::RSA_PSS_2048_8192_SHA384,
            (Scheme::Jws(Jws::Ps512), Kind::Rsa) => &signature::RSA_PSS_2048_8192_SHA512,
            (Scheme::Jws(_), _) => return false,
        };
        UnparsedPublicKey::new(algorithm, &self.bytes).verify(message, signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_key_decides_its_algorithm() {
        let rsa = |bytes: usize| {
            let length = u16::try_from(bytes + 1).expect("short").to_be_bytes();
            let mut modulus = vec![INTEGER, 0x82, length[0], length[1], 0];
            modulus.extend(vec![0x80; bytes]);
            modulus.extend([INTEGER, 1, 3]);
            let length = u16::try_from(modulus.len()).expect("short").to_be_bytes();
            let mut key = vec![SEQUENCE, 0x82, length[0], length[1]];
            key.extend(modulus);
            PublicKey { kind: Kind::Rsa, bytes: key }.jws()
        };
        for (bytes, expected) in [
            (128, None),
            (256, Some(Jws::Ps256)),
            (300, None),
            (384, Some(Jws::Ps384)),
            (512, Some(Jws::Ps512)),
        ] {
            assert_eq!(rsa(bytes), expected, "{bytes}");
        }
        let of = |kind| PublicKey { kind, bytes: Vec::new() }.jws();
        assert_eq!(of(Kind::P256), Some(Jws::Es256));
        assert_eq!(of(Kind::P384), Some(Jws::Es384));
        assert_eq!(of(Kind::Ed25519), None);
        assert_eq!(of(Kind::Rsa), None);
    }
}
