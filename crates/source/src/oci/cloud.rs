//! Logins to the registries of clouds: a cloud identity becomes a name and a password.
//!
//! `sluice-cloud` provides keys or a token for an identity; the registry exchanges them, one file per cloud.

mod aws;
mod azure;
mod gcp;

use sluice_cloud::{CloudError, CloudIdentity};

use super::credentials::Credentials;
use super::name::{Repository, SCHEME};

/// Logs in to a registry with the provider `aws`, `azure` or `gcp`. The login is cached until shortly before
/// it expires.
pub async fn log_in(
    identity: &CloudIdentity,
    provider: &str,
    url: &str,
) -> Result<Credentials, CloudError> {
    let name = url.strip_prefix(SCHEME).unwrap_or(url);
    let repository = Repository::parse(name).map_err(|error| {
        CloudError(format!("failed to parse artifact repository '{name}': {error}"))
    })?;
    let registry = repository.registry();
    match provider {
        "aws" => aws::log_in(identity, registry).await,
        "azure" => azure::log_in(identity, registry).await,
        "gcp" => gcp::log_in(identity, registry).await,
        other => Err(CloudError(format!("provider '{other}' not implemented"))),
    }
}

/// The error if an identity gets no token.
fn no_token(error: CloudError) -> CloudError {
    error.while_trying("failed to get access token for artifact registry")
}

/// The error if a registry accepts no token.
fn no_login(error: CloudError) -> CloudError {
    error.while_trying("failed to create artifact registry credentials")
}

fn credentials(username: &str, password: &str) -> Credentials {
    let username = username.to_owned();
    Credentials { username, password: password.into(), ..Credentials::default() }
}
