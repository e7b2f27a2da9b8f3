//! Connections other than our own HTTP requests: SSH, and clients of other clusters.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;
use tracing::{Instrument as _, Span};

use super::policy::{Purpose, Refusal};
use super::resolve::ResolveError;
use super::{Network, bare};

/// The timeout for all addresses of a host together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The policy denies it.
    #[error("{0}")]
    Refused(#[source] Refusal),
    /// The host has no address, or does not answer.
    #[error("{0}")]
    Failed(#[source] io::Error),
}

impl Network {
    /// Opens a TCP connection for a purpose, to an address of the host that the policy allows.
    pub async fn dial(
        &self,
        purpose: Purpose,
        host: &str,
        port: u16,
    ) -> Result<TcpStream, DialError> {
        let outcome = self.connect(purpose, bare(host), port).await;
        let refusal = match &outcome {
            Err(DialError::Refused(refusal)) => Some(refusal),
            _ => None,
        };
        self.decided(purpose, host, refusal);
        outcome
    }

    #[expect(clippy::disallowed_methods, reason = "the one place where connections are made")]
    async fn connect(
        &self,
        purpose: Purpose,
        host: &str,
        port: u16,
    ) -> Result<TcpStream, DialError> {
        self.shared.policy.host(purpose, host, port).map_err(DialError::Refused)?;
        let found =
            self.shared.resolve(purpose, host, port).await.map_err(|error| match error {
                ResolveError::Refused(refusal) => DialError::Refused(refusal),
                ResolveError::Lookup(error) => DialError::Failed(error),
            })?;
        let connecting = TcpStream::connect(found.as_slice());
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
        let stream = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let stream = stream.map_err(DialError::Failed)?;
        // Requests are small, and the next one waits for the response.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    /// The connector for a cluster's client. The object that it is for is in the current span.
    pub fn connector(&self, purpose: Purpose) -> Connector {
        Connector { network: self.clone(), purpose, span: Span::current() }
    }
}

/// Connects to the host of a URI for a purpose.
#[derive(Clone)]
pub struct Connector {
    network: Network,
    purpose: Purpose,
    /// Clients connect in tasks of their own; decisions are logged with the object's span.
    span: Span,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (network, purpose) = (self.network.clone(), self.purpose);
        let connecting = async move {
            let usual = if uri.scheme_str() == Some("http") { 80 } else { 443 };
            let port = uri.port_u16().unwrap_or(usual);
            let stream = network.dial(purpose, uri.host().unwrap_or_default(), port).await?;
            Ok(TokioIo::new(stream))
        };
        Box::pin(connecting.instrument(self.span.clone()))
    }
}
