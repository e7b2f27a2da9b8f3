//! JSON Web Tokens: signing with RSA keys for token servers, and reading unverified claims of tokens.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::Value;

/// The blocks of a PEM text with a label.
pub(crate) fn pem_blocks(text: &str, label: &str) -> Vec<Vec<u8>> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(&begin) {
        let Some((body, tail)) = after.split_once(&end) else { break };
        let letters: String = body.chars().filter(|letter| !letter.is_whitespace()).collect();
        if let Ok(bytes) = STANDARD.decode(letters) {
            blocks.push(bytes);
        }
        rest = tail;
    }
    blocks
}

/// Parses an RSA key in PEM (PKCS#1 or PKCS#8).
pub fn rsa_key(text: &str) -> Result<RsaKeyPair, String> {
    let pkcs8 = pem_blocks(text, "PRIVATE KEY").into_iter().next();
    let pkcs1 = pem_blocks(text, "RSA PRIVATE KEY").into_iter().next();
    let key = match (pkcs8, pkcs1) {
        (Some(der), _) => RsaKeyPair::from_pkcs8(&der),
        (None, Some(der)) => RsaKeyPair::from_der(&der),
        (None, None) => {
            return Err("private key should be a PEM or plain PKCS1 or PKCS8".to_owned());
        }
    };
    key.map_err(|error| format!("private key is invalid: {error}"))
}

/// Signs header and claims.
pub(crate) fn sign(key: &RsaKeyPair, header: &Value, claims: &Value) -> Result<String, String> {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let statement = format!("{}.{}", part(header), part(claims));
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), statement.as_bytes(), &mut signature)
        .map_err(|_| "private key cannot sign".to_owned())?;
    Ok(format!("{statement}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// The claims of a token, not verified.
fn claims(token: &str) -> Option<Value> {
    let claims = URL_SAFE_NO_PAD.decode(token.trim().split('.').nth(1)?).ok()?;
    serde_json::from_slice(&claims).ok()
}

/// The expiry of a token, not verified.
pub fn expiry(token: &str) -> Option<Timestamp> {
    Timestamp::from_second(claims(token)?.get("exp")?.as_i64()?).ok()
}

/// The subject of a token, not verified.
pub(crate) fn subject(token: &str) -> Option<String> {
    Some(claims(token)?.get("sub").and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// The audiences of a token, not verified.
pub(crate) fn audiences(token: &str) -> Vec<String> {
    match claims(token).and_then(|claims| claims.get("aud").cloned()) {
        Some(Value::String(audience)) => vec![audience],
        Some(Value::Array(all)) => {
            all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// The issuer of a token, not verified.
pub(crate) fn issuer(token: &str) -> Option<String> {
    Some(claims(token)?.get("iss")?.as_str()?.to_owned())
}

/// An unsigned token.
#[cfg(test)]
pub(crate) fn unsigned(claims: &Value) -> String {
    format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims.to_string()))
}
