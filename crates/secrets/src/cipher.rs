//! One encrypted value: `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`.

use aes_gcm::aead::consts::{U12, U16, U32};
use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::aes::Aes256;
use aes_gcm::{AeadCore, AesGcm};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::time::parse_rfc3339_nano;
use crate::tree::{Comment, Value};
use sluice_base::redacted::Redacted;

/// The data key of a document.
pub type DataKey = Redacted<Vec<u8>>;

/// Why a value could not be decrypted. Never contains the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CipherError {
    /// Not in the format of an encrypted value.
    #[error("Input string <redacted> does not match sops' data format")]
    NotEncrypted,
    /// A part is not base64.
    #[error("Error base64-decoding {0}: illegal base64 data")]
    Base64(&'static str),
    /// The data key does not have 32 bytes.
    #[error("crypto/aes: invalid key size {0}")]
    KeySize(usize),
    /// The initialisation vector has a length that no version of SOPS writes.
    #[error("Could not decrypt with AES_GCM: unsupported nonce size {0}")]
    NonceSize(usize),
    /// Key, path or content differ from those of the encryption.
    #[error("Could not decrypt with AES_GCM: cipher: message authentication failed")]
    Authentication,
    /// An unknown type.
    #[error("Unknown datatype: {0}")]
    UnknownType(String),
    /// The plaintext does not have the stated type.
    #[error("the decrypted value is not of type {0}")]
    NotOfType(&'static str),
}

/// The parts of an encrypted value.
struct Parts<'t> {
    data: &'t str,
    iv: &'t str,
    tag: &'t str,
    kind: &'t str,
}

/// Splits at the last possible positions, like a greedy expression.
fn split(text: &str) -> Option<Parts<'_>> {
    let inside = text.strip_prefix("ENC[AES256_GCM,data:")?;
    let inside = &inside[..inside.rfind(']')?];
    let (inside, kind) = inside.rsplit_once(",type:")?;
    let (inside, tag) = inside.rsplit_once(",tag:")?;
    let (data, iv) = inside.rsplit_once(",iv:")?;
    let parts = [data, iv, tag, kind];
    let is_one_line = parts.iter().all(|part| !part.is_empty() && !part.contains('\n'));
    is_one_line.then_some(Parts { data, iv, tag, kind })
}

/// Decrypts a value at a path; the path is authenticated too.
pub(crate) fn decrypt(text: &[u8], key: &DataKey, path: &str) -> Result<Value, CipherError> {
    if text.is_empty() {
        return Ok(Value::Text(Vec::new()));
    }
    let text = std::str::from_utf8(text).map_err(|_| CipherError::NotEncrypted)?;
    let parts = split(text).ok_or(CipherError::NotEncrypted)?;
    let decoded = |part: &str, name| STANDARD.decode(part).map_err(|_| CipherError::Base64(name));
    let mut sealed = decoded(parts.data, "data")?;
    let iv = decoded(parts.iv, "iv")?;
    sealed.extend(decoded(parts.tag, "tag")?);
    let key = key.expose();
    if key.len() != 32 {
        return Err(CipherError::KeySize(key.len()));
    }
    let plain = match iv.len() {
        32 => open::<AesGcm<Aes256, U32>>(key, &iv, &sealed, path),
        16 => open::<AesGcm<Aes256, U16>>(key, &iv, &sealed, path),
        12 => open::<AesGcm<Aes256, U12>>(key, &iv, &sealed, path),
        other => return Err(CipherError::NonceSize(other)),
    }?;
    typed(plain, parts.kind)
}

fn open<C>(key: &[u8], iv: &[u8], sealed: &[u8], path: &str) -> Result<Vec<u8>, CipherError>
where
    C: Aead + AeadCore + KeyInit,
{
    let cipher = C::new_from_slice(key).map_err(|_| CipherError::KeySize(key.len()))?;
    let nonce = iv.try_into().map_err(|_| CipherError::NonceSize(iv.len()))?;
    let payload = Payload { msg: sealed, aad: path.as_bytes() };
    cipher.decrypt(nonce, payload).map_err(|_| CipherError::Authentication)
}

/// Converts a plaintext to the stated type.
fn typed(plain: Vec<u8>, kind: &str) -> Result<Value, CipherError> {
    let text = || std::str::from_utf8(&plain).ok();
    match kind {
        "str" => Ok(Value::Text(plain)),
        "bytes" => Ok(Value::Bytes(plain)),
        "comment" => Ok(Value::Comment(Comment { text: plain, inline: false })),
        "int" => text()
            .and_then(|text| text.parse().ok())
            .map(Value::Int)
            .ok_or(CipherError::NotOfType("int")),
        "float" => text()
            .and_then(|text| text.parse().ok())
            .map(Value::Float)
            .ok_or(CipherError::NotOfType("float")),
        "bool" => match text() {
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(Value::Bool(true)),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(Value::Bool(false)),
            _ => Err(CipherError::NotOfType("bool")),
        },
        "time" => text()
            .and_then(parse_rfc3339_nano)
            .map(Value::Time)
            .ok_or(CipherError::NotOfType("time")),
        other => Err(CipherError::UnknownType(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::{CipherError, decrypt};
    use crate::testing::seal;
    use crate::tree::Value;
    use sluice_base::redacted::Redacted;

    #[test]
    fn values_come_back_with_their_type() {
        let key = Redacted::new(vec![7; 32]);
        let cases = [
            ("str", "a: b", Value::text("a: b")),
            ("int", "-42", Value::Int(-42)),
            ("float", "1.5", Value::Float(1.5)),
            ("bool", "True", Value::Bool(true)),
            ("bool", "False", Value::Bool(false)),
            ("bytes", "raw", Value::Bytes(b"raw".to_vec())),
            ("time", "2024-01-02T03:04:05.5Z", Value::Time("2024-01-02T03:04:05.5Z".to_owned())),
        ];
        for (kind, plain, expected) in cases {
            let sealed = seal(plain.as_bytes(), &key, "a:b:", kind);
            assert_eq!(decrypt(sealed.as_bytes(), &key, "a:b:"), Ok(expected), "{kind}");
        }
        assert_eq!(decrypt(b"", &key, "a:"), Ok(Value::text("")));
    }

    #[test]
    fn a_value_is_bound_to_its_key_and_its_path() {
        let key = Redacted::new(vec![7; 32]);
        let sealed = seal(b"x", &key, "a:", "str");
        let wrong = Err(CipherError::Authentication);
        assert_eq!(decrypt(sealed.as_bytes(), &key, "b:"), wrong);
        assert_eq!(decrypt(sealed.as_bytes(), &Redacted::new(vec![8; 32]), "a:"), wrong);
    }

    #[test]
    fn nothing_hostile_panics_and_no_error_shows_the_value() {
        let key = Redacted::new(vec![7; 32]);
        let whole = seal(b"secret", &key, "a:", "str");
        for end in 1..whole.len() {
            let error = decrypt(&whole.as_bytes()[..end], &key, "a:").unwrap_err();
            assert!(!error.to_string().contains("data:"), "{error}");
        }
        for text in [
            "plain",
            "ENC[AES256_GCM,]",
            "ENC[AES256_GCM,data:,iv:,tag:,type:]",
            "ENC[AES256_GCM,data:AA==,iv:AA==,tag:AA==,type:str]",
            "ENC[AES256_GCM,data:AA==,iv:AAAAAAAAAAAAAAAA,tag:AA==,type:str]",
            "ENC[AES256_GCM,data:!,iv:AA==,tag:AA==,type:str]",
            "\u{0}",
            "ENC[",
        ] {
            decrypt(text.as_bytes(), &key, "a:").unwrap_err();
        }
        let odd = seal(b"x", &key, "a:", "unheard-of");
        assert!(matches!(decrypt(odd.as_bytes(), &key, "a:"), Err(CipherError::UnknownType(_))));
        let short = Redacted::new(vec![7; 5]);
        assert_eq!(decrypt(whole.as_bytes(), &short, "a:"), Err(CipherError::KeySize(5)));
    }
}
