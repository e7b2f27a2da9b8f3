//! Google Cloud: credentials as a Secret holds them, and the Key Management Service.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use jiff::Timestamp;
use ring::signature::RsaKeyPair;
use serde_json::{Value as Json, json};
use std::sync::Arc;

use super::jwt::{rsa_key, sign};
use super::web::{Http, encoded, token};
use crate::cipher::DataKey;
use crate::redacted::Redacted;

/// What tokens for the service are good for.
const SCOPES: &str =
    "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/cloudkms";
/// Where tokens are given out, unless the credentials say otherwise.
const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
/// How long a statement holds, in seconds.
const LIFETIME: i64 = 3600;

/// Who asks: a service account by its key, or a user by a token that was given to a program.
#[derive(Clone)]
pub(crate) enum GcpCredentials {
    ServiceAccount { email: String, key_id: String, key: Arc<RsaKeyPair>, token_url: String },
    User { client: String, secret: Redacted<String>, refresh: Redacted<String> },
}

impl GcpCredentials {
    /// Reads `sops.gcp-kms` of a decryption Secret.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        let value: Json = serde_json::from_slice(text)
            // The words of serde would quote what is there.
            .map_err(|error| format!("invalid JSON at line {}", error.line()))?;
        let field = |name: &str| value.get(name).and_then(Json::as_str).unwrap_or_default();
        match field("type") {
            "service_account" => {
                let token_url = Some(field("token_uri")).filter(|url| !url.is_empty());
                Ok(Self::ServiceAccount {
                    email: field("client_email").to_owned(),
                    key_id: field("private_key_id").to_owned(),
                    key: Arc::new(rsa_key(field("private_key"))?),
                    token_url: token_url.unwrap_or(TOKEN_URL).to_owned(),
                })
            }
            "authorized_user" => Ok(Self::User {
                client: field("client_id").to_owned(),
                secret: Redacted::new(field("client_secret").to_owned()),
                refresh: Redacted::new(field("refresh_token").to_owned()),
            }),
            "" => Err("missing 'type' field in credentials".to_owned()),
            kind => Err(format!("unknown credential type: \"{kind}\"")),
        }
    }

    /// A token for the service.
    pub(crate) async fn token(
        &self,
        http: &dyn Http,
        now: Timestamp,
    ) -> Result<Redacted<String>, String> {
        let token = match self {
            Self::ServiceAccount { email, key_id, key, token_url } => {
                let now = now.as_second();
                let header = json!({"alg": "RS256", "typ": "JWT", "kid": key_id});
                let claims = json!({
                    "iss": email, "scope": SCOPES, "aud": token_url, "iat": now, "exp": now + LIFETIME,
                });
                let assertion = sign(key, &header, &claims)?;
                let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
                let fields = [("grant_type", grant), ("assertion", assertion.as_str())];
                token(http, token_url, &fields).await?
            }
            Self::User { client, secret, refresh } => {
                let fields = [
                    ("grant_type", "refresh_token"),
                    ("client_id", client.as_str()),
                    ("client_secret", secret.expose()),
                    ("refresh_token", refresh.expose()),
                ];
                token(http, TOKEN_URL, &fields).await?
            }
        };
        Ok(Redacted::new(token))
    }
}

/// A token of Google Cloud for a token of a cluster, which `audience` trusts; as the service account with
/// this address, or as whom the token names where it is empty.
pub async fn gcp_token(
    audience: &str,
    email: &str,
    cluster_token: &str,
    http: &dyn Http,
) -> Result<Redacted<String>, String> {
    let scopes = "https://www.googleapis.com/auth/cloud-platform \
                  https://www.googleapis.com/auth/userinfo.email";
    let fields = [
        ("audience", audience),
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("scope", scopes),
        ("subject_token", cluster_token),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
    ];
    let own = token(http, "https://sts.googleapis.com/v1/token", &fields).await?;
    if email.is_empty() {
        return Ok(Redacted::new(own));
    }
    let url = format!(
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{}:generateAccessToken",
        encoded(email)
    );
    let scopes: Vec<&str> = scopes.split_whitespace().collect();
    let request = Request::post(url)
        .header("Authorization", format!("Bearer {own}"))
        .header("Content-Type", "application/json")
        .body(json!({"scope": scopes, "lifetime": "3600s"}).to_string().into_bytes())
        .map_err(|_| "the token holds odd letters".to_owned())?;
    let response = http.send(request).await?;
    let body: Json = serde_json::from_slice(response.body()).unwrap_or_default();
    let token = body.get("accessToken").and_then(Json::as_str).filter(|token| !token.is_empty());
    token.map(|token| Redacted::new(token.to_owned())).ok_or_else(|| {
        let message = body.pointer("/error/message").and_then(Json::as_str).unwrap_or_default();
        format!("no token for service account {email}: {}: {message}", response.status())
    })
}

/// A key of the service, with the data key that it encrypts.
pub(crate) struct GcpKey<'k> {
    pub(crate) resource_id: &'k str,
    pub(crate) enc: &'k str,
}

impl GcpKey<'_> {
    /// Asks the service.
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

    /// Whether it is the path of a key: it becomes part of an address.
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
        // The same names in the writing of the other protocol that the service speaks.
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
