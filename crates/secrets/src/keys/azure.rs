//! Azure: credentials as a Secret holds them, and Key Vault.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{Request, Uri};
use jiff::Timestamp;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::signature::RsaKeyPair;
use serde_json::{Value as Json, json};
use std::sync::Arc;

use super::jwt::{pem_blocks, rsa_key, sign};
use super::web::{Http, encoded, token};
use crate::cipher::DataKey;
use crate::redacted::Redacted;

/// Where tokens are given out, unless the credentials say otherwise.
const AUTHORITY: &str = "https://login.microsoftonline.com/";
/// Where the machine itself gives out tokens.
const MACHINE: &str = "http://169.254.169.254/metadata/identity/oauth2/token";
/// The version of Key Vault's API.
const API_VERSION: &str = "7.4";
/// How long a statement holds, in seconds.
const LIFETIME: i64 = 600;

/// Who asks.
#[derive(Clone)]
pub(crate) enum AzureCredentials {
    /// An application with a password.
    Secret { application: Application, secret: Redacted<String> },
    /// An application with a certificate.
    Certificate { application: Application, key: Arc<RsaKeyPair>, chain: Vec<Vec<u8>>, send: bool },
    /// The identity of the machine.
    Machine { client: String },
}

/// An application that a tenant knows.
#[derive(Debug, Clone)]
pub(crate) struct Application {
    tenant: String,
    client: String,
    authority: String,
}

impl Application {
    fn token_url(&self) -> String {
        let authority = self.authority.trim_end_matches('/');
        format!("{authority}/{}/oauth2/v2.0/token", encoded(&self.tenant))
    }
}

impl AzureCredentials {
    /// Reads `sops.azure-kv` of a decryption Secret.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        let wrong =
            |reason: String| format!("failed to unmarshal Azure authentication file: {reason}");
        let text = decoded(text);
        let value = sluice_yaml::to_json(text.as_bytes(), sluice_yaml::Duplicates::LastWins);
        let value = value.map_err(|error| wrong(error.to_string()))?.unwrap_or_default();
        let field = |name: &str| {
            let value = value.get(name).and_then(Json::as_str).unwrap_or_default();
            value.to_owned()
        };
        let authority = Some(field("authorityHost")).filter(|host| !host.is_empty());
        let authority = authority.unwrap_or_else(|| AUTHORITY.to_owned());
        let (tenant, client) = (field("tenantId"), field("clientId"));
        if !tenant.is_empty() && !client.is_empty() {
            let (secret, certificate) = (field("clientSecret"), field("clientCertificate"));
            let application =
                Application { tenant, client: client.clone(), authority: authority.clone() };
            if !secret.is_empty() {
                return Ok(Self::Secret { application, secret: Redacted::new(secret) });
            }
            if !certificate.is_empty() {
                let chain = pem_blocks(&certificate, "CERTIFICATE");
                if chain.is_empty() {
                    return Err("found no certificate".to_owned());
                }
                let key = Arc::new(rsa_key(&certificate)?);
                let send = value.get("clientCertificateSendChain") == Some(&Json::Bool(true));
                return Ok(Self::Certificate { application, key, chain, send });
            }
        }
        let (tenant, app, password) = (field("tenant"), field("appId"), field("password"));
        if !tenant.is_empty() && !app.is_empty() && !password.is_empty() {
            let application = Application { tenant, client: app, authority };
            return Ok(Self::Secret { application, secret: Redacted::new(password) });
        }
        if !client.is_empty() {
            return Ok(Self::Machine { client });
        }
        Err("invalid data: requires a 'clientId' field, a combination of 'tenantId', 'clientId' and \
             'clientSecret', or 'tenantId', 'clientId' and 'clientCertificate'"
            .to_owned())
    }

    /// A token for what a scope names.
    pub(crate) async fn token(
        &self,
        scope: &str,
        http: &dyn Http,
        now: Timestamp,
    ) -> Result<Redacted<String>, String> {
        let (application, proof) = match self {
            Self::Machine { client } => return machine_token(client, scope, http).await,
            Self::Secret { application, secret } => {
                (application, vec![("client_secret", secret.expose().clone())])
            }
            Self::Certificate { application, key, chain, send } => {
                let url = application.token_url();
                let leaf = chain.first().map_or(&[][..], Vec::as_slice);
                let thumbprint = digest(&SHA1_FOR_LEGACY_USE_ONLY, leaf);
                let mut header = json!({
                    "alg": "RS256", "typ": "JWT", "x5t": URL_SAFE_NO_PAD.encode(thumbprint),
                });
                if *send {
                    let chain: Vec<String> = chain.iter().map(|it| STANDARD.encode(it)).collect();
                    header["x5c"] = json!(chain);
                }
                let (now, client) = (now.as_second(), &application.client);
                let claims = json!({"aud": url, "iss": client, "sub": client, "nbf": now,
                    "exp": now + LIFETIME, "jti": format!("{client}-{now}")});
                (application, assertion(sign(key, &header, &claims)?))
            }
        };
        application_token(application, scope, &proof, http).await
    }
}

/// A token of Azure for an application, for which a token of a cluster stands: tenant and client name it.
pub async fn azure_token(
    (tenant, client): (&str, &str),
    scope: &str,
    cluster_token: &str,
    http: &dyn Http,
) -> Result<Redacted<String>, String> {
    let (tenant, client) = (tenant.to_owned(), client.to_owned());
    let application = Application { tenant, client, authority: AUTHORITY.to_owned() };
    application_token(&application, scope, &assertion(cluster_token.to_owned()), http).await
}

fn assertion(statement: String) -> Vec<(&'static str, String)> {
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer".to_owned();
    vec![("client_assertion", statement), ("client_assertion_type", kind)]
}

async fn application_token(
    application: &Application,
    scope: &str,
    proof: &[(&'static str, String)],
    http: &dyn Http,
) -> Result<Redacted<String>, String> {
    let mut fields = vec![
        ("grant_type", "client_credentials"),
        ("client_id", application.client.as_str()),
        ("scope", scope),
    ];
    fields.extend(proof.iter().map(|(name, value)| (*name, value.as_str())));
    token(http, &application.token_url(), &fields).await.map(Redacted::new)
}

async fn machine_token(
    client: &str,
    scope: &str,
    http: &dyn Http,
) -> Result<Redacted<String>, String> {
    let resource = scope.trim_end_matches("/.default");
    let url = format!(
        "{MACHINE}?api-version=2018-02-01&resource={}&client_id={}",
        encoded(resource),
        encoded(client)
    );
    let request = Request::get(url).header("Metadata", "true").body(Vec::new());
    let response = http.send(request.map_err(|error| error.to_string())?).await?;
    let body: Json = serde_json::from_slice(response.body()).unwrap_or_default();
    let token = body.get("access_token").and_then(Json::as_str).filter(|token| !token.is_empty());
    token.map(|token| Redacted::new(token.to_owned())).ok_or_else(|| {
        format!("the machine's identity {client} gives no token: {}", response.status())
    })
}

/// A text that may begin with a mark of its encoding.
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

/// A key of a vault, with the data key that it encrypts.
pub(crate) struct AzureKey<'k> {
    pub(crate) vault_url: &'k str,
    pub(crate) name: &'k str,
    pub(crate) version: &'k str,
    pub(crate) enc: &'k str,
}

impl AzureKey<'_> {
    /// What a token for the vault must be good for: the service whose name the vault's host ends with. So a
    /// host of somebody else never gets a token that is worth anything at a vault.
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

    /// Asks the vault.
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
