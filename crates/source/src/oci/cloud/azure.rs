//! Azure: the registry exchanges a token for its own.

use http::Method;
use regex::Regex;
use serde_json::Value;
use sluice_cloud::azure::AzureEnvironment;
use sluice_cloud::{CloudError, CloudIdentity, Lasting, form, jwt};

use super::{credentials, no_login, no_token};
use crate::oci::credentials::Credentials;

const REGISTRY: &str = r"^.+\.(azurecr\.io|azurecr\.cn|azurecr\.de|azurecr\.us)$";
/// The user name for a token.
const USERNAME: &str = "00000000-0000-0000-0000-000000000000";

pub(super) async fn log_in(
    identity: &CloudIdentity,
    registry: &str,
) -> Result<Credentials, CloudError> {
    let azure = AzureEnvironment::of(identity.asking().environment)?;
    check(registry, &azure)?;
    let token = identity.azure(&azure.registry_scope()).await.map_err(no_token)?.value;
    let login = exchange(identity, registry, token.expose());
    let purpose = [("azure", registry), ("token", token.expose())];
    identity.cached(&purpose, login).await.map_err(no_login)
}

/// Fails unless it is a registry of Azure: the token is sent to no other host.
fn check(registry: &str, azure: &AzureEnvironment) -> Result<(), CloudError> {
    if Regex::new(REGISTRY).is_ok_and(|expression| expression.is_match(registry)) {
        return Ok(());
    }
    let wrong = match (&azure.registry_suffix, azure.is_custom) {
        (Some(suffix), _) if is_below(registry, suffix) => return Ok(()),
        (Some(suffix), _) => format!("invalid Azure registry: '{registry}'. must end with {suffix}"),
        (None, true) => "failed to get container registry suffix from environment file: containerRegistryDNSSuffix must be set in the environment file".to_owned(),
        (None, false) => format!("invalid Azure registry: '{registry}'. must match {REGISTRY}"),
    };
    Err(CloudError(wrong))
}

/// Whether a name ends with a suffix at a label boundary.
fn is_below(registry: &str, suffix: &str) -> bool {
    let suffix = suffix.trim_start_matches('.');
    let above = registry.strip_suffix(suffix);
    above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

async fn exchange(
    identity: &CloudIdentity,
    registry: &str,
    token: &str,
) -> Result<Lasting<Credentials>, CloudError> {
    let fields = [("grant_type", "access_token"), ("service", registry), ("access_token", token)];
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let (url, asking) = (format!("https://{registry}/oauth2/exchange"), identity.asking());
    let answer = asking.send(Method::POST, &url, &headers, form(&fields)).await?;
    let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    let password = body.get("refresh_token").and_then(Value::as_str).unwrap_or_default();
    if !answer.status().is_success() || password.is_empty() {
        let text = String::from_utf8_lossy(answer.body());
        let shown: String = text.chars().take(512).collect();
        return Err(CloudError(format!("POST {url}: {} {shown}", answer.status())));
    }
    let until = jwt::expiry(password).unwrap_or(asking.now);
    Ok(Lasting { value: credentials(USERNAME, password), until })
}
