//! The default credential chain: an application in the environment with its password or certificate, a workload
//! with a service account token, a managed identity of the machine.

use http::Method;
use sluice_base::redacted::Redacted;

use super::{Application, AzureCredentials, assertion};
use crate::web::Marking;
use crate::{Asking, CloudError, Lasting, encoded};

/// A token of this process.
pub(crate) async fn find(
    asking: &Asking<'_>,
    scope: &str,
) -> Result<Lasting<Redacted<String>>, CloudError> {
    let environment = asking.environment;
    let client = environment.get("AZURE_CLIENT_ID");
    if let (Some(client), Some(tenant)) = (client, environment.get("AZURE_TENANT_ID")) {
        let certificate = environment
            .get("AZURE_CLIENT_CERTIFICATE_PATH")
            .map(|path| environment.file(path))
            .transpose()?;
        let send_chain = environment.get("AZURE_CLIENT_SEND_CERTIFICATE_CHAIN");
        let field = |name: &str| match name {
            "tenantId" => tenant.to_owned(),
            "clientId" => client.to_owned(),
            "clientSecret" => environment.get("AZURE_CLIENT_SECRET").unwrap_or_default().to_owned(),
            "clientCertificate" => certificate.clone().unwrap_or_default(),
            _ => String::new(),
        };
        let sends = matches!(send_chain, Some("1" | "true"));
        match AzureCredentials::of(field, sends)? {
            Some(AzureCredentials::Machine { .. }) | None => {}
            Some(credentials) => return credentials.token(asking, scope).await,
        }
        if let Some(file) = environment.get("AZURE_FEDERATED_TOKEN_FILE") {
            let token = environment.file(file)?;
            let (tenant, client) = (tenant.to_owned(), client.to_owned());
            let application = Application { tenant, client, authority: String::new() };
            return application.token(asking, scope, &assertion(token.trim().to_owned())).await;
        }
    }
    of_machine(asking, scope, client.unwrap_or_default()).await
}

/// A token from the metadata service, for one managed identity if there are several.
pub(crate) async fn of_machine(
    asking: &Asking<'_>,
    scope: &str,
    client: &str,
) -> Result<Lasting<Redacted<String>>, CloudError> {
    let marking = Marking(asking.http);
    let asking = &asking.of_machine(&marking);
    let host =
        asking.environment.address("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://169.254.169.254");
    let resource = scope.strip_suffix("/.default").unwrap_or(scope);
    let mut url = format!(
        "{host}/metadata/identity/oauth2/token?api-version=2018-02-01&resource={}",
        encoded(resource)
    );
    if !client.is_empty() {
        url = format!("{url}&client_id={}", encoded(client));
    }
    let answer = asking.json(Method::GET, &url, &[("metadata", "true")]).await?;
    asking
        .access_token(&answer)
        .ok_or_else(|| CloudError(format!("GET {url}: the answer holds no token")))
}
