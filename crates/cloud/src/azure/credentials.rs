//! Credentials in a Secret: an application with its password or certificate, or the name of a managed identity
//! of the machine.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::signature::RsaKeyPair;
use serde_json::json;
use sluice_base::redacted::Redacted;

use super::{Application, assertion};
use crate::jwt::{pem_blocks, rsa_key, sign};
use crate::{Asking, CloudError, Lasting};

/// The lifetime of an assertion, in seconds.
const LIFETIME: i64 = 600;

/// The credentials.
#[derive(Clone)]
pub enum AzureCredentials {
    /// An application with a password.
    #[doc(hidden)]
    Secret(ApplicationSecret),
    /// An application with a certificate.
    #[doc(hidden)]
    Certificate(ApplicationCertificate),
    /// A managed identity of the machine.
    Machine {
        /// Its client id.
        client: String,
    },
}

/// An application and its password.
#[derive(Clone)]
pub struct ApplicationSecret {
    application: Application,
    secret: Redacted<String>,
}

/// An application and its certificate.
#[derive(Clone)]
pub struct ApplicationCertificate {
    application: Application,
    key: Arc<RsaKeyPair>,
    chain: Vec<Vec<u8>>,
    sends_chain: bool,
}

/// Shows the variant only.
impl fmt::Debug for AzureCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Secret(_) => "Secret",
            Self::Certificate(_) => "Certificate",
            Self::Machine { .. } => "Machine",
        })
    }
}

impl AzureCredentials {
    /// Reads credentials from fields, in Flux's order; `None` if none are complete.
    pub fn of(
        field: impl Fn(&str) -> String,
        sends_chain: bool,
    ) -> Result<Option<Self>, CloudError> {
        let authority = field("authorityHost");
        let (tenant, client) = (field("tenantId"), field("clientId"));
        if !tenant.is_empty() && !client.is_empty() {
            let (secret, certificate) = (field("clientSecret"), field("clientCertificate"));
            let client = client.clone();
            let application = Application { tenant, client, authority: authority.clone() };
            if !secret.is_empty() {
                return Ok(Some(Self::secret(application, secret)));
            }
            if !certificate.is_empty() {
                let chain = pem_blocks(&certificate, "CERTIFICATE");
                if chain.is_empty() {
                    return Err(CloudError("found no certificate".to_owned()));
                }
                let key = Arc::new(rsa_key(&certificate)?);
                return Ok(Some(Self::Certificate(ApplicationCertificate {
                    application,
                    key,
                    chain,
                    sends_chain,
                })));
            }
        }
        let (tenant, app, password) = (field("tenant"), field("appId"), field("password"));
        if !tenant.is_empty() && !app.is_empty() && !password.is_empty() {
            let application = Application { tenant, client: app, authority };
            return Ok(Some(Self::secret(application, password)));
        }
        Ok((!client.is_empty()).then_some(Self::Machine { client }))
    }

    fn secret(application: Application, secret: String) -> Self {
        Self::Secret(ApplicationSecret { application, secret: Redacted::new(secret) })
    }

    /// The managed identity, if the credentials name one.
    pub fn machine_identity(&self) -> Option<&str> {
        match self {
            Self::Machine { client } => Some(client),
            Self::Secret(_) | Self::Certificate(_) => None,
        }
    }

    /// A token for a scope. A managed identity is not handled here: it belongs to the controllers.
    pub async fn token(
        &self,
        asking: &Asking<'_>,
        scope: &str,
    ) -> Result<Lasting<Redacted<String>>, CloudError> {
        match self {
            Self::Machine { client } => {
                Err(CloudError(format!("'{client}' is an identity of the machine")))
            }
            Self::Secret(ApplicationSecret { application, secret }) => {
                let proof = [("client_secret", secret.expose().clone())];
                application.token(asking, scope, &proof).await
            }
            Self::Certificate(certificate) => {
                let proof = assertion(certificate.statement(asking)?);
                certificate.application.token(asking, scope, &proof).await
            }
        }
    }
}

impl ApplicationCertificate {
    /// A client assertion, signed with the application's key.
    fn statement(&self, asking: &Asking<'_>) -> Result<String, CloudError> {
        let leaf = self.chain.first().map_or(&[][..], Vec::as_slice);
        let thumbprint = digest(&SHA1_FOR_LEGACY_USE_ONLY, leaf);
        let mut header =
            json!({"alg": "RS256", "typ": "JWT", "x5t": URL_SAFE_NO_PAD.encode(thumbprint)});
        if self.sends_chain {
            let chain: Vec<String> = self.chain.iter().map(|it| STANDARD.encode(it)).collect();
            header["x5c"] = json!(chain);
        }
        let (now, client) = (asking.now.as_second(), &self.application.client);
        let claims = json!({
            "aud": self.application.token_url(asking), "iss": client, "sub": client,
            "nbf": now, "exp": now + LIFETIME, "jti": format!("{client}-{now}"),
        });
        Ok(sign(&self.key, &header, &claims)?)
    }
}
