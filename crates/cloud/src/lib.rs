//! Identities at AWS, Azure and Google Cloud, for sources, decryption keys and other clusters. See ADR 0009.
//!
//! ```text
//! Clouds ─► CloudIdentity ─► aws · azure · gcp · cluster_token       keys and tokens, cached (token_cache)
//!           the controller          │
//!           or an account      ambient: variables, files, the pod, the machine
//!                              account: a service account token, exchanged at the cloud
//!                              a Secret: AwsKeys, AzureCredentials, GcpCredentials, read by the caller
//!           └─► cluster: address and token of another cluster (EKS, AKS, GKE, or any)
//! ```
//!
//! The messages are those of fluxcd/pkg/auth, which this replaces. This crate opens no connection, reads no
//! file and no clock, and knows no Kubernetes client: [`Http`], [`Environment`], [`Accounts`] and a clock are
//! arguments. No error and no debug output shows a key or a token.

mod account;
mod audience;
pub mod aws;
pub mod azure;
mod cluster;
mod environment;
pub mod gcp;
mod hosts;
mod identity;
pub mod jwt;
#[cfg(test)]
mod testing;
mod token_cache;
mod web;

pub use account::{AccountError, AccountName, Accounts, Answering, NoAccounts};
pub use cluster::{ClusterAccess, ClusterQuery};
pub use environment::{Environment, ReadFile};
pub use hosts::{CloudService, TrustedHost};
pub use identity::{CloudIdentity, Clouds, CloudsParts};
pub use token_cache::{CacheLimits, Lasting};
pub use web::{Answer, Asking, Http, Nowhere, OfMachine, Proxy, encoded, form};

/// Why there are no credentials; contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CloudError(pub String);

impl CloudError {
    /// The error with a prefix.
    #[must_use]
    pub fn while_trying(self, what: &str) -> Self {
        Self(format!("{what}: {}", self.0))
    }
}

impl From<String> for CloudError {
    fn from(problem: String) -> Self {
        Self(problem)
    }
}

impl From<CloudError> for String {
    fn from(error: CloudError) -> Self {
        error.0
    }
}
