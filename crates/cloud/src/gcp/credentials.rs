//! Credentials in a Secret or a file: the key of a service account, or a user's refresh token.

use std::fmt;
use std::sync::Arc;

use ring::signature::RsaKeyPair;
use serde_json::{Value, json};
use sluice_base::redacted::Redacted;

use crate::jwt::{rsa_key, sign};
use crate::{Asking, CloudError, Lasting};

/// The default token endpoint.
const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
/// The lifetime of an assertion, in seconds.
const LIFETIME: i64 = 3600;

/// The credentials.
#[derive(Clone)]
pub struct GcpCredentials(Kind);

#[derive(Clone)]
enum Kind {
    ServiceAccount { email: String, key_id: String, key: Arc<RsaKeyPair>, token_url: String },
    User { client: String, secret: Redacted<String>, refresh: Redacted<String> },
}

/// Shows the variant only.
impl fmt::Debug for GcpCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            Kind::ServiceAccount { .. } => "ServiceAccount",
            Kind::User { .. } => "User",
        })
    }
}

impl GcpCredentials {
    /// Parses Google's JSON files.
    pub fn read(text: &[u8]) -> Result<Self, CloudError> {
        let value: Value = serde_json::from_slice(text)
            // serde's message would quote the content.
            .map_err(|error| CloudError(format!("invalid JSON at line {}", error.line())))?;
        let field = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        match field("type") {
            "service_account" => {
                let token_url = Some(field("token_uri")).filter(|url| !url.is_empty());
                Ok(Self(Kind::ServiceAccount {
                    email: field("client_email").to_owned(),
                    key_id: field("private_key_id").to_owned(),
                    key: Arc::new(rsa_key(field("private_key"))?),
                    token_url: token_url.unwrap_or(TOKEN_URL).to_owned(),
                }))
            }
            "authorized_user" => Ok(Self(Kind::User {
                client: field("client_id").to_owned(),
                secret: Redacted::new(field("client_secret").to_owned()),
                refresh: Redacted::new(field("refresh_token").to_owned()),
            })),
            "" => Err(CloudError("missing 'type' field in credentials".to_owned())),
            kind => Err(CloudError(format!("unknown credential type: \"{kind}\""))),
        }
    }

    /// A token for scopes.
    pub async fn token(
        &self,
        asking: &Asking<'_>,
        scopes: &[&str],
    ) -> Result<Lasting<Redacted<String>>, CloudError> {
        match &self.0 {
            Kind::ServiceAccount { email, key_id, key, token_url } => {
                let now = asking.now.as_second();
                let header = json!({"alg": "RS256", "typ": "JWT", "kid": key_id});
                let claims = json!({
                    "iss": email, "scope": scopes.join(" "), "aud": token_url,
                    "iat": now, "exp": now + LIFETIME,
                });
                let assertion = sign(key, &header, &claims)?;
                let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
                let fields = [("grant_type", grant), ("assertion", assertion.as_str())];
                asking.oauth(token_url, &fields).await
            }
            Kind::User { client, secret, refresh } => {
                let fields = [
                    ("grant_type", "refresh_token"),
                    ("client_id", client.as_str()),
                    ("client_secret", secret.expose()),
                    ("refresh_token", refresh.expose()),
                ];
                asking.oauth(TOKEN_URL, &fields).await
            }
        }
    }
}
