//! Clients that act as somebody else.

use http::{HeaderName, HeaderValue, Request};
use kube::Client;
use kube::client::Body;
use tower::service_fn;

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
