//! Azure Key Vault, and its credentials in a Secret.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Request, Uri};
use serde_json::{Value as Json, json};
use sluice_base::redacted::Redacted;
use sluice_cloud::azure::AzureCredentials;
use sluice_cloud::{Http, encoded};

use crate::cipher::DataKey;

/// The version of Key Vault's API.
const API_VERSION: &str = "7.4";

/// Parses `sops.azure-kv` of a decryption Secret.
pub(crate) fn azure_credentials(text: &[u8]) -> Result<AzureCredentials, String> {
    let wrong = |reason: String| format!("failed to unmarshal Azure authentication file: {reason}");
    let text = decoded(text);
    let value = sluice_yaml::to_json(text.as_bytes(), sluice_yaml::Duplicates::LastWins);
    let value = value.map_err(|error| wrong(error.to_string()))?.unwrap_or_default();
    let field = |name: &str| value.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let sends_chain = value.get("clientCertificateSendChain") == Some(&Json::Bool(true));
    AzureCredentials::of(field, sends_chain)?.ok_or_else(|| {
        "invalid data: requires a 'clientId' field, a combination of 'tenantId', 'clientId' and \
         'clientSecret', or 'tenantId', 'clientId' and 'clientCertificate'"
            .to_owned()
    })
}

/// A text that may begin with a byte order mark.
fn decoded(bytes: &[u8]) -> String {
    let wide = |bytes: &[u8], read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| read(*pair)).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        plain => String::from_utf8_lossy(plain).into_owned(),
    }
}

/// A key of a vault with the encrypted data key.
pub(crate) struct AzureKey<'k> {
    pub(crate) vault_url: &'k str,
    pub(crate) name: &'k str,
    pub(crate) version: &'k str,
    pub(crate) enc: &'k str,
}

impl AzureKey<'_> {
    /// The scope of a token for the vault: the service in the suffix of the vault's host. So a foreign host never gets
    /// a token that is valid at a vault.
    pub(crate) fn scope(&self) -> Result<String, String> {
        let url: Option<Uri> = self.vault_url.parse().ok();
        let is_https = url.as_ref().and_then(Uri::scheme_str) == Some("https");
        let service = url.as_ref().and_then(Uri::host).and_then(|host| host.split_once('.'));
        match service {
            Some((_, service)) if is_https => Ok(format!("https://{service}/.default")),
            _ => Err(format!(
                "failed to construct Azure Key Vault client to decrypt data: '{}' is no address of a vault",
                self.vault_url
            )),
        }
    }

    /// Host and port of the vault.
    pub(crate) fn host(&self) -> (String, Option<u16>) {
        let uri: Uri = self.vault_url.parse().unwrap_or_default();
        (uri.host().unwrap_or_default().to_owned(), uri.port_u16())
    }

    /// Decrypts with the vault.
    pub(crate) async fn decrypt(
        &self,
        token: &Redacted<String>,
        http: &dyn Http,
    ) -> Result<DataKey, String> {
        URL_SAFE_NO_PAD.decode(self.enc).map_err(|error| {
            format!("failed to base64 decode Azure Key Vault encrypted key: {error}")
        })?;
        let vault = self.vault_url.trim_end_matches('/');
        let (name, version) = (encoded(self.name), encoded(self.version));
        let url = format!("{vault}/keys/{name}/{version}/decrypt?api-version={API_VERSION}");
        self.ask(&url, token, http).await.map_err(|problem| {
            format!(
                "failed to decrypt sops data key with Azure Key Vault key '{vault}/keys/{}/{}': {problem}",
                self.name, self.version
            )
        })
    }

    async fn ask(
        &self,
        url: &str,
        token: &Redacted<String>,
        http: &dyn Http,
    ) -> Result<DataKey, String> {
        let request = Request::post(url)
            .header("Authorization", format!("Bearer {}", token.expose()))
            .header("Content-Type", "application/json")
            .body(json!({"alg": "RSA-OAEP-256", "value": self.enc}).to_string().into_bytes())
            .map_err(|_| "the vault's address is malformed".to_owned())?;
        let response = http.send(request).await?;
        let body: Json = serde_json::from_slice(response.body()).unwrap_or_default();
        if !response.status().is_success() {
            let text =
                |pointer: &str| body.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
            return Err(format!(
                "POST {url}: RESPONSE {}: ERROR CODE: {}: {}",
                response.status(),
                text("/error/code"),
                text("/error/message")
            ));
        }
        let plain = body.get("value").and_then(Json::as_str).unwrap_or_default();
        let plain = URL_SAFE_NO_PAD.decode(plain).ok().filter(|plain| !plain.is_empty());
        plain.map(Redacted::new).ok_or_else(|| "the answer holds no value".to_owned())
    }
}

#[cfg(test)]
mod tests;
