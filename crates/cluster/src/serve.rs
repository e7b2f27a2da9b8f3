//! The server on a loopback port: TLS, HTTP/1.1 and HTTP/2, a bearer token, a kubeconfig.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::Cluster;
use crate::auth::Authority;
use crate::service::{ClusterService, Origin};

/// Timeout of the TLS handshake and of a request's headers.
const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum number of connections; others wait in the system's queue.
const CONNECTIONS: usize = 2048;
/// The pause after a failed accept (when no file descriptor is left, for example).
const PAUSE: Duration = Duration::from_millis(100);

/// Why the server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not a loopback address.
    #[error("{0} is not a loopback address; the embedded cluster serves this machine only")]
    NotLoopback(SocketAddr),
    /// The port could not be opened.
    #[error("cannot listen on {address}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// The certificate could not be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// The TLS configuration was rejected.
    #[error("cannot configure TLS")]
    Tls(#[from] rustls::Error),
}

/// A cluster that listens on a port.
pub struct Served {
    address: SocketAddr,
    kubeconfig: Value,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    service: ClusterService,
}

impl Served {
    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig with the administrator's token.
    pub fn kubeconfig(&self) -> &Value {
        &self.kubeconfig
    }

    /// Serves until the future is dropped; open connections are closed with it.
    pub async fn run(self) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS => {
                    let Ok((stream, peer)) = accepted else {
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    };
                    let _ = stream.set_nodelay(true);
                    let (acceptor, service) = (self.acceptor.clone(), self.service.of_peer(peer.ip()));
                    connections.spawn(serve_one(stream, acceptor, service));
                }
            }
        }
    }
}

/// Serves one connection. Closes it if the handshake or the headers take too long.
async fn serve_one(stream: TcpStream, acceptor: TlsAcceptor, service: ClusterService) {
    let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await else {
        return;
    };
    // The protocol comes from ALPN, so none of the connection's bytes have to be read to find it.
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let server = auto::Builder::new(TokioExecutor::new());
    let mut server = if is_http2 { server.http2_only() } else { server.http1_only() };
    server.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let service = TowerToHyperService::new(service);
    let connection = server.serve_connection_with_upgrades(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(error, "connection ended");
    }
}

impl Cluster {
    /// Opens a loopback port for this cluster; [`Served::run`] then serves it. Port 0 takes a free
    /// port.
    pub async fn listen(&self, address: SocketAddr) -> Result<Served, ServeError> {
        if !address.ip().is_loopback() {
            return Err(ServeError::NotLoopback(address));
        }
        let listen = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let authority = &self.state.authority;
        let acceptor = acceptor(authority, address)?;
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sluice", "cluster": {
                "server": format!("https://{address}"),
                "certificate-authority-data": STANDARD.encode(authority.root_certificate()),
            }}],
            "users": [{"name": "admin", "user": {"token": authority.admin_token()}}],
            "contexts": [{"name": "sluice", "context": {"cluster": "sluice", "user": "admin"}}],
            "current-context": "sluice",
        });
        let service = ClusterService::new(self.state.clone(), Origin::Socket);
        Ok(Served { address, kubeconfig, listener, acceptor, service })
    }
}

/// TLS with a certificate of the cluster's own certificate authority.
fn acceptor(authority: &Authority, address: SocketAddr) -> Result<TlsAcceptor, ServeError> {
    let names = vec![
        address.ip().to_string(),
        "localhost".to_owned(),
        "kubernetes".to_owned(),
        "kubernetes.default.svc".to_owned(),
    ];
    let (certificate, key) = authority.server_certificate(names)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
