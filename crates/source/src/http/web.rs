//! The network as clouds, vaults and bases are asked over it: one request, one answer, both within bounds.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use sluice_cloud::{Answer, Http};

use super::{HttpClients, HttpError, HttpOptions};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How large an answer may be.
const LARGEST: usize = 16 << 20;

/// The network, over clients that others use as well. Redirects are not followed.
pub struct Web {
    client: reqwest::Client,
}

impl Web {
    /// The network without a proxy.
    pub fn new(clients: &HttpClients) -> Result<Self, HttpError> {
        let options = HttpOptions { no_redirects: true, ..HttpOptions::default() };
        Ok(Self { client: clients.client(&options)? })
    }

    async fn ask(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, String> {
        let (parts, body) = request.into_parts();
        let url = parts.uri.to_string();
        let mut answer = self
            .client
            .request(parts.method, &url)
            .headers(parts.headers)
            .body(body)
            .timeout(TIMEOUT)
            .send()
            .await
            .map_err(|error| HttpError::from(error).to_string())?;
        let mut response = Response::builder().status(answer.status());
        if let Some(headers) = response.headers_mut() {
            headers.clone_from(answer.headers());
        }
        let mut body = Vec::new();
        let failed = |error: reqwest::Error| HttpError::from(error).to_string();
        while let Some(chunk) = answer.chunk().await.map_err(failed)? {
            let chunk: Bytes = chunk;
            if body.len() + chunk.len() > LARGEST {
                return Err(format!("{url} answers with more than {LARGEST} bytes"));
            }
            body.extend_from_slice(&chunk);
        }
        response.body(body).map_err(|error| error.to_string())
    }
}

impl Http for Web {
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
        Box::pin(self.ask(request))
    }
}
