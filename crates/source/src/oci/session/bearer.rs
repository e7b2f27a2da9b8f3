//! Bearer tokens from a token server.

use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use reqwest::Url;
use serde::Deserialize;

use super::{Session, TOKEN, sensitive};
use crate::http::HttpOptions;
use crate::oci::challenge::{Challenge, realm};
use crate::oci::error::{OciError, Refusal};
use crate::oci::realms::TokenRealms;

/// The client id at token servers.
const CLIENT: &str = "sluice";

/// Tokens from a token server.
pub(super) struct Bearer {
    realm: Url,
    service: String,
    state: Mutex<Tokens>,
}

#[derive(Clone, Default)]
struct Tokens {
    scopes: Vec<String>,
    token: String,
    refresh: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TokenAnswer {
    token: String,
    access_token: String,
    refresh_token: String,
}

impl Bearer {
    /// The parameters of a challenge, for a scope; without a token yet.
    pub(super) fn of(
        challenge: &Challenge,
        registry: &str,
        plain: bool,
        scope: &str,
        realms: &TokenRealms,
    ) -> Result<Self, OciError> {
        let realm = realm(challenge, registry, plain, realms)?;
        let service = challenge.parameters.get("service").cloned().unwrap_or_default();
        let state = Mutex::new(Tokens { scopes: vec![scope.to_owned()], ..Tokens::default() });
        Ok(Self { realm, service, state })
    }

    /// The header with the current token.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        sensitive(&format!("Bearer {}", self.lock().token))
    }

    fn lock(&self) -> MutexGuard<'_, Tokens> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the scopes of a challenge, in front: some servers use the first one only.
    pub(super) fn widen(&self, asked: &[Challenge]) {
        let mut state = self.lock();
        let new: Vec<String> = asked
            .iter()
            .filter_map(|challenge| challenge.parameters.get("scope"))
            .filter(|scope| !state.scopes.contains(scope))
            .cloned()
            .collect();
        state.scopes.splice(..0, new);
    }
}

impl Session {
    /// Requests a token, with the credentials or with the refresh token of the last response.
    pub(super) async fn refresh(&self, bearer: &Bearer) -> Result<(), OciError> {
        let credentials = &self.access.credentials;
        let now = bearer.lock().clone();
        if !credentials.registry_token.expose().is_empty() {
            bearer.lock().token.clone_from(credentials.registry_token.expose());
            return Ok(());
        }
        let refresh =
            if now.refresh.is_empty() { credentials.identity_token.expose() } else { &now.refresh };
        let body = if refresh.is_empty() {
            self.token_by_get(bearer, &now.scopes).await?
        } else {
            match self.token_by_post(bearer, &now.scopes, refresh).await {
                // Not every token server supports this method.
                Err(error) if error.status() == Some(404) => {
                    self.token_by_get(bearer, &now.scopes).await?
                }
                answer => answer?,
            }
        };
        let answer: TokenAnswer = serde_json::from_slice(&body)
            .map_err(|_| OciError::unexpected("the token server's answer is not JSON"))?;
        let token = if answer.access_token.is_empty() { answer.token } else { answer.access_token };
        if token.is_empty() {
            return Err(OciError::unexpected("no token in bearer response"));
        }
        let mut state = bearer.lock();
        state.token = token;
        if !answer.refresh_token.is_empty() {
            state.refresh = answer.refresh_token;
        }
        Ok(())
    }

    async fn token_by_get(&self, bearer: &Bearer, scopes: &[String]) -> Result<Bytes, OciError> {
        let mut url = bearer.realm.clone();
        {
            let mut query = url.query_pairs_mut();
            for scope in scopes {
                query.append_pair("scope", scope);
            }
            query.append_pair("service", &bearer.service);
        }
        let mut request = Request::new(Bytes::new());
        if let Some(header) = self.basic() {
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        self.token(request, &url).await
    }

    async fn token_by_post(
        &self,
        bearer: &Bearer,
        scopes: &[String],
        refresh: &str,
    ) -> Result<Bytes, OciError> {
        let mut form = String::new();
        let pairs = [
            ("client_id", CLIENT),
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh),
            ("scope", &scopes.join(" ")),
            ("service", &bearer.service),
        ];
        for (name, value) in pairs {
            if !form.is_empty() {
                form.push('&');
            }
            let _ = write!(form, "{name}={}", encoded(value));
        }
        let mut request = Request::new(Bytes::from(form));
        *request.method_mut() = Method::POST;
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, kind);
        self.token(request, &bearer.realm).await
    }

    async fn token(&self, request: Request<Bytes>, url: &Url) -> Result<Bytes, OciError> {
        let method = request.method().clone();
        // The credentials are for the realm only, so redirects are not followed.
        let connection = HttpOptions { no_redirects: true, ..self.access.connection.clone() };
        let response = self.exchange_by(&connection, request, url, TOKEN).await?;
        match response.status() {
            StatusCode::OK => Ok(response.into_body()),
            _ => Err(Refusal::of(&method, url, &response)),
        }
    }
}

/// Encodes a form value.
fn encoded(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
