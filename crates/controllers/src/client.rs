//! Clients that act as somebody else, and what API servers say when they refuse.

use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, Request};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use sluice_base::clock::Clock;
use sluice_secrets::flux::{Identity, Wanted};
use tokio::sync::Mutex;
use tower::service_fn;

/// How long a token is shown before the next is asked for. All last longer.
const FRESH: Duration = Duration::from_mins(5);

/// A client that sends nothing to a path with steps in it that lead elsewhere: names come from tenants, and
/// whoever stands between us and the API server may follow them.
pub fn guarded(client: &Client) -> Client {
    let own = client.clone();
    let service = service_fn(move |request: Request<Body>| {
        let own = own.clone();
        async move {
            if leads_elsewhere(request.uri().path()) {
                let refusal = format!("{:?} is no path of an object", request.uri().path());
                return Err(kube::Error::Service(refusal.into()));
            }
            own.send(request).await
        }
    });
    Client::new(service, client.default_namespace().to_owned())
}

fn leads_elsewhere(path: &str) -> bool {
    let is_step = |part: &str| matches!(part, "" | "." | "..") || part.contains(['%', '\\']);
    path.trim_start_matches('/').trim_end_matches('/').split('/').any(is_step) && path != "/"
}

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
#[error("service account {0:?} cannot be written into a request")]
pub struct ImpersonationError(String);

/// A client whose requests are made as a service account. Whoever uses it can do what the account can do,
/// and nothing else: the API server decides, not this process.
pub fn as_service_account(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Client, ImpersonationError> {
    const USER: HeaderName = HeaderName::from_static("impersonate-user");
    let user = format!("system:serviceaccount:{namespace}:{name}");
    let value = HeaderValue::from_str(&user).map_err(|_| ImpersonationError(user))?;
    let own = client.clone();
    let service = service_fn(move |mut request: Request<Body>| {
        request.headers_mut().insert(USER, value.clone());
        let own = own.clone();
        async move { own.send(request).await }
    });
    Ok(Client::new(service, namespace.to_owned()))
}

/// Tokens for a cluster: the next is asked for when the last has been used for a while.
pub(crate) struct Tokens {
    identity: Arc<dyn Identity>,
    audiences: Vec<String>,
    clock: Arc<dyn Clock>,
    last: Mutex<Option<(Timestamp, HeaderValue)>>,
}

impl Tokens {
    pub(crate) fn new(
        identity: Arc<dyn Identity>,
        audiences: Vec<String>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { identity, audiences, clock, last: Mutex::default() }
    }

    /// A token, as a request bears it.
    pub(crate) async fn get(&self) -> Result<HeaderValue, String> {
        let mut last = self.last.lock().await;
        let now = self.clock.now();
        if let Some((since, token)) = &*last
            && Duration::try_from(now.duration_since(*since)).unwrap_or(FRESH) < FRESH
        {
            return Ok(token.clone());
        }
        let token = self.identity.token(Wanted::Cluster(&self.audiences)).await?;
        let mut token = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
            .map_err(|_| "the token holds odd letters".to_owned())?;
        token.set_sensitive(true);
        *last = Some((now, token.clone()));
        Ok(token)
    }
}

/// A client whose requests bear a token that is never old.
pub(crate) fn with_token(client: &Client, tokens: Arc<Tokens>) -> Client {
    let own = client.clone();
    let service = service_fn(move |mut request: Request<Body>| {
        let (own, tokens) = (own.clone(), Arc::clone(&tokens));
        async move {
            let token = tokens.get().await.map_err(|problem| {
                kube::Error::Service(
                    format!("failed to get access token for cluster: {problem}").into(),
                )
            })?;
            request.headers_mut().insert(AUTHORIZATION, token);
            own.send(request).await
        }
    });
    Client::new(service, client.default_namespace().to_owned())
}

/// What an API server said, without what the client puts around it.
pub(crate) fn api_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::leads_elsewhere;

    #[test]
    fn names_are_no_paths() {
        for path in [
            "/",
            "/api/v1",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
            "/openapi/v3/",
        ] {
            assert!(!leads_elsewhere(path), "{path}");
        }
        for path in [
            "/api/v1/namespaces/a/secrets/../../b/secrets/c",
            "/api/v1/namespaces/a/secrets/%2e%2e/x",
            "/api/v1/namespaces//secrets",
            "/api/v1/namespaces/./secrets",
        ] {
            assert!(leads_elsewhere(path), "{path}");
        }
    }
}
