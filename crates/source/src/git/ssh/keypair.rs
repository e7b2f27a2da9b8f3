//! Key pairs for repositories: made anew, or read from a file, in the form in which `flux` keeps them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use russh::keys::key::safe_rng;
use russh::keys::pkcs8;
use russh::keys::ssh_key::private::{KeypairData, RsaKeypair};
use russh::keys::ssh_key::{Algorithm, EcdsaCurve, PrivateKey};

/// What comes before the 32 bytes of an Ed25519 key in PKCS#8 of version 1, which every program reads.
const ED25519: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// How long the lines of an armour are.
const LINE: usize = 64;

/// What kind of key is made.
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

/// A key and its public half. It has no `Debug`: the key would be in it.
pub struct KeyPair {
    /// The private half in its armour: PKCS#8 where it was made here, the file's text otherwise.
    pub private: String,
    /// The line of the public half, with its end.
    pub public: String,
}

/// Why there is no key pair, in the words of Go's libraries.
#[derive(Debug, thiserror::Error)]
pub enum KeyPairError {
    /// There is no key in the text.
    #[error("ssh: no key found")]
    NoKey,
    /// A passphrase is needed.
    #[error("ssh: this private key is passphrase protected")]
    NeedsPassphrase,
    /// A passphrase is given for a key that has none, in OpenSSH's form.
    #[error("ssh: key is not password protected")]
    IsPlain,
    /// The same, in another form.
    #[error("ssh: not an encrypted key")]
    NotEncrypted,
    /// The passphrase is another.
    #[error("x509: decryption password incorrect")]
    WrongPassphrase,
    /// A key of a kind or in a form that cannot be read.
    #[error("ssh: unsupported key type {0:?}")]
    Unsupported(String),
    /// Anything else.
    #[error("ssh: {0}")]
    Other(String),
}

impl KeyPair {
    /// Makes a new key.
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

    /// Reads a key; an empty passphrase is none.
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

/// What the armour of a key says about it.
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

/// The line that a server is given.
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
