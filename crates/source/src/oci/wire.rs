//! The transport of the registry client: one request, one response.

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::{Request, Response};

use crate::http::{HttpError, HttpOptions, Trouble};
use crate::network::{Network, Purpose};

/// Why a request got no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The connection was interrupted; a retry may help.
    #[error("{0}")]
    Broken(String),
    /// No connection, or untrusted certificates.
    #[error("{0}")]
    Unreachable(String),
    /// The response was interrupted.
    #[error("unexpected EOF")]
    Cut,
    /// The response is too large.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(u64),
}

/// Sends requests to registries and token servers.
pub trait Wire: Send + Sync {
    /// Sends one request; the response is limited in size. Dropping the future cancels it.
    fn send<'a>(
        &'a self,
        connection: &'a HttpOptions,
        request: Request<Bytes>,
        largest: u64,
    ) -> BoxFuture<'a, Result<Response<Bytes>, WireError>>;
}

/// The network.
#[derive(Clone)]
pub struct NetworkWire {
    network: Network,
}

impl NetworkWire {
    /// Registries on the network.
    pub fn new(network: Network) -> Self {
        Self { network }
    }
}

impl Wire for NetworkWire {
    fn send<'a>(
        &'a self,
        connection: &'a HttpOptions,
        request: Request<Bytes>,
        largest: u64,
    ) -> BoxFuture<'a, Result<Response<Bytes>, WireError>> {
        Box::pin(async move {
            let client = self
                .network
                .client(Purpose::Spec, connection)
                .map_err(|error: HttpError| WireError::Unreachable(error.to_string()))?;
            let request = reqwest::Request::try_from(request)
                .map_err(|error| WireError::Unreachable(error.to_string()))?;
            let url = request.url().clone();
            let failed = |error: reqwest::Error| WireError::from(Trouble::of(&error, &url));
            let answer = client
                .execute(request)
                .await
                .map_err(|error| WireError::from(Trouble::of(&error, &url)))?;
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = answer.status();
            response.headers_mut().clone_from(answer.headers());
            if answer.content_length().is_some_and(|length| length > largest) {
                return Err(WireError::TooLarge(largest));
            }
            let mut body = BytesMut::new();
            let mut stream = answer.bytes_stream();
            while let Some(piece) = stream.next().await {
                let piece = piece.map_err(failed)?;
                if (body.len() + piece.len()) as u64 > largest {
                    return Err(WireError::TooLarge(largest));
                }
                body.extend_from_slice(&piece);
            }
            *response.body_mut() = body.freeze();
            Ok(response)
        })
    }
}

impl From<Trouble> for WireError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Unreachable(words) | Trouble::Untrusted(words) | Trouble::Refused(words) => {
                Self::Unreachable(words)
            }
            Trouble::Broken(words) => Self::Broken(words),
            Trouble::Cut => Self::Cut,
        }
    }
}
