//! HTTP for clouds, vaults and remote bases: one request, one bounded response.
//!
//! Only a request that cloud code marks as one for the metadata service ([`OfMachine`]) may reach it; every other
//! request is checked with the purpose of the [`Web`].

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use reqwest::Url;
use sluice_cloud::{Answer, Http, OfMachine};

use super::{HttpError, HttpOptions};
use crate::network::{Client, Network, Purpose};

/// The timeout of a response.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum size of a response.
const LARGEST: usize = 16 << 20;

/// HTTP for a purpose. Redirects are not followed.
pub struct Web {
    client: Client,
    machine: Client,
}

impl Web {
    /// Without a proxy. The metadata service is reachable for clouds only.
    pub fn new(network: &Network, purpose: Purpose) -> Result<Self, HttpError> {
        let options = HttpOptions { no_redirects: true, ..HttpOptions::default() };
        let of_machine = if purpose == Purpose::Cloud { Purpose::Metadata } else { purpose };
        Ok(Self {
            client: network.client(purpose, &options)?,
            machine: network.client(of_machine, &options)?,
        })
    }

    async fn ask(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, String> {
        let is_of_machine = request.extensions().get::<OfMachine>().is_some();
        let client = if is_of_machine { &self.machine } else { &self.client };
        let (parts, body) = request.into_parts();
        let url = parts.uri.to_string();
        let address = Url::parse(&url).map_err(|error| format!("{url}: {error}"))?;
        let mut request = reqwest::Request::new(parts.method, address);
        *request.headers_mut() = parts.headers;
        *request.body_mut() = Some(body.into());
        *request.timeout_mut() = Some(TIMEOUT);
        let mut answer =
            client.execute(request).await.map_err(|error| HttpError::from(error).to_string())?;
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
