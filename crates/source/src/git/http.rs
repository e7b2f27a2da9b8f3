//! Git's smart protocol over HTTP.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderName, HeaderValue, Method};
use reqwest::{Request, Response, StatusCode, Url};
use tokio::sync::OnceCell;

use super::auth::GitAuth;
use super::error::{Cause, malformed, shown};
use super::incoming::{Incoming, filtered};
use super::object::Objects;
use super::pack::GitLimits;
use super::protocol::{Advertisement, fetch_request, list_request};
use super::remote::{FetchRequest, GitRemote, RemoteRef};
use crate::http::{HttpError, HttpOptions, Trouble, asked};
use crate::network::{Client, Network};

/// The header with the protocol version.
const PROTOCOL: HeaderName = HeaderName::from_static("git-protocol");

/// The maximum size of an error page that is read.
const ERROR_PAGE: usize = 4096;

/// A repository over HTTP.
pub(super) struct HttpRemote {
    client: Client,
    url: Url,
    authorization: Option<HeaderValue>,
    limits: GitLimits,
    server: OnceCell<Server>,
    /// The request that waits for a response.
    pending: Mutex<String>,
}

/// The server, after the first response.
struct Server {
    /// The base URL without `/info/refs`, after redirects.
    base: String,
    /// Whether it is still the host of the credentials.
    is_ours: bool,
    advertisement: Advertisement,
}

impl HttpRemote {
    pub(super) fn open(
        network: &Network,
        mut url: Url,
        auth: &GitAuth,
        limits: GitLimits,
    ) -> Result<Self, Cause> {
        let options = HttpOptions {
            tls: auth.tls.clone(),
            proxy: auth.proxy.clone(),
            ..HttpOptions::default()
        };
        let client = network.client(auth.purpose, &options)?;
        // Credentials are sent in a header only, so that no error shows them with the URL.
        let cleared = url.set_username("").and_then(|()| url.set_password(None));
        cleared.map_err(|()| Cause::Url(format!("{} takes no credentials", url.scheme())))?;
        Ok(Self {
            client,
            url,
            authorization: authorization(auth)?,
            limits,
            server: OnceCell::new(),
            pending: Mutex::default(),
        })
    }

    async fn server(&self) -> Result<&Server, Cause> {
        self.server.get_or_try_init(|| self.discover()).await
    }

    async fn discover(&self) -> Result<Server, Cause> {
        let base = self.url.as_str().trim_end_matches('/');
        let url = format!("{base}/info/refs?service=git-upload-pack");
        let mut response = self.ask_for_refs(&url).await?;
        let is_ours = is_same_host(&self.url, response.url());
        // The library drops credentials when the port changes, for example on a redirect from http to https.
        if response.status() == StatusCode::UNAUTHORIZED
            && is_ours
            && response.url().as_str() != url
        {
            let moved = response.url().to_string();
            response = self.ask_for_refs(&moved).await?;
        }
        let response = accepted(response).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind != Some("application/x-git-upload-pack-advertisement") {
            return Err(malformed("the remote does not speak git's smart protocol"));
        }
        let mut redirected = response.url().clone();
        redirected.set_query(None);
        let base = redirected.as_str().trim_end_matches("/info/refs").to_owned();
        let advertisement = incoming(response).advertisement(self.limits).await?;
        Ok(Server { base, is_ours, advertisement })
    }

    async fn ask_for_refs(&self, url: &str) -> Result<Response, Cause> {
        let mut request = request(Method::GET, url)?;
        request.headers_mut().insert(PROTOCOL, HeaderValue::from_static("version=2"));
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("*/*"));
        self.send(request, true).await
    }

    async fn post(&self, server: &Server, body: Vec<u8>) -> Result<Incoming<'static>, Cause> {
        let mut request = request(Method::POST, &format!("{}/git-upload-pack", server.base))?;
        let kind = HeaderValue::from_static("application/x-git-upload-pack-request");
        let wanted = HeaderValue::from_static("application/x-git-upload-pack-result");
        request.headers_mut().insert(CONTENT_TYPE, kind);
        request.headers_mut().insert(ACCEPT, wanted);
        *request.body_mut() = Some(body.into());
        if server.advertisement.is_v2 {
            request.headers_mut().insert(PROTOCOL, HeaderValue::from_static("version=2"));
        }
        Ok(incoming(accepted(self.send(request, server.is_ours).await?).await?))
    }

    async fn send(&self, mut request: Request, with_credentials: bool) -> Result<Response, Cause> {
        // Some servers answer only clients with a user agent of git.
        const NAME: &str = concat!("git/2.0 (sluice ", env!("CARGO_PKG_VERSION"), ")");
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(NAME));
        if let Some(authorization) = self.authorization.as_ref().filter(|_| with_credentials) {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        let url = request.url().clone();
        let mut asked = asked(request.method(), url.as_str());
        if request.method() == Method::POST {
            asked = format!("unexpected client error: {asked}");
        }
        self.pend(asked.clone());
        let answer = self.client.execute(request).await;
        self.pend(String::new());
        let trouble = |error| format!("{asked}: {}", Trouble::of(&error, &url));
        Ok(answer.map_err(|error| HttpError::Request(trouble(error)))?)
    }

    fn pend(&self, what: String) {
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }
}

impl GitRemote for HttpRemote {
    fn list_refs<'a>(
        &'a self,
        prefixes: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<RemoteRef>, Cause>> {
        async move {
            let server = self.server().await?;
            if !server.advertisement.is_v2 {
                return Ok(filtered(&server.advertisement.refs, prefixes));
            }
            let mut answer = self.post(server, list_request(prefixes)).await?;
            answer.refs(prefixes, self.limits).await.map_err(in_answer)
        }
        .boxed()
    }

    fn can_filter(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        async { Ok(self.server().await?.advertisement.can_filter()) }.boxed()
    }

    fn can_want_any(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        async { Ok(self.server().await?.advertisement.can_want_any()) }.boxed()
    }

    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<Objects, Cause>> {
        async move {
            let server = self.server().await?;
            let body = fetch_request(&request, &server.advertisement);
            let mut answer = self.post(server, body).await?;
            let limits = self.limits.within(request.budget);
            answer.objects(&server.advertisement, limits).await.map_err(in_answer)
        }
        .boxed()
    }

    fn pending(&self) -> String {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A request without a body.
fn request(method: Method, url: &str) -> Result<Request, Cause> {
    let url = Url::parse(url).map_err(|error| Cause::Url(error.to_string()))?;
    Ok(Request::new(method, url))
}

/// An invalid pkt-line is reported with the request it answers.
fn in_answer(cause: Cause) -> Cause {
    match cause {
        Cause::Frame => Cause::AnswerFrame,
        other => other,
    }
}

/// Whether a URL is on the host of the credentials, with the same or better protection.
fn is_same_host(ours: &Url, found: &Url) -> bool {
    ours.host_str() == found.host_str()
        && (ours.scheme() == found.scheme() || found.scheme() == "https")
}

async fn accepted(response: Response) -> Result<Response, Cause> {
    if response.status().is_success() { Ok(response) } else { Err(refusal(response).await) }
}

fn incoming(response: Response) -> Incoming<'static> {
    let url = response.url().clone();
    let trouble = move |error| HttpError::Request(Trouble::of(&error, &url).to_string());
    let stream = response.bytes_stream().map_err(move |error| Cause::Http(trouble(error)));
    Incoming::new(stream.boxed())
}

fn authorization(auth: &GitAuth) -> Result<Option<HeaderValue>, Cause> {
    let text = if !auth.username.is_empty() || !auth.password.expose().is_empty() {
        let pair = format!("{}:{}", auth.username, auth.password.expose());
        format!("Basic {}", BASE64_STANDARD.encode(pair))
    } else if auth.bearer_token.expose().is_empty() {
        return Ok(None);
    } else {
        format!("Bearer {}", auth.bearer_token.expose())
    };
    let mut value = HeaderValue::try_from(text).map_err(|_| {
        Cause::AuthenticationRequired("the credentials do not fit a header".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// The error of a status, with the start of the server's message.
async fn refusal(response: Response) -> Cause {
    let status = response.status();
    let url = response.url().to_string();
    let mut page = Vec::new();
    let mut body = response.bytes_stream();
    while let Some(Ok(bytes)) = body.next().await {
        page.extend_from_slice(&bytes);
        if page.len() >= ERROR_PAGE {
            page.truncate(ERROR_PAGE);
            break;
        }
    }
    let page = shown(&String::from_utf8_lossy(&page));
    match status {
        StatusCode::UNAUTHORIZED => Cause::AuthenticationRequired(page),
        StatusCode::FORBIDDEN => Cause::AuthorizationFailed(page),
        StatusCode::NOT_FOUND => Cause::RepositoryNotFound(page),
        _ => Cause::Status { url, status: status.as_u16() },
    }
}
