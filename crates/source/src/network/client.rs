//! The HTTP client of a purpose: checks each request, then sends it. No other code builds HTTP clients.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::{self, Attempt};
use reqwest::{Request, Response, Url};

use super::policy::{Purpose, Refusal, Rule};
use super::resolve::Resolver;
use super::{Network, bare};
use crate::http::{HttpError, HttpOptions, Proxy, chain, client_proxy};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout of an artifact's transfer. Artifact servers are in the same cluster.
const ARTIFACT_TIMEOUT: Duration = Duration::from_mins(5);
/// The inactivity timeout of an artifact server.
const SILENCE: Duration = Duration::from_secs(30);

/// Sends requests for a purpose.
#[derive(Clone)]
pub struct Client {
    inner: reqwest::Client,
    network: Network,
    purpose: Purpose,
}

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The policy denies it.
    #[error("{0}")]
    Refused(#[source] Refusal),
    /// A connection error.
    #[error("{0}")]
    Failed(#[source] reqwest::Error),
}

impl Client {
    pub(super) fn new(inner: reqwest::Client, network: Network, purpose: Purpose) -> Self {
        Self { inner, network, purpose }
    }

    /// Sends a request, if the policy allows it. Dropping the future cancels it.
    pub async fn execute(&self, request: Request) -> Result<Response, RequestError> {
        let url = request.url().clone();
        let answer = self.judged(&url, self.inner.execute(request)).await;
        answer.map_err(RequestError::Refused)?.map_err(RequestError::Failed)
    }

    /// Runs a request to a URL, if the policy allows it; a denial on the way (a redirect, an address) is in the error.
    pub(crate) async fn judged<T, E: std::error::Error + 'static>(
        &self,
        url: &Url,
        asking: impl Future<Output = Result<T, E>>,
    ) -> Result<Result<T, E>, Refusal> {
        let outcome = match self.network.judge(self.purpose, url) {
            Err(refusal) => Err(refusal),
            Ok(()) => match asking.await {
                Err(error) => match Refusal::below(&error).cloned() {
                    Some(refusal) => Err(refusal),
                    None => Ok(Err(error)),
                },
                answer => Ok(answer),
            },
        };
        let host = url.host_str().unwrap_or_default();
        self.network.decided(self.purpose, host, outcome.as_ref().err());
        outcome
    }

    /// The client without checks, for callers of [`Client::judged`].
    pub(crate) fn unjudged(&self) -> reqwest::Client {
        self.inner.clone()
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Client").field("purpose", &self.purpose).finish_non_exhaustive()
    }
}

impl Network {
    /// Whether a URL is allowed for a purpose, as far as that is known before its name is resolved.
    pub fn check(&self, purpose: Purpose, url: &str) -> Result<(), HttpError> {
        let url = Url::parse(url).map_err(|error| HttpError::Request(error.to_string()))?;
        self.judge(purpose, &url).map_err(|refusal| {
            self.decided(purpose, url.host_str().unwrap_or_default(), Some(&refusal));
            HttpError::Request(refusal.to_string())
        })
    }

    /// Checks a URL before a request: its scheme, its host, and a literal IP address.
    fn judge(&self, purpose: Purpose, url: &Url) -> Result<(), Refusal> {
        let host = bare(url.host_str().unwrap_or_default());
        if !matches!(url.scheme(), "http" | "https") {
            let (host, rule) = (host.to_owned(), Rule::Scheme);
            return Err(Refusal { purpose, host, address: None, rule });
        }
        self.shared.policy.host(purpose, host, url.port_or_known_default().unwrap_or_default())
    }

    /// Checks the address of a proxy, which a spec names.
    pub(super) fn judge_proxy(&self, proxy: &Proxy) -> Result<(), HttpError> {
        let url = Url::parse(&proxy.address)
            .map_err(|error| HttpError::Proxy(format!("{error}: {:?}", proxy.address)))?;
        let host = bare(url.host_str().unwrap_or_default());
        let port = url.port_or_known_default().unwrap_or_default();
        let judged = self.shared.policy.host(Purpose::Spec, host, port);
        judged.map_err(|refusal| {
            self.decided(Purpose::Spec, host, Some(&refusal));
            HttpError::Proxy(refusal.to_string())
        })
    }

    #[expect(clippy::disallowed_methods, reason = "the one place where HTTP clients are made")]
    pub(super) fn build(
        &self,
        purpose: Purpose,
        options: &HttpOptions,
    ) -> Result<reqwest::Client, HttpError> {
        // Behind a proxy only the proxy's name is resolved here, and a spec names it.
        let resolved = if options.proxy.is_some() { Purpose::Spec } else { purpose };
        let resolver = Resolver { network: self.clone(), purpose: resolved };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls().config(&options.tls)?)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("sluice/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::new(resolver))
            .no_proxy();
        builder = if options.no_redirects {
            builder.redirect(redirect::Policy::none())
        } else {
            let network = self.clone();
            let judge = move |attempt: Attempt<'_>| match network.redirected(purpose, &attempt) {
                Ok(()) => redirect::Policy::default().redirect(attempt),
                Err(refusal) => attempt.error(refusal),
            };
            builder.redirect(redirect::Policy::custom(judge))
        };
        if purpose == Purpose::Artifact {
            builder = builder.timeout(ARTIFACT_TIMEOUT).read_timeout(SILENCE);
        }
        if let Some(proxy) = &options.proxy {
            builder = builder.proxy(client_proxy(proxy)?);
        }
        builder.build().map_err(|error| HttpError::Tls(chain(&error)))
    }

    /// Checks a redirect: like a first request, and never from HTTPS to plain HTTP.
    fn redirected(&self, purpose: Purpose, attempt: &Attempt<'_>) -> Result<(), Refusal> {
        let url = attempt.url();
        let was_secure = attempt.previous().last().is_some_and(|last| last.scheme() == "https");
        if was_secure && url.scheme() == "http" {
            let host = url.host_str().unwrap_or_default().to_owned();
            return Err(Refusal { purpose, host, address: None, rule: Rule::Downgrade });
        }
        self.judge(purpose, url)
    }
}
