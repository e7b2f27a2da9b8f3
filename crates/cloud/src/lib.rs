//! Who somebody is to AWS, Azure and Google Cloud, for everything that has to show it: sources, keys of
//! secrets, other clusters. See ADR 0009.
//!
//! ```text
//! Clouds ─► CloudIdentity ─► aws · azure · gcp · cluster_token       keys and tokens, kept until they age
//!           the controller          │                                (keep)
//!           or an account      ambient: variables, files, the pod, the machine
//!                              account: a token of this cluster, exchanged at the cloud
//!                              a Secret: AwsKeys, AzureCredentials, GcpCredentials, by whoever read it
//!           └─► cluster: where another cluster is, and a token for it (EKS, AKS, GKE, or any)
//! ```
//!
//! The words are those of fluxcd/pkg/auth, which this stands in for. Nothing here opens a connection, reads a
//! file or a clock, or knows Kubernetes: [`Http`], [`Environment`], [`Accounts`] and a clock are handed in.
//! No error and no debug print shows a key or a token.

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
mod keep;
#[cfg(test)]
mod testing;
mod web;

pub use account::{AccountError, AccountName, Accounts, Answering, NoAccounts};
pub use cluster::{ClusterAccess, ClusterQuery};
pub use environment::{Environment, ReadFile};
pub use hosts::{CloudService, TrustedHost};
pub use identity::{CloudIdentity, Clouds, CloudsParts};
pub use keep::{CacheLimits, Lasting};
pub use web::{Answer, Asking, Http, Nowhere, OfMachine, Proxy, encoded, form};

/// Why a cloud gave nothing, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CloudError(pub String);

impl CloudError {
    /// The same with what was tried in front of it.
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
