//! Microsoft: a workload or managed identity gets a token, which the registry exchanges for its own.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::Method;
use jiff::Timestamp;
use regex::Regex;
use serde_json::Value;

use super::{Asking, CloudError, Login, text};
use crate::oci::credentials::Credentials;
use crate::oci::session::encoded;

const REGISTRY: &str = r"^.+\.(azurecr\.io|azurecr\.cn|azurecr\.de|azurecr\.us)$";
/// What the user of a registry is called who logs in with a token.
const USERNAME: &str = "00000000-0000-0000-0000-000000000000";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Logs in with the identity of this pod or machine.
pub(super) async fn log_in(
    asking: &Asking<'_>,
    registry: &str,
    now: Timestamp,
) -> Result<Login, CloudError> {
    if !Regex::new(REGISTRY).is_ok_and(|expression| expression.is_match(registry)) {
        return Err(CloudError(format!(
            "invalid Azure registry: '{registry}'. must match {REGISTRY}"
        )));
    }
    let token = access_token(asking).await.map_err(|error| {
        CloudError(format!(
            "failed to get access token for artifact registry: failed to create provider access token for the controller: {error}"
        ))
    })?;
    let form =
        format!("grant_type=access_token&service={registry}&access_token={}", encoded(&token));
    let url = format!("https://{registry}/oauth2/exchange");
    let answer = asking.json(Method::POST, &url, &[FORM], form).await.map_err(|error| {
        CloudError(format!("failed to create artifact registry credentials: {error}"))
    })?;
    let password = text(&answer, "/refresh_token")?.to_owned();
    let until = expiry(&password).unwrap_or(now);
    let username = USERNAME.to_owned();
    Ok(Login { credentials: Credentials { username, password, ..Credentials::default() }, until })
}

/// A token for registries: of a secret of a client, of a workload, or of the machine.
async fn access_token(asking: &Asking<'_>) -> Result<String, CloudError> {
    const SCOPE: &str = "https://containerregistry.azure.net";
    let environment = asking.environment();
    let (client, tenant) = (environment.get("AZURE_CLIENT_ID"), environment.get("AZURE_TENANT_ID"));
    let secret = environment.get("AZURE_CLIENT_SECRET").map(ToOwned::to_owned);
    let file = environment.get("AZURE_FEDERATED_TOKEN_FILE");
    if let (Some(client), Some(tenant)) = (client, tenant)
        && (secret.is_some() || file.is_some())
    {
        let proof = match (secret, file) {
            (Some(secret), _) => format!("client_secret={}", encoded(&secret)),
            (None, file) => {
                let token = environment.file(file.unwrap_or_default())?;
                let kind = encoded("urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
                let token = encoded(token.trim());
                format!("client_assertion_type={kind}&client_assertion={token}")
            }
        };
        let authority =
            environment.address("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com");
        let form = format!(
            "grant_type=client_credentials&client_id={}&scope={}&{proof}",
            encoded(client),
            encoded(&format!("{SCOPE}/.default"))
        );
        let url = format!("{authority}/{tenant}/oauth2/v2.0/token");
        let answer = asking.json(Method::POST, &url, &[FORM], form).await?;
        return Ok(text(&answer, "/access_token")?.to_owned());
    }
    let host = environment.address("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://169.254.169.254");
    let mut url = format!(
        "{host}/metadata/identity/oauth2/token?api-version=2018-02-01&resource={}",
        encoded(SCOPE)
    );
    if let Some(client) = client {
        url = format!("{url}&client_id={}", encoded(client));
    }
    let answer = asking.json(Method::GET, &url, &[("metadata", "true")], String::new()).await?;
    Ok(text(&answer, "/access_token")?.to_owned())
}

/// Until when a token is good, by its own word.
fn expiry(token: &str) -> Option<Timestamp> {
    let claims = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    Timestamp::from_second(claims.get("exp")?.as_i64()?).ok()
}
