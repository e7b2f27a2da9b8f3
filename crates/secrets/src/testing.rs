//! Encryption for tests; the product only decrypts.

use aes_gcm::AesGcm;
use aes_gcm::aead::consts::U32;
use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::aes::Aes256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::cipher::DataKey;

/// The result of a future that never waits.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

/// Encrypts a value as SOPS does, with a fixed initialisation vector.
pub(crate) fn seal(plain: &[u8], key: &DataKey, path: &str, kind: &str) -> String {
    let iv = [9_u8; 32];
    let cipher = AesGcm::<Aes256, U32>::new_from_slice(key.expose()).expect("32 bytes");
    let payload = Payload { msg: plain, aad: path.as_bytes() };
    let sealed = cipher.encrypt(&iv.into(), payload).expect("the text is short");
    let (data, tag) = sealed.split_at(sealed.len() - 16);
    let (data, iv, tag) = (STANDARD.encode(data), STANDARD.encode(iv), STANDARD.encode(tag));
    format!("ENC[AES256_GCM,data:{data},iv:{iv},tag:{tag},type:{kind}]")
}

/// The claims of an assertion, if it is signed with the test client's key.
pub(crate) fn is_signed_by_client(statement: &str) -> Option<serde_json::Value> {
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    let key = include_str!("../tests/goldens/keys/client.pem");
    let key = sluice_cloud::jwt::rsa_key(key).expect("the key is one");
    let (signed, signature) = statement.rsplit_once('.')?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
    public.verify(signed.as_bytes(), &signature).ok()?;
    let claims = URL_SAFE_NO_PAD.decode(signed.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&claims).ok()
}
