//! JSON Web Tokens: signing, verifying, and checking the times of claims.
//!
//! Upstream signs with RSA or P-256. Here it is Ed25519: its signatures are deterministic, which
//! P-256's are not, and it needs no key generation.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde_json::{Value, json};

/// The signature algorithm in token headers.
pub(super) const ALGORITHM: &str = "EdDSA";

/// The SubjectPublicKeyInfo prefix of a 32-byte Ed25519 key.
const PUBLIC_HEAD: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The allowed clock skew, in seconds.
pub(super) const LEEWAY: i64 = 60;

/// Signs tokens and verifies its own signatures.
pub(super) struct Signer {
    key: Ed25519KeyPair,
    key_id: String,
}

/// Why a token is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rejected {
    /// It is no token, or has another issuer.
    Foreign,
    /// It names one of our issuers and the signature is wrong.
    BadSignature,
}

impl Signer {
    pub(super) fn new(seed: &[u8; 32]) -> Self {
        let key =
            Ed25519KeyPair::from_seed_unchecked(seed).expect("any 32 bytes are an Ed25519 key");
        let info = [PUBLIC_HEAD.as_slice(), key.public_key().as_ref()].concat();
        let key_id = URL_SAFE_NO_PAD.encode(digest(&SHA256, &info));
        Self { key, key_id }
    }

    /// The public key as a JSON Web Key.
    pub(super) fn public_key(&self) -> Value {
        json!({
            "use": "sig",
            "kty": "OKP",
            "kid": self.key_id,
            "crv": "Ed25519",
            "alg": ALGORITHM,
            "x": URL_SAFE_NO_PAD.encode(self.key.public_key()),
        })
    }

    pub(super) fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": ALGORITHM, "kid": self.key_id});
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// The verified claims of a token of one of `issuers`.
    pub(super) fn verify(&self, token: &str, issuers: &[&str]) -> Result<Value, Rejected> {
        let (signed, signature) = token.rsplit_once('.').ok_or(Rejected::Foreign)?;
        let (header, claims) = signed.split_once('.').ok_or(Rejected::Foreign)?;
        let (header, claims) = (part(header)?, part(claims)?);
        if !issuers.iter().any(|issuer| claims["iss"] == *issuer) || !header.is_object() {
            return Err(Rejected::Foreign);
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Rejected::Foreign)?;
        let key = UnparsedPublicKey::new(&ED25519, self.key.public_key());
        if header["alg"] != ALGORITHM || key.verify(signed.as_bytes(), &signature).is_err() {
            return Err(Rejected::BadSignature);
        }
        Ok(claims)
    }
}

fn part(text: &str) -> Result<Value, Rejected> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| Rejected::Foreign)?;
    serde_json::from_slice(&bytes).map_err(|_| Rejected::Foreign)
}

/// Fails unless a token is valid now, with upstream's messages.
pub(super) fn check_times(claims: &Value, now: Timestamp) -> Result<(), &'static str> {
    let now = now.as_second();
    let at = |claim: &str| claims[claim].as_i64();
    if at("nbf").is_some_and(|from| now + LEEWAY < from) {
        return Err("service account token is not valid yet");
    }
    if at("exp").is_some_and(|until| now - LEEWAY > until) {
        return Err("service account token has expired");
    }
    if at("iat").is_some_and(|issued| now + LEEWAY < issued) {
        return Err("service account token is issued in the future");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_signed_here_for_the_issuer_is_verified() {
        let (ours, theirs) = (Signer::new(&[1; 32]), Signer::new(&[2; 32]));
        let claims = json!({"iss": "us", "sub": "x"});
        let token = ours.sign(&claims);
        assert_eq!(ours.verify(&token, &["us"]), Ok(claims.clone()));
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let other_claims = URL_SAFE_NO_PAD.encode(json!({"iss": "us", "sub": "y"}).to_string());
        let (header, _) = signed.split_once('.').unwrap();
        let unsigned = URL_SAFE_NO_PAD.encode(json!({"alg": "none"}).to_string());
        let body = signed.split_once('.').unwrap().1;
        let cases = [
            ("another issuer", ours.verify(&token, &["them"]), Rejected::Foreign),
            ("another key", theirs.verify(&token, &["us"]), Rejected::BadSignature),
            (
                "other claims",
                ours.verify(&format!("{header}.{other_claims}.{signature}"), &["us"]),
                Rejected::BadSignature,
            ),
            (
                "no signature",
                ours.verify(&format!("{unsigned}.{body}."), &["us"]),
                Rejected::BadSignature,
            ),
            ("a word", ours.verify("nonsense", &["us"]), Rejected::Foreign),
            ("dots", ours.verify("..", &["us"]), Rejected::Foreign),
            ("more dots", ours.verify(&format!("{token}.x"), &["us"]), Rejected::Foreign),
        ];
        for (name, got, expected) in cases {
            assert_eq!(got, Err(expected), "{name}");
        }
    }

    #[test]
    fn clocks_may_be_a_minute_apart() {
        let claims = json!({"iat": 1000, "nbf": 1000, "exp": 2000});
        let cases = [
            (939, Err("service account token is not valid yet")),
            (940, Ok(())),
            (2060, Ok(())),
            (2061, Err("service account token has expired")),
        ];
        for (second, expected) in cases {
            let now = Timestamp::from_second(second).unwrap();
            assert_eq!(check_times(&claims, now), expected, "{second}");
        }
    }
}
