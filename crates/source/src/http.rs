//! TLS options, proxies and errors of HTTP clients. [`crate::network`] builds the clients. See ADR 0005.

mod trouble;
mod web;

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use sluice_base::redacted::Redacted;
use sluice_cloud::CloudError;

use crate::network::RequestError;

pub use sluice_cloud::Proxy;
pub use trouble::unanswered;
pub(crate) use trouble::{Trouble, asked};
pub use web::Web;

/// Trusted authorities and client certificate. All PEM; empty if unused.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TlsOptions {
    /// Certificates of authorities, in addition to the system's.
    pub authorities: Vec<u8>,
    /// Client certificate with its chain.
    pub certificate: Vec<u8>,
    /// Key of the client certificate.
    pub key: Redacted<Vec<u8>>,
    /// Whether to skip the verification of server certificates.
    pub insecure: bool,
}

/// The options of a client; clients are shared by equal options.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpOptions {
    /// Trust and client certificate.
    pub tls: TlsOptions,
    /// The proxy. Without one, connections are direct: the environment is not read here.
    pub proxy: Option<Proxy>,
    /// Whether redirects are returned, not followed: for requests with credentials for one host only.
    pub no_redirects: bool,
}

impl TlsOptions {
    /// Fails if a connection with these options may not carry a cloud token. A tenant's own certificate
    /// authority could make the tenant's proxy trusted, which would then read the token.
    pub fn check_for_cloud(&self) -> Result<(), CloudError> {
        if self.authorities.is_empty() && !self.insecure {
            return Ok(());
        }
        Err(CloudError("a token of the cloud is not sent over a connection that trusts the certificates of a Secret, or any: those that the controllers trust have to do".to_owned()))
    }

    /// Validates the certificates, with Flux's messages.
    pub fn check(&self) -> Result<(), String> {
        let holds = |pem: &[u8]| CertificateDer::pem_slice_iter(pem).any(|it| it.is_ok());
        let pair = "failed to parse TLS certificate and key: tls: failed to find any PEM data in";
        if !self.certificate.is_empty() && !holds(&self.certificate) {
            return Err(format!("{pair} certificate input"));
        }
        if !self.certificate.is_empty() && PrivateKeyDer::from_pem_slice(self.key.expose()).is_err()
        {
            return Err(format!("{pair} key input"));
        }
        if !self.authorities.is_empty() && !holds(&self.authorities) {
            return Err("failed to parse CA certificate".to_owned());
        }
        Ok(())
    }
}

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Invalid certificates or keys.
    #[error("TLS: {0}")]
    Tls(String),
    /// An invalid proxy address.
    #[error("proxy: {0}")]
    Proxy(String),
    /// No connection, or it broke.
    #[error("{0}")]
    Request(String),
}

/// The system's trusted certificates.
pub(crate) fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::debug!(%error, "a certificate of the system could not be read");
    }
    roots.add_parsable_certificates(found.certs);
    roots
}

/// Builds TLS configurations from a set of roots.
pub(crate) struct Tls<'r> {
    pub(crate) roots: &'r RootCertStore,
}

impl Tls<'_> {
    pub(crate) fn config(&self, options: &TlsOptions) -> Result<ClientConfig, HttpError> {
        let failed = |error: &dyn fmt::Display| HttpError::Tls(error.to_string());
        let mut roots = self.roots.clone();
        for certificate in CertificateDer::pem_slice_iter(&options.authorities) {
            let certificate = certificate.map_err(|error| failed(&error))?;
            roots.add(certificate).map_err(|error| failed(&error))?;
        }
        // The provider is passed here, so that no global one has to be installed.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .with_root_certificates(roots);
        let mut config = if options.certificate.is_empty() {
            builder.with_no_client_auth()
        } else {
            let chain = CertificateDer::pem_slice_iter(&options.certificate)
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| failed(&error))?;
            let key = PrivateKeyDer::from_pem_slice(options.key.expose())
                .map_err(|error| failed(&error))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| failed(&error))?
        };
        if options.insecure {
            config.dangerous().set_certificate_verifier(Arc::new(trust::Anyone(provider)));
        }
        Ok(config)
    }
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        Self::Request(chain(&error))
    }
}

impl From<RequestError> for HttpError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Refused(refusal) => Self::Request(refusal.to_string()),
            RequestError::Failed(error) => error.into(),
        }
    }
}

/// The error chain without URLs, which may contain passwords.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut parts = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if parts.last() != Some(&text) {
            parts.push(text);
        }
        next = error.source();
    }
    parts.join(": ")
}

impl fmt::Debug for TlsOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TlsOptions")
            .field("authorities", &self.authorities.len())
            .field("certificate", &self.certificate.len())
            .field("insecure", &self.insecure)
            .finish_non_exhaustive()
    }
}

/// Converts a proxy for the HTTP client.
pub(crate) fn client_proxy(proxy: &Proxy) -> Result<reqwest::Proxy, HttpError> {
    let failed = |error: reqwest::Error| HttpError::Proxy(chain(&error));
    let Some(place) = proxy.address.strip_prefix("socks5://") else {
        let through = reqwest::Proxy::all(&proxy.address).map_err(failed)?;
        return Ok(if proxy.username.is_empty() {
            through
        } else {
            through.basic_auth(&proxy.username, proxy.password.expose())
        });
    };
    // With `socks5h` the proxy resolves names, as in Go. Credentials are part of the address.
    let address = format!("socks5h://{place}");
    let mut url = reqwest::Url::parse(&address)
        .map_err(|error| HttpError::Proxy(format!("{error}: {:?}", proxy.address)))?;
    if !proxy.username.is_empty() {
        let set = url.set_username(&proxy.username);
        set.and_then(|()| url.set_password(Some(proxy.password.expose())))
            .map_err(|()| HttpError::Proxy(format!("no host: {:?}", proxy.address)))?;
    }
    reqwest::Proxy::all(url).map_err(failed)
}

mod trust {
    //! A verifier for `insecure`: ignores name and chain, but verifies the handshake's signature.

    use std::sync::Arc;

    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{DigitallySignedStruct, Error, SignatureScheme};

    #[derive(Debug)]
    pub(super) struct Anyone(pub(super) Arc<CryptoProvider>);

    impl ServerCertVerifier for Anyone {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let algorithms = &self.0.signature_verification_algorithms;
            verify_tls12_signature(message, certificate, signed, algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let algorithms = &self.0.signature_verification_algorithms;
            verify_tls13_signature(message, certificate, signed, algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.signature_verification_algorithms.supported_schemes()
        }
    }
}
