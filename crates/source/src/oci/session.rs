//! Requests to one repository: scheme, authentication and retries.

mod bearer;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use reqwest::Url;
use tokio::sync::OnceCell;
use tokio::time::sleep;

use super::challenge::{Challenge, challenges, known};
use super::credentials::Credentials;
use super::error::{OciError, Refusal};
use super::name::Repository;
use super::realms::TokenRealms;
use super::wire::{Wire, WireError};
use crate::http::HttpOptions;

use bearer::Bearer;

/// The pauses between attempts.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// Statuses that are retried.
const PASSING: [u16; 8] = [408, 429, 499, 500, 502, 503, 504, 522];
/// The head start of HTTPS before plain HTTP is tried, where that is allowed.
const HEAD_START: Duration = Duration::from_millis(300);
/// The maximum size of a token.
const TOKEN: u64 = 64 << 10;

/// The access to a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Pull,
    /// Read and write.
    Push,
}

/// How to reach a registry.
#[derive(Clone)]
pub struct RegistryAccess {
    /// The transport.
    pub wire: Arc<dyn Wire>,
    /// Trust, client certificate, proxy.
    pub connection: HttpOptions,
    /// The credentials.
    pub credentials: Credentials,
    /// The allowed token servers, beside the registry itself.
    pub realms: TokenRealms,
}

/// Requests to one repository. The first one is preceded by a ping, which determines scheme and
/// authentication.
pub(super) struct Session {
    access: RegistryAccess,
    repository: Repository,
    scope: String,
    greeting: OnceCell<Greeting>,
}

/// The scheme and the authentication of the registry.
struct Greeting {
    scheme: &'static str,
    bearer: Option<Bearer>,
}

impl Session {
    pub(super) fn new(access: RegistryAccess, repository: Repository, wanted: Access) -> Self {
        let scope = repository.scope(match wanted {
            Access::Pull => "pull",
            Access::Push => "push,pull",
        });
        Self { access, repository, scope, greeting: OnceCell::new() }
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The URL of a path in the repository.
    pub(super) async fn url(&self, path: &str) -> Result<Url, OciError> {
        let scheme = self.greeting().await?.scheme;
        let (host, name) = (self.repository.registry(), self.repository.path());
        let text = format!("{scheme}://{host}/v2/{name}/{path}");
        Url::parse(&text).map_err(|error| OciError::unexpected(format!("parse {text:?}: {error}")))
    }

    /// Sends an authenticated request, and checks its status.
    pub(super) async fn call(
        &self,
        request: Request<Bytes>,
        url: &Url,
        largest: u64,
        fine: &[StatusCode],
    ) -> Result<Response<Bytes>, OciError> {
        let greeting = self.greeting().await?;
        let mut response = self.send(greeting, &request, url, largest).await?;
        if let Some(bearer) = &greeting.bearer
            && response.status() == StatusCode::UNAUTHORIZED
        {
            // The token has expired, or lacks the scope.
            let asked = challenges(response.headers());
            if !asked.is_empty() {
                bearer.widen(&asked);
                self.refresh(bearer).await?;
                response = self.send(greeting, &request, url, largest).await?;
            }
        }
        if fine.contains(&response.status()) {
            return Ok(response);
        }
        Err(Refusal::of(request.method(), url, &response))
    }

    async fn send(
        &self,
        greeting: &Greeting,
        request: &Request<Bytes>,
        url: &Url,
        largest: u64,
    ) -> Result<Response<Bytes>, OciError> {
        let mut request = request.clone();
        // Credentials are sent neither to storage that the registry redirects to, nor to the registry itself
        // over plain HTTP if the ping used HTTPS.
        if url.scheme() == greeting.scheme && is_at(url, self.repository.registry()) {
            let header = match &greeting.bearer {
                Some(bearer) => bearer.header(),
                None => self.basic(),
            };
            if let Some(header) = header {
                request.headers_mut().insert(AUTHORIZATION, header);
            }
        }
        self.exchange(request, url, largest).await
    }

    /// Sends a request, and retries temporary failures.
    async fn exchange(
        &self,
        request: Request<Bytes>,
        url: &Url,
        largest: u64,
    ) -> Result<Response<Bytes>, OciError> {
        self.exchange_by(&self.access.connection, request, url, largest).await
    }

    async fn exchange_by(
        &self,
        connection: &HttpOptions,
        mut request: Request<Bytes>,
        url: &Url,
        largest: u64,
    ) -> Result<Response<Bytes>, OciError> {
        *request.uri_mut() = url
            .as_str()
            .parse()
            .map_err(|error| OciError::unexpected(format!("parse {:?}: {error}", url.as_str())))?;
        let mut waits = WAITS.iter();
        loop {
            let sent = self.access.wire.send(connection, request.clone(), largest);
            let answer = sent.await;
            let again = match &answer {
                Ok(response) => PASSING.contains(&response.status().as_u16()),
                Err(error) => matches!(error, WireError::Broken(_)),
            };
            match (answer, waits.next()) {
                (_, Some(wait)) if again => sleep(*wait).await,
                (answer, _) => {
                    return answer.map_err(|cause| match cause {
                        WireError::Cut => OciError::Cut,
                        cause => OciError::Unreachable {
                            method: request.method().clone(),
                            url: Box::new(url.clone()),
                            cause,
                        },
                    });
                }
            }
        }
    }

    /// Pings the registry once.
    async fn greeting(&self) -> Result<&Greeting, OciError> {
        self.greeting
            .get_or_try_init(|| async {
                let (scheme, challenge) = self.ping().await?;
                let bearer = match challenge {
                    Some(challenge) if challenge.scheme == "bearer" => {
                        let (registry, plain) = (self.repository.registry(), scheme == "http");
                        let realms = &self.access.realms;
                        let bearer = Bearer::of(&challenge, registry, plain, &self.scope, realms)?;
                        self.refresh(&bearer).await?;
                        Some(bearer)
                    }
                    _ => None,
                };
                Ok(Greeting { scheme, bearer })
            })
            .await
    }

    /// Tries HTTPS first, and plain HTTP where it is allowed and HTTPS fails or takes long.
    async fn ping(&self) -> Result<(&'static str, Option<Challenge>), OciError> {
        if !self.repository.allows_http() {
            return Ok(("https", self.ping_with("https").await?));
        }
        let mut secure = std::pin::pin!(self.ping_with("https"));
        let first = tokio::select! {
            biased;
            answer = &mut secure => Some(answer),
            () = sleep(HEAD_START) => None,
        };
        if let Some(Ok(challenge)) = first {
            return Ok(("https", challenge));
        }
        let mut plain = std::pin::pin!(self.ping_with("http"));
        let failed = if let Some(Err(error)) = first {
            error
        } else {
            tokio::select! {
                biased;
                answer = &mut secure => match answer {
                    Ok(challenge) => return Ok(("https", challenge)),
                    Err(error) => error,
                },
                answer = &mut plain => match answer {
                    Ok(challenge) => return Ok(("http", challenge)),
                    Err(error) => {
                        let challenge = secure.await.map_err(|first| both(first, error))?;
                        return Ok(("https", challenge));
                    }
                },
            }
        };
        let challenge = plain.await.map_err(|error| both(failed, error))?;
        Ok(("http", challenge))
    }

    async fn ping_with(&self, scheme: &str) -> Result<Option<Challenge>, OciError> {
        let text = format!("{scheme}://{}/v2/", self.repository.registry());
        let url = Url::parse(&text)
            .map_err(|error| OciError::unexpected(format!("parse {text:?}: {error}")))?;
        let response = self.exchange(Request::default(), &url, TOKEN).await?;
        match response.status() {
            StatusCode::OK => Ok(None),
            StatusCode::UNAUTHORIZED => Ok(known(&challenges(response.headers()))),
            _ => Err(Refusal::of(&Method::GET, &url, &response)),
        }
    }

    /// The header with name and password, or with an access token.
    fn basic(&self) -> Option<HeaderValue> {
        let credentials = &self.access.credentials;
        if !credentials.registry_token.expose().is_empty() {
            return sensitive(&format!("Bearer {}", credentials.registry_token.expose()));
        }
        if credentials.username.is_empty() || credentials.password.expose().is_empty() {
            return None;
        }
        let both = format!("{}:{}", credentials.username, credentials.password.expose());
        sensitive(&format!("Basic {}", BASE64_STANDARD.encode(both)))
    }
}

impl Session {
    /// Whether a URL is on the registry, with the scheme of the ping.
    pub(super) async fn is_own(&self, url: &Url) -> Result<bool, OciError> {
        let greeting = self.greeting().await?;
        Ok(url.scheme() == greeting.scheme && is_at(url, self.repository.registry()))
    }
}

fn both(first: OciError, second: OciError) -> OciError {
    OciError::Both(Box::new(first), Box::new(second))
}

/// Whether a URL is on the registry, with or without the default port.
fn is_at(url: &Url, registry: &str) -> bool {
    let host = url.host_str().unwrap_or_default();
    let with_port = url.port_or_known_default().map(|port| format!("{host}:{port}"));
    (url.port().is_none() && host == registry) || with_port.as_deref() == Some(registry)
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
