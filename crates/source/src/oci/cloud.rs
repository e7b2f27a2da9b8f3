//! Logins of clouds for their registries: whoever a cloud knows becomes a name and a password.
//!
//! Each cloud first gives keys or a token to an identity (the crate `sluice-cloud` knows how), and then its
//! registry takes that: one file a cloud.

mod aws;
mod azure;
mod gcp;

use sluice_cloud::{CloudError, CloudIdentity};

use super::credentials::Credentials;
use super::name::{Repository, SCHEME};

/// Logs in to the registry of an address, with the provider `aws`, `azure` or `gcp`. What it gives is kept
/// until shortly before it runs out.
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

/// What is said where an identity is given no token.
fn no_token(error: CloudError) -> CloudError {
    error.while_trying("failed to get access token for artifact registry")
}

/// What is said where a registry takes no token.
fn no_login(error: CloudError) -> CloudError {
    error.while_trying("failed to create artifact registry credentials")
}

fn credentials(username: &str, password: &str) -> Credentials {
    let username = username.to_owned();
    Credentials { username, password: password.into(), ..Credentials::default() }
}
