//! Google Cloud KMS.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use serde_json::{Value as Json, json};
use sluice_base::redacted::Redacted;
use sluice_cloud::Http;

use crate::cipher::DataKey;

/// The scopes of tokens.
pub(crate) const SCOPES: [&str; 2] =
    ["https://www.googleapis.com/auth/cloud-platform", "https://www.googleapis.com/auth/cloudkms"];

/// A KMS key with the encrypted data key.
pub(crate) struct GcpKey<'k> {
    pub(crate) resource_id: &'k str,
    pub(crate) enc: &'k str,
}

impl GcpKey<'_> {
    /// Decrypts with the service.
    pub(crate) async fn decrypt(
        &self,
        token: &Redacted<String>,
        http: &dyn Http,
    ) -> Result<DataKey, String> {
        if !self.is_valid() {
            return Err(format!(
                "cannot create GCP KMS service: no valid resource ID found in {:?}",
                self.resource_id
            ));
        }
        let sealed = STANDARD.decode(self.enc).map_err(|error| error.to_string())?;
        let url = format!("https://cloudkms.googleapis.com/v1/{}:decrypt", self.resource_id);
        let request = Request::post(url)
            .header("Authorization", format!("Bearer {}", token.expose()))
            .header("Content-Type", "application/json")
            .body(json!({"ciphertext": STANDARD.encode(sealed)}).to_string().into_bytes())
            .map_err(|_| "the token holds odd letters".to_owned())?;
        ask(http, request).await.map_err(|problem| {
            format!("failed to decrypt sops data key with GCP KMS key: {problem}")
        })
    }

    /// Whether it is a valid resource id: it becomes part of a URL.
    fn is_valid(&self) -> bool {
        let parts: Vec<&str> = self.resource_id.split('/').collect();
        let is_word = |word: &&str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
            !word.is_empty() && word.bytes().all(is_letter)
        };
        parts.len() == 8
            && parts.iter().all(is_word)
            && [(0, "projects"), (2, "locations"), (4, "keyRings"), (6, "cryptoKeys")]
                .iter()
                .all(|(at, name)| parts.get(*at) == Some(name))
    }
}

async fn ask(http: &dyn Http, request: Request<Vec<u8>>) -> Result<DataKey, String> {
    let response = http.send(request).await?;
    let body: Json = serde_json::from_slice(response.body()).unwrap_or_default();
    if !response.status().is_success() {
        let text = |pointer: &str| body.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
        // The same names in the spelling of gRPC.
        let words = text("/error/status").split('_');
        let code: String = words
            .flat_map(|word| {
                let (first, rest) = word.split_at_checked(1).unwrap_or_default();
                [first.to_owned(), rest.to_ascii_lowercase()]
            })
            .collect();
        return Err(format!("rpc error: code = {code} desc = {}", text("/error/message")));
    }
    let plain = body.get("plaintext").and_then(Json::as_str).unwrap_or_default();
    let plain = STANDARD.decode(plain).ok().filter(|plain| !plain.is_empty());
    plain.map(Redacted::new).ok_or_else(|| "the answer holds no plaintext".to_owned())
}

#[cfg(test)]
mod tests;
