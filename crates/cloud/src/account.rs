//! Kubernetes service accounts for clouds: their annotations, and tokens for them.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use sluice_base::redacted::Redacted;

/// A pending response of the cluster.
pub type Answering<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// Namespace and name of a service account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for AccountName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// Why a service account could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountError {
    /// Whether it does not exist.
    pub is_missing: bool,
    /// The API server's message.
    pub message: String,
}

/// Reads the service accounts of a cluster.
pub trait Accounts: Send + Sync {
    /// The annotations of an account.
    fn annotations<'a>(
        &'a self,
        account: &'a AccountName,
    ) -> Answering<'a, BTreeMap<String, String>, AccountError>;

    /// A token of an account for audiences; without any, for those of the API server.
    fn token<'a>(
        &'a self,
        account: &'a AccountName,
        audiences: &'a [String],
    ) -> Answering<'a, Redacted<String>, String>;

    /// Whether the API server of this cluster accepts a token (TokenReview).
    fn is_taken<'a>(&'a self, token: &'a str) -> Answering<'a, bool, String>;
}

/// For a process without a cluster.
pub struct NoAccounts;

impl Accounts for NoAccounts {
    fn annotations<'a>(
        &'a self,
        _: &'a AccountName,
    ) -> Answering<'a, BTreeMap<String, String>, AccountError> {
        let error = AccountError { is_missing: false, message: "there is no cluster".to_owned() };
        Box::pin(std::future::ready(Err(error)))
    }

    fn token<'a>(
        &'a self,
        _: &'a AccountName,
        _: &'a [String],
    ) -> Answering<'a, Redacted<String>, String> {
        Box::pin(std::future::ready(Err("there is no cluster".to_owned())))
    }

    fn is_taken<'a>(&'a self, _: &'a str) -> Answering<'a, bool, String> {
        Box::pin(std::future::ready(Err("there is no cluster".to_owned())))
    }
}
