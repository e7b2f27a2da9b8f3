//! What tests encrypt with; the product only decrypts.

use aes_gcm::AesGcm;
use aes_gcm::aead::consts::U32;
use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::aes::Aes256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::cipher::DataKey;

/// A value as SOPS encrypts it, with a fixed initialisation vector.
pub(crate) fn seal(plain: &[u8], key: &DataKey, path: &str, kind: &str) -> String {
    let iv = [9_u8; 32];
    let cipher = AesGcm::<Aes256, U32>::new_from_slice(key.expose()).expect("32 bytes");
    let payload = Payload { msg: plain, aad: path.as_bytes() };
    let sealed = cipher.encrypt(&iv.into(), payload).expect("the text is short");
    let (data, tag) = sealed.split_at(sealed.len() - 16);
    let (data, iv, tag) = (STANDARD.encode(data), STANDARD.encode(iv), STANDARD.encode(tag));
    format!("ENC[AES256_GCM,data:{data},iv:{iv},tag:{tag},type:{kind}]")
}
