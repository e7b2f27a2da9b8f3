//! The default credentials: a file that a variable names, or the machine.

use serde_json::Value;
use sluice_base::redacted::Redacted;

use super::exchange::Exchange;
use super::metadata::metadata;
use super::{GcpCredentials, SCOPES};
use crate::{Asking, CloudError, Lasting, encoded};

/// A token of this process.
pub(crate) async fn find(asking: &Asking<'_>) -> Result<Lasting<Redacted<String>>, CloudError> {
    if let Some(path) = asking.environment.get("GOOGLE_APPLICATION_CREDENTIALS") {
        return of_file(asking, path).await;
    }
    let scopes = encoded(&SCOPES.join(","));
    let path = format!("instance/service-accounts/default/token?scopes={scopes}");
    let answer = metadata(asking, &path).await?;
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    let token = asking.access_token(&answer);
    token.ok_or_else(|| CloudError("the metadata service answered without a token".to_owned()))
}

/// A token for the credentials in a file: of a service account, of a user, or of an external workload with its
/// token in another file.
async fn of_file(asking: &Asking<'_>, path: &str) -> Result<Lasting<Redacted<String>>, CloudError> {
    let text = asking.environment.file(path)?;
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    let field = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    if field("type") != "external_account" {
        let failed = |error: CloudError| error.while_trying(path);
        let credentials = GcpCredentials::read(text.as_bytes()).map_err(failed)?;
        return credentials.token(asking, &SCOPES).await;
    }
    let source = value.pointer("/credential_source/file").and_then(Value::as_str);
    let source = source.ok_or_else(|| {
        CloudError(format!("{path}: only tokens in files are supported as credential_source"))
    })?;
    let mut token = asking.environment.file(source)?.trim().to_owned();
    if value.pointer("/credential_source/format/type").and_then(Value::as_str) == Some("json") {
        let name = value.pointer("/credential_source/format/subject_token_field_name");
        let name = name.and_then(Value::as_str).unwrap_or_default();
        let document: Value = serde_json::from_str(&token).unwrap_or_default();
        let found = document.get(name).and_then(Value::as_str);
        token =
            found.ok_or_else(|| CloudError(format!("{source}: there is no {name}")))?.to_owned();
    }
    let impersonated = Some(field("service_account_impersonation_url"));
    let exchange = Exchange {
        url: field("token_url").to_owned(),
        audience: field("audience").to_owned(),
        subject_token_type: field("subject_token_type").to_owned(),
        impersonated: impersonated.filter(|url| !url.is_empty()).map(str::to_owned),
    };
    exchange.token(asking, &token).await
}
