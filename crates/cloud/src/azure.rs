//! Azure: applications and managed identities, the tokens they get, and where this Azure's services are.

mod ambient;
mod cluster;
mod credentials;
mod world;

use sluice_base::redacted::Redacted;

use crate::identity::Subject;
use crate::{Asking, CloudError, Lasting, encoded};

pub use credentials::AzureCredentials;
pub use world::AzureWorld;

pub(crate) use ambient::{find as ambient, of_machine};
pub(crate) use cluster::{SCOPE as CLUSTER_SCOPE, access, is_described, manager_scope};

/// For whom a token of a cluster is that Azure exchanges.
pub(crate) const AUDIENCE: &str = "api://AzureADTokenExchange";
/// The scope of tokens for Azure's repositories.
pub const DEVOPS: &str = "499b84ac-1321-427f-aa17-267ca6975798/.default";
/// The scope of tokens for blobs.
pub const STORAGE: &str = "https://storage.azure.com/.default";
/// Where tokens are given out, unless something says otherwise.
const AUTHORITY: &str = "https://login.microsoftonline.com";

/// An application that a tenant knows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Application {
    tenant: String,
    client: String,
    /// Where it gets tokens; empty for where everybody does.
    authority: String,
}

impl Application {
    fn token_url(&self, asking: &Asking<'_>) -> String {
        let usual = asking.environment.address("AZURE_AUTHORITY_HOST", AUTHORITY);
        let authority = if self.authority.is_empty() { &usual } else { &self.authority };
        format!("{}/{}/oauth2/v2.0/token", authority.trim_end_matches('/'), encoded(&self.tenant))
    }

    /// A token for a scope, for whoever proves to be the application.
    async fn token(
        &self,
        asking: &Asking<'_>,
        scope: &str,
        proof: &[(&'static str, String)],
    ) -> Result<Lasting<Redacted<String>>, CloudError> {
        let mut fields = vec![
            ("grant_type", "client_credentials"),
            ("client_id", self.client.as_str()),
            ("scope", scope),
        ];
        fields.extend(proof.iter().map(|(name, value)| (*name, value.as_str())));
        asking.oauth(&self.token_url(asking), &fields).await
    }
}

/// A statement that stands for a password.
fn assertion(statement: String) -> Vec<(&'static str, String)> {
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer".to_owned();
    vec![("client_assertion", statement), ("client_assertion_type", kind)]
}

/// Tenant and client that the annotations of an account name, with a slash between.
pub(crate) fn application_of(
    annotation: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let named = |key: &str, what: &str| {
        annotation(key).ok_or_else(|| {
            format!("azure {what} ID is not set in the service account annotation {key}")
        })
    };
    let tenant = named("azure.workload.identity/tenant-id", "tenant")?;
    let client = named("azure.workload.identity/client-id", "client")?;
    Ok(format!("{tenant}/{client}"))
}

/// The token of the application that an account stands for.
pub(crate) async fn for_account(
    asking: &Asking<'_>,
    subject: &Subject,
    cluster_token: &str,
    scope: &str,
) -> Result<Lasting<Redacted<String>>, CloudError> {
    let (tenant, client) = subject.identity.split_once('/').unwrap_or_default();
    let (tenant, client) = (tenant.to_owned(), client.to_owned());
    let application = Application { tenant, client, authority: String::new() };
    application.token(asking, scope, &assertion(cluster_token.to_owned())).await
}

#[cfg(test)]
mod tests;
