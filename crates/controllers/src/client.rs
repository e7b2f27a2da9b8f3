//! Clients that act as somebody else, and what API servers say when they refuse.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, Request};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use sluice_base::causes;
use sluice_base::clock::Clock;
use sluice_cloud::{CloudError, CloudIdentity, ClusterAccess, ClusterQuery};
use sluice_source::http as web;
use tokio::sync::Mutex;
use tower::service_fn;

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

/// A client of another cluster. Where that cluster is not reached, the error says where it is and why; what is
/// wrong with its certificate may be due to a setting that was not followed, which is said too.
pub(crate) fn explaining(client: &Client, ignored: Option<&'static str>, server: &str) -> Client {
    let (own, server) = (client.clone(), server.trim_end_matches('/').to_owned());
    let service = service_fn(move |request: Request<Body>| {
        let (own, server) = (own.clone(), server.clone());
        let url = format!("{server}{}", request.uri().path());
        let method = request.method().clone();
        async move {
            own.send(request).await.map_err(|error| match error {
                kube::Error::Service(inner) => {
                    let mut words = web::unanswered(&method, &url, &*inner);
                    if let Some(ignored) = ignored.filter(|_| words.contains("certificate")) {
                        words = format!("{words} ({ignored})");
                    }
                    kube::Error::Service(words.into())
                }
                other => other,
            })
        }
    });
    Client::new(service, client.default_namespace().to_owned())
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
    let refused = || ImpersonationError(name.to_owned());
    // Anything else could be read as another user, or differently by each who reads it.
    if !is_account_name(name) {
        return Err(refused());
    }
    let user = format!("system:serviceaccount:{namespace}:{name}");
    let value = HeaderValue::from_str(&user).map_err(|_| refused())?;
    let own = client.clone();
    let service = service_fn(move |mut request: Request<Body>| {
        request.headers_mut().insert(USER, value.clone());
        let own = own.clone();
        async move { own.send(request).await }
    });
    Ok(Client::new(service, namespace.to_owned()))
}

/// Whether a text can be the name of a service account: a DNS subdomain.
pub(crate) fn is_account_name(name: &str) -> bool {
    let is_end = |byte: Option<u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let is_label = |label: &str| {
        is_end(label.bytes().next())
            && is_end(label.bytes().last())
            && label.bytes().all(|byte| is_end(Some(byte)) || byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// Tokens for a cluster: the next is asked for before the last runs out.
pub(crate) struct Tokens {
    identity: CloudIdentity,
    query: ClusterQuery,
    clock: Arc<dyn Clock>,
    last: Mutex<Option<(Timestamp, HeaderValue)>>,
}

impl Tokens {
    pub(crate) fn new(identity: CloudIdentity, query: ClusterQuery, clock: Arc<dyn Clock>) -> Self {
        Self { identity, query, clock, last: Mutex::default() }
    }

    /// The way into the cluster, with the first token.
    pub(crate) async fn access(&self) -> Result<ClusterAccess, String> {
        let mut last = self.last.lock().await;
        let found = self.identity.cluster(&self.query).await?;
        *last = Some((found.until, bearer(&found.value)?));
        Ok(found.value)
    }

    /// A token, as a request bears it.
    async fn get(&self) -> Result<HeaderValue, CloudError> {
        let mut last = self.last.lock().await;
        if let Some((until, token)) = &*last
            && self.clock.now() < *until
        {
            return Ok(token.clone());
        }
        let found = self.identity.cluster(&self.query).await?;
        let token = bearer(&found.value)?;
        *last = Some((found.until, token.clone()));
        Ok(token)
    }
}

fn bearer(access: &ClusterAccess) -> Result<HeaderValue, CloudError> {
    let mut bearer = HeaderValue::from_str(&format!("Bearer {}", access.token.expose()))
        .map_err(|_| CloudError("the token holds odd letters".to_owned()))?;
    bearer.set_sensitive(true);
    Ok(bearer)
}

/// A client whose requests bear a token that is never old.
pub(crate) fn with_token(client: &Client, tokens: Arc<Tokens>) -> Client {
    let own = client.clone();
    let service = service_fn(move |mut request: Request<Body>| {
        let (own, tokens) = (own.clone(), Arc::clone(&tokens));
        async move {
            let token =
                tokens.get().await.map_err(|problem| kube::Error::Service(problem.into()))?;
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
        kube::Error::Service(inner) => causes::joined(&**inner),
        other => causes::joined(other),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use jiff::{SignedDuration, Timestamp};
    use sluice_base::clock::Clock;
    use sluice_cloud::{
        CacheLimits, Clouds, CloudsParts, ClusterQuery, Environment, NoAccounts, Nowhere,
    };

    use super::{Tokens, is_account_name, leads_elsewhere};

    /// A clock that is told the time.
    struct FixedClock(Mutex<Timestamp>);

    impl Clock for FixedClock {
        fn now(&self) -> Timestamp {
            *self.0.lock().unwrap()
        }
    }

    /// A wait for health outlives a token: each request looks whether there has to be another.
    #[tokio::test]
    async fn a_token_is_replaced_before_it_runs_out() {
        let told = Arc::new(FixedClock(Mutex::new(Timestamp::UNIX_EPOCH)));
        let keys = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "s")];
        let variables = keys.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let clouds = Clouds::new(CloudsParts {
            environment: Environment { variables, ..Environment::default() },
            http: Arc::new(Nowhere),
            accounts: Arc::new(NoAccounts),
            clock: Arc::clone(&told) as _,
            limits: CacheLimits::default(),
            allows_accounts: false,
            trusted_hosts: Vec::new(),
        });
        let query = ClusterQuery {
            provider: "aws".to_owned(),
            cluster: "arn:aws:eks:eu-west-1:1:cluster/c".to_owned(),
            address: "https://c.test".to_owned(),
            authorities: "pem".to_owned(),
        };
        let tokens = Tokens::new(clouds.controller(), query, Arc::clone(&told) as _);
        tokens.access().await.unwrap();
        let first = tokens.get().await.unwrap();
        for (minutes, is_first) in [(11, true), (12, false), (13, false)] {
            *told.0.lock().unwrap() = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes);
            assert_eq!(tokens.get().await.unwrap() == first, is_first, "after {minutes} minutes");
        }
        assert!(first.is_sensitive());
    }

    #[test]
    fn accounts_have_names_of_dns() {
        for name in ["a", "default", "team-1.deployer", "0"] {
            assert!(is_account_name(name), "{name}");
        }
        let long = "a".repeat(254);
        for name in ["", "A", "a b", "a\nb", "a:b", "../a", "a..b", "-a", "a-", "\u{e4}", &long] {
            assert!(!is_account_name(name), "{name}");
        }
    }

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
