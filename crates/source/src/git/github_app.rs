//! `provider: github`: tokens of a GitHub App installation.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderValue, Method};
use jiff::Timestamp;
use reqwest::{Request, Url};
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use sluice_base::redacted::Redacted;

use crate::http::HttpError;
use crate::network::Client;

/// The user name for a token.
pub const APP_USERNAME: &str = "x-access-token";

const PUBLIC_API: &str = "https://api.github.com/";

/// The maximum size of an API response.
const ANSWER: usize = 1 << 20;

/// A GitHub App, from a Secret.
pub struct GitHubApp {
    id: i64,
    installation: Installation,
    key: RsaKeyPair,
    api: String,
}

enum Installation {
    Id(i64),
    Owner(String),
}

/// A token of an installation: the password for [`APP_USERNAME`].
#[derive(Clone, PartialEq, Eq)]
pub struct AppToken {
    /// The token.
    pub token: Redacted<String>,
    /// When it expires.
    pub expires: Timestamp,
}

/// Why there is no token; with Flux's messages where it has some.
#[derive(Debug, thiserror::Error)]
pub enum GitHubAppError {
    /// A field is missing in the Secret.
    #[error("{0} must be provided to use github app authentication")]
    Missing(&'static str),
    /// Both installation id and owner are set.
    #[error(
        "only one of app installation owner or ID must be provided to use github app authentication"
    )]
    Ambiguous,
    /// The key is not an RSA key in PEM.
    #[error("could not parse private key: {0}")]
    Key(String),
    /// The owner has no installation.
    #[error(
        "failed to find organization installation: {organization}\nfailed to find user installation: {user}"
    )]
    NotInstalled {
        /// The API's error for an organization of that name.
        organization: String,
        /// The API's error for a user.
        user: String,
    },
    /// The repository's host does not belong to the API.
    #[error("a token of the GitHub App at '{api}' is not for '{host}'")]
    ForeignHost {
        /// The API.
        api: String,
        /// The repository's host.
        host: String,
    },
    /// An error response of the API.
    #[error("{method} {url}: {status} {message}")]
    Refused {
        /// The method.
        method: Method,
        /// The address.
        url: String,
        /// The status.
        status: u16,
        /// The API's message.
        message: String,
    },
    /// An unexpected response.
    #[error("{0}: unexpected answer")]
    Answer(String),
    /// No response.
    #[error(transparent)]
    Http(#[from] HttpError),
}

impl GitHubApp {
    /// Whether a Secret describes an App.
    pub fn is_in(data: &BTreeMap<String, Vec<u8>>) -> bool {
        data.get("githubAppID").is_some_and(|id| !id.is_empty())
    }

    /// Reads an App from the data of a Secret.
    pub fn from_secret(data: &BTreeMap<String, Vec<u8>>) -> Result<Self, GitHubAppError> {
        let text =
            |key: &str| data.get(key).map(|value| String::from_utf8_lossy(value).into_owned());
        let number =
            |key: &str| text(key).and_then(|text| text.parse::<i64>().ok()).unwrap_or_default();
        let id = number("githubAppID");
        if id == 0 {
            return Err(GitHubAppError::Missing("app ID"));
        }
        let owner = text("githubAppInstallationOwner").unwrap_or_default();
        let installation = match (number("githubAppInstallationID"), owner) {
            (0, owner) if owner.is_empty() => {
                return Err(GitHubAppError::Missing("app installation owner or ID"));
            }
            (0, owner) => Installation::Owner(owner),
            (id, owner) if owner.is_empty() => Installation::Id(id),
            _ => return Err(GitHubAppError::Ambiguous),
        };
        let pem = text("githubAppPrivateKey").unwrap_or_default();
        if pem.is_empty() {
            return Err(GitHubAppError::Missing("private key"));
        }
        let mut api =
            text("githubAppBaseURL").filter(|url| !url.is_empty()).unwrap_or(PUBLIC_API.to_owned());
        if !api.ends_with('/') {
            api.push('/');
        }
        Ok(Self { id, installation, key: read_key(&pem)?, api })
    }

    /// Fails unless tokens are valid for a URL: those of `api.github.com` are for `github.com`, and GitHub
    /// Enterprise Server has its API and its repositories on one host.
    pub fn serves(&self, url: &Url) -> Result<(), GitHubAppError> {
        let api = Url::parse(&self.api).ok();
        let api_host = api.as_ref().and_then(Url::host_str).unwrap_or_default();
        let host = url.host_str().unwrap_or_default();
        let is_plain = api.as_ref().is_some_and(|api| api.scheme() == "http");
        let is_protected = url.scheme() == "https" || is_plain;
        let is_same = host == api_host || api_host.strip_prefix("api.") == Some(host);
        if is_protected && is_same && !host.is_empty() {
            return Ok(());
        }
        let host = format!("{}://{host}", url.scheme());
        Err(GitHubAppError::ForeignHost { api: api_host.to_owned(), host })
    }

    /// Requests a new token. The client has the proxy and TLS options; the caller caches tokens until they
    /// expire.
    pub async fn token(&self, client: &Client, now: Timestamp) -> Result<AppToken, GitHubAppError> {
        let proof = self.proof(now)?;
        let id = match &self.installation {
            Installation::Id(id) => *id,
            Installation::Owner(owner) => self.find(client, &proof, owner).await?,
        };
        let url = format!("{}app/installations/{id}/access_tokens", self.api);
        let answer = ask(client, Method::POST, &url, &proof).await?;
        let field = |name: &str| answer.get(name).and_then(Value::as_str);
        match (field("token"), field("expires_at").and_then(|text| text.parse().ok())) {
            (Some(token), Some(expires)) => Ok(AppToken { token: token.into(), expires }),
            _ => Err(GitHubAppError::Answer(url)),
        }
    }

    async fn find(&self, client: &Client, proof: &str, owner: &str) -> Result<i64, GitHubAppError> {
        let mut problems = Vec::new();
        for kind in ["orgs", "users"] {
            let url = format!("{}{kind}/{owner}/installation", self.api);
            match ask(client, Method::GET, &url, proof).await {
                Ok(answer) => {
                    let id = answer.get("id").and_then(Value::as_i64);
                    return id.ok_or(GitHubAppError::Answer(url));
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        let user = problems.pop().unwrap_or_default();
        let organization = problems.pop().unwrap_or_default();
        Err(GitHubAppError::NotInstalled { organization, user })
    }

    /// The App's signed JWT: valid for two minutes, issued half a minute ago to allow clock skew.
    fn proof(&self, now: Timestamp) -> Result<String, GitHubAppError> {
        let begun = now.as_second() - 30;
        let claims = json!({"iss": self.id.to_string(), "iat": begun, "exp": begun + 120});
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let header = encode(br#"{"alg":"RS256","typ":"JWT"}"#);
        let statement = format!("{header}.{}", encode(claims.to_string().as_bytes()));
        let mut signature = vec![0; self.key.public().modulus_len()];
        let random = ring::rand::SystemRandom::new();
        self.key
            .sign(&RSA_PKCS1_SHA256, &random, statement.as_bytes(), &mut signature)
            .map_err(|error| GitHubAppError::Key(error.to_string()))?;
        Ok(format!("{statement}.{}", encode(&signature)))
    }
}

fn read_key(pem: &str) -> Result<RsaKeyPair, GitHubAppError> {
    let failed = |error: &dyn std::fmt::Display| GitHubAppError::Key(error.to_string());
    match PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|error| failed(&error))? {
        PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
        PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
        _ => return Err(failed(&"not an RSA key")),
    }
    .map_err(|error| failed(&error))
}

async fn ask(
    client: &Client,
    method: Method,
    url: &str,
    proof: &str,
) -> Result<Value, GitHubAppError> {
    let address = Url::parse(url).map_err(|error| HttpError::Request(error.to_string()))?;
    let mut request = Request::new(method.clone(), address);
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/vnd.github+json"));
    headers.insert("x-github-api-version", HeaderValue::from_static("2022-11-28"));
    let mut bearer = HeaderValue::from_str(&format!("Bearer {proof}"))
        .map_err(|error| HttpError::Request(error.to_string()))?;
    bearer.set_sensitive(true);
    headers.insert(AUTHORIZATION, bearer);
    let mut response = client.execute(request).await.map_err(HttpError::from)?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(HttpError::from)? {
        body.extend_from_slice(&piece);
        if body.len() > ANSWER {
            return Err(GitHubAppError::Answer(url.to_owned()));
        }
    }
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() {
        return Ok(answer);
    }
    let message = answer.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    Err(GitHubAppError::Refused { method, url: url.to_owned(), status: status.as_u16(), message })
}

impl std::fmt::Debug for AppToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AppToken").field("expires", &self.expires).finish_non_exhaustive()
    }
}
