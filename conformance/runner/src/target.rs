//! The servers that a script can be played on.

use std::path::{Path, PathBuf};

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use kube::config::{AuthInfo, Config, KubeConfigOptions, Kubeconfig};

use sluice_cluster::Cluster;
use tower::ServiceExt as _;

use crate::script::Script;

/// What the embedded server draws its uids and names from.
const SEED: u64 = 7;
/// When it starts, on the embedded server's clock: a moment that no script mentions.
const EPOCH: Timestamp = Timestamp::constant(1_830_000_000, 0);

/// A server: a real one behind a kubeconfig, or the embedded one, new for every script.
#[derive(Clone, Debug)]
pub enum Target {
    /// The server that this kubeconfig names.
    Kubeconfig(PathBuf),
    /// The embedded server, called in process.
    Embedded,
}

/// Why a server cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The kubeconfig is absent or wrong.
    #[error("kubeconfig {0}")]
    Kubeconfig(PathBuf, #[source] kube::config::KubeconfigError),
    /// No client can be made from the kubeconfig.
    #[error("client")]
    Client(#[source] kube::Error),
}

/// A running server, as one script sees it.
pub(crate) enum Server {
    Remote(Box<Config>),
    Embedded(Cluster),
}

impl Target {
    /// What a real server says its version is.
    pub async fn version(&self) -> Result<String, TargetError> {
        let Self::Kubeconfig(path) = self else { return Ok("embedded".to_owned()) };
        let failed = |error| TargetError::Kubeconfig(path.clone(), error);
        let client = Client::try_from(config(path).await.map_err(failed)?);
        let info = client.map_err(TargetError::Client)?.apiserver_version().await;
        Ok(info.map_err(TargetError::Client)?.git_version)
    }

    pub(crate) async fn server(&self, script: &Script) -> Result<Server, TargetError> {
        match self {
            Self::Kubeconfig(path) => Ok(Server::Remote(Box::new(
                config(path).await.map_err(|error| TargetError::Kubeconfig(path.clone(), error))?,
            ))),
            Self::Embedded => {
                let cluster = Cluster::builder()
                    .seed(SEED)
                    .epoch(EPOCH)
                    .workloads(script.workloads)
                    .rollouts(script.workloads)
                    .build();
                Ok(Server::Embedded(cluster))
            }
        }
    }
}

async fn config(path: &Path) -> Result<Config, kube::config::KubeconfigError> {
    let kubeconfig = Kubeconfig::read_from(path)?;
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // The answers to 429 and 504 are what is compared: nothing may retry them away.
    config.default_retry = false;
    config.read_timeout = None;
    Ok(config)
}

impl Server {
    /// A client with the administrator's rights, with a token's, or (the token `none`) with nobody's.
    pub(crate) fn client(&self, token: Option<&str>) -> Result<Client, TargetError> {
        match self {
            Self::Remote(config) => {
                let mut config = config.as_ref().clone();
                if let Some(token) = token {
                    config.auth_info = AuthInfo::default();
                    if token != "none" {
                        config.auth_info.token = Some(token.to_owned().into());
                    }
                }
                Client::try_from(config).map_err(TargetError::Client)
            }
            Self::Embedded(cluster) => {
                // In process a request without credentials is the administrator's.
                let credential = match token {
                    None => None,
                    Some("none") => Some("Anonymous".to_owned()),
                    Some(token) => Some(format!("Bearer {token}")),
                };
                let credential = credential.and_then(|text| HeaderValue::from_str(&text).ok());
                let service = cluster.service().map_request(move |mut request: Request<Body>| {
                    if let Some(credential) = &credential {
                        request.headers_mut().insert(AUTHORIZATION, credential.clone());
                    }
                    request
                });
                Ok(Client::new(service, "default"))
            }
        }
    }
}
