//! Azure: applications and managed identities, their tokens, and the endpoints of the Azure environment.

mod ambient;
mod cluster;
mod credentials;
mod environment;

use sluice_base::redacted::Redacted;

use crate::identity::Subject;
use crate::{Asking, CloudError, Lasting, encoded};

pub use credentials::AzureCredentials;
pub use environment::AzureEnvironment;

pub(crate) use ambient::{find as ambient, of_machine};
pub(crate) use cluster::{SCOPE as CLUSTER_SCOPE, access, is_described, manager_scope};

/// The audience of service account tokens for Azure.
pub(crate) const AUDIENCE: &str = "api://AzureADTokenExchange";
/// The scope of tokens for Azure DevOps.
pub const DEVOPS: &str = "499b84ac-1321-427f-aa17-267ca6975798/.default";
/// The scope of tokens for blobs.
pub const STORAGE: &str = "https://storage.azure.com/.default";
/// The default authority host.
const AUTHORITY: &str = "https://login.microsoftonline.com";

/// An application of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Application {
    tenant: String,
    client: String,
    /// Its authority host; empty for the default.
    authority: String,
}

impl Application {
    fn token_url(&self, asking: &Asking<'_>) -> String {
        let usual = asking.environment.address("AZURE_AUTHORITY_HOST", AUTHORITY);
        let authority = if self.authority.is_empty() { &usual } else { &self.authority };
        format!("{}/{}/oauth2/v2.0/token", authority.trim_end_matches('/'), encoded(&self.tenant))
    }

    /// A token for a scope, for a client that proves to be the application.
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

/// The form fields of a client assertion.
fn assertion(statement: String) -> Vec<(&'static str, String)> {
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer".to_owned();
    vec![("client_assertion", statement), ("client_assertion_type", kind)]
}

/// Tenant and client in the annotations of a service account, joined by a slash.
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

/// The token of a service account's application.
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
