//! Service accounts of Kubernetes, as far as clouds are concerned: their annotations, and tokens for them.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

use sluice_base::redacted::Redacted;

/// What is on its way from the cluster.
pub type Answering<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// Which service account.
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

/// Why a service account is not to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountError {
    /// Whether there is none of that name.
    pub is_missing: bool,
    /// What the API server said.
    pub message: String,
}

/// The service accounts of a cluster.
pub trait Accounts: Send + Sync {
    /// The annotations of an account.
    fn annotations<'a>(
        &'a self,
        account: &'a AccountName,
    ) -> Answering<'a, BTreeMap<String, String>, AccountError>;

    /// A token of an account for audiences; for those of the API server where there are none.
    fn token<'a>(
        &'a self,
        account: &'a AccountName,
        audiences: &'a [String],
    ) -> Answering<'a, Redacted<String>, String>;

    /// Whether the API server of this cluster takes a token as one for itself.
    fn is_taken<'a>(&'a self, token: &'a str) -> Answering<'a, bool, String>;
}

/// A process without a cluster.
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
