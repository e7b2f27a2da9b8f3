//! What lies outside of the cluster: repositories, other machines by HTTP, other clusters, and what the
//! process was started with. All of it is handed in, so that a simulation reaches nothing.

use std::sync::Arc;

use hyper_timeout::TimeoutConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt as _;
use kube::client::retry::RetryPolicy;
use sluice_cloud::{Environment, Http, Nowhere};
use sluice_source::git::GitTransport;
use sluice_source::network::{Network, Purpose};
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder};

/// Everything outside of the cluster.
#[derive(Clone)]
pub struct Egress {
    /// Repositories.
    pub git: Arc<dyn GitTransport>,
    /// Clouds and vaults.
    pub web: Arc<dyn Http>,
    /// What the content of repositories names: files of remote bases.
    pub content: Arc<dyn Http>,
    /// What clouds look at in the process: variables and files.
    pub environment: Environment,
    /// Other clusters.
    pub clusters: Arc<dyn Clusters>,
}

impl Egress {
    /// Repositories, and nothing else.
    pub fn sealed(git: Arc<dyn GitTransport>) -> Self {
        let environment = Environment::default();
        let (web, content) = (Arc::new(Nowhere), Arc::new(Nowhere));
        Self { git, web, content, environment, clusters: Arc::new(Sealed) }
    }
}

/// A config with one cluster.
struct Sealed;

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
pub struct Reachable(pub Network);

impl Clusters for Reachable {
    fn connect(&self, config: kube::Config) -> Result<kube::Client, String> {
        cluster_client(&self.0, Purpose::Spec, config).map_err(|error| error.to_string())
    }
}

/// A client of a cluster whose connections are judged by the network policy. What a kubeconfig says about
/// proxies is refused: behind one, the address of the cluster could not be judged.
pub fn cluster_client(
    network: &Network,
    purpose: Purpose,
    config: kube::Config,
) -> Result<kube::Client, kube::Error> {
    if let Some(proxy_url) = config.proxy_url.clone() {
        let protocol_feature = "proxies of clusters";
        let proxy_url = Box::new(proxy_url);
        return Err(kube::Error::ProxyProtocolDisabled { proxy_url, protocol_feature });
    }
    // What can be told at once is told in plain words, and not as a connection that failed.
    let address = config.cluster_url.to_string();
    network.check(purpose, &address).map_err(|refusal| kube::Error::Service(refusal.into()))?;
    let connector = config.rustls_https_connector_with_connector(network.connector(purpose))?;
    let mut connector = TimeoutConnector::new(connector);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    #[expect(clippy::disallowed_methods, reason = "its connections are made by the network")]
    let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector);
    let retry = config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry()));
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(retry)
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(client);
    Ok(kube::Client::new(service, config.default_namespace))
}
