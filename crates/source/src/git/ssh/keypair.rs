//! Key pairs for repositories: generated, or read from a file, in the format of `flux`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use russh::keys::key::safe_rng;
use russh::keys::pkcs8;
use russh::keys::ssh_key::private::{KeypairData, RsaKeypair};
use russh::keys::ssh_key::{Algorithm, EcdsaCurve, PrivateKey};

/// The prefix of a 32-byte Ed25519 key in PKCS#8 version 1, which all programs read.
const ED25519: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// The line length of PEM.
const LINE: usize = 64;

/// The type of a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAlgorithm {
    /// RSA, with so many bits.
    Rsa(usize),
    /// ECDSA on the curve P-256.
    EcdsaP256,
    /// ECDSA on the curve P-384.
    EcdsaP384,
    /// ECDSA on the curve P-521.
    EcdsaP521,
    /// Ed25519.
    Ed25519,
}

/// A private key and its public key. It has no `Debug`, which would show the key.
pub struct KeyPair {
    /// The private key in PEM: PKCS#8 if it was generated here, the file's text otherwise.
    pub private: String,
    /// The line of the public key, with its newline.
    pub public: String,
}

/// Why there is no key pair, with the messages of Go's libraries.
#[derive(Debug, thiserror::Error)]
pub enum KeyPairError {
    /// The text has no key.
    #[error("ssh: no key found")]
    NoKey,
    /// A passphrase is needed.
    #[error("ssh: this private key is passphrase protected")]
    NeedsPassphrase,
    /// A passphrase is given for an unencrypted key in OpenSSH's format.
    #[error("ssh: key is not password protected")]
    IsPlain,
    /// The same, in another format.
    #[error("ssh: not an encrypted key")]
    NotEncrypted,
    /// The passphrase is wrong.
    #[error("x509: decryption password incorrect")]
    WrongPassphrase,
    /// An unsupported type or format.
    #[error("ssh: unsupported key type {0:?}")]
    Unsupported(String),
    /// Anything else.
    #[error("ssh: {0}")]
    Other(String),
}

impl KeyPair {
    /// Generates a key.
    pub fn generate(algorithm: KeyAlgorithm) -> Result<Self, KeyPairError> {
        let mut random = safe_rng();
        let curve = |curve| Algorithm::Ecdsa { curve };
        let key = match algorithm {
            KeyAlgorithm::Rsa(bits) => RsaKeypair::random(&mut random, bits)
                .and_then(|pair| PrivateKey::new(KeypairData::Rsa(pair), "")),
            KeyAlgorithm::EcdsaP256 => PrivateKey::random(&mut random, curve(EcdsaCurve::NistP256)),
            KeyAlgorithm::EcdsaP384 => PrivateKey::random(&mut random, curve(EcdsaCurve::NistP384)),
            KeyAlgorithm::EcdsaP521 => PrivateKey::random(&mut random, curve(EcdsaCurve::NistP521)),
            KeyAlgorithm::Ed25519 => PrivateKey::random(&mut random, Algorithm::Ed25519),
        };
        let key = key.map_err(other)?;
        let encoded = match key.key_data() {
            KeypairData::Ed25519(pair) => [&ED25519[..], &pair.private.to_bytes()[..]].concat(),
            _ => pkcs8::encode_pkcs8(&key).map_err(other)?,
        };
        Ok(Self { private: armoured(&encoded), public: line(&key)? })
    }

    /// Reads a key; an empty passphrase means none.
    pub fn read(text: &str, passphrase: &str) -> Result<Self, KeyPairError> {
        let form = Form::of(text).ok_or(KeyPairError::NoKey)?;
        let given = Some(passphrase).filter(|passphrase| !passphrase.is_empty());
        match (given, form.is_encrypted) {
            (None, true) => return Err(KeyPairError::NeedsPassphrase),
            (Some(_), false) if form.label == "OPENSSH PRIVATE KEY" => {
                return Err(KeyPairError::IsPlain);
            }
            (Some(_), false) => return Err(KeyPairError::NotEncrypted),
            _ => {}
        }
        if !form.is_readable() {
            return Err(KeyPairError::Unsupported(form.label.to_owned()));
        }
        let key = super::read_private_key(text, given).map_err(|error| match given {
            Some(_) => KeyPairError::WrongPassphrase,
            None => other(error),
        })?;
        Ok(Self { private: text.to_owned(), public: line(&key)? })
    }
}

/// The format of a key, from its PEM header.
struct Form<'t> {
    label: &'t str,
    is_encrypted: bool,
}

impl<'t> Form<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let begin = text.lines().map(str::trim).find(|line| line.starts_with("-----BEGIN "))?;
        let label = begin.strip_prefix("-----BEGIN ")?.strip_suffix("-----")?;
        text.contains(&format!("-----END {label}-----")).then_some(())?;
        let is_encrypted = match label {
            "OPENSSH PRIVATE KEY" => super::is_encrypted(text.as_bytes()),
            _ => text.contains("Proc-Type: 4,ENCRYPTED"),
        };
        Some(Self { label, is_encrypted })
    }

    fn is_readable(&self) -> bool {
        let known = ["OPENSSH PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY"];
        known.contains(&self.label)
    }
}

/// The public key as a line for a server.
fn line(key: &PrivateKey) -> Result<String, KeyPairError> {
    let mut public = key.public_key().clone();
    public.set_comment("");
    let line = public.to_openssh().map_err(other)?;
    Ok(format!("{}\n", line.trim_end()))
}

fn armoured(encoded: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(encoded);
    let lines = text.as_bytes().chunks(LINE).map(String::from_utf8_lossy);
    let mut out = String::from("-----BEGIN PRIVATE KEY-----\n");
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
    out + "-----END PRIVATE KEY-----\n"
}

fn other(error: impl std::fmt::Display) -> KeyPairError {
    KeyPairError::Other(error.to_string())
}
