//! What builds and decryption reach outside of the cluster: repositories, other machines by HTTP, and who the
//! controllers are to them. All of it is handed in, so that a simulation reaches nothing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use sluice_secrets::flux::{Given, Identity, Wanted};
use sluice_secrets::{Answer, AwsKeys, Http, Redacted};
use sluice_source::git::GitTransport;
use sluice_source::http::{HttpClients, HttpError, HttpOptions};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How large an answer may be.
const LARGEST: usize = 16 << 20;

/// What lies outside.
#[derive(Clone)]
pub struct Outside {
    /// Repositories.
    pub git: Arc<dyn GitTransport>,
    /// Everything else.
    pub web: Arc<dyn Http>,
    /// Who the controllers themselves are.
    pub identity: Arc<dyn Identity>,
    /// Other clusters.
    pub clusters: Arc<dyn Clusters>,
}

impl Outside {
    /// Repositories, and nothing else.
    pub fn sealed(git: Arc<dyn GitTransport>) -> Self {
        let sealed = Arc::new(Sealed);
        Self { git, web: Arc::clone(&sealed) as _, identity: Arc::new(Nobody), clusters: sealed }
    }
}

/// A network that leads nowhere.
struct Sealed;

impl Http for Sealed {
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
        let refusal = format!("{} is out of reach", request.uri());
        Box::pin(std::future::ready(Err(refusal)))
    }
}

impl Clusters for Sealed {
    fn connect(&self, config: kube::Config) -> Result<kube::Client, String> {
        Err(format!("{} is out of reach", config.cluster_url))
    }
}

/// Connects to clusters.
pub trait Clusters: Send + Sync {
    /// A client of a cluster, or why there is none.
    fn connect(&self, config: kube::Config) -> Result<kube::Client, String>;
}

/// Clusters that the network leads to.
pub struct Reachable;

impl Clusters for Reachable {
    fn connect(&self, config: kube::Config) -> Result<kube::Client, String> {
        kube::Client::try_from(config).map_err(|error| error.to_string())
    }
}

/// The network.
pub struct Web(reqwest::Client);

impl Web {
    /// The network, over clients that others use as well. Redirects are not followed.
    pub fn new(clients: &HttpClients) -> Result<Self, HttpError> {
        let options = HttpOptions { no_redirects: true, ..HttpOptions::default() };
        clients.client(&options).map(Self)
    }

    async fn ask(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, String> {
        let (parts, body) = request.into_parts();
        let url = parts.uri.to_string();
        let mut answer = self
            .0
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

/// Nobody: without an identity of their own, the controllers use only what objects name.
pub struct Nobody;

impl Nobody {
    fn refusal<T>(whom: &str) -> Result<T, String> {
        Err(format!(
            "there are no credentials for {whom}: neither a Secret nor a service account names any, and the controller has none"
        ))
    }
}

impl Identity for Nobody {
    fn aws_keys<'a>(&'a self, _: &'a str) -> Given<'a, AwsKeys> {
        Box::pin(std::future::ready(Self::refusal("AWS")))
    }

    fn token<'a>(&'a self, wanted: Wanted<'a>) -> Given<'a, Redacted<String>> {
        Box::pin(std::future::ready(Self::refusal(match wanted {
            Wanted::Azure(_) => "Azure",
            Wanted::Gcp => "Google Cloud",
            Wanted::Vault(_) => "Vault",
            Wanted::Cluster(_) => "another cluster",
        })))
    }
}
