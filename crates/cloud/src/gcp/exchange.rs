//! Exchanges an external token for a Google token, and that for a service account's.

use http::Method;
use serde_json::{Value, json};
use sluice_base::redacted::Redacted;

use super::SCOPES;
use crate::{Asking, CloudError, Lasting, form};

/// The token exchange.
pub(super) struct Exchange {
    pub(super) url: String,
    /// The audience of the workload identity provider.
    pub(super) audience: String,
    pub(super) subject_token_type: String,
    /// The URL of the service account's token, unless the first token is enough.
    pub(super) impersonated: Option<String>,
}

impl Exchange {
    pub(super) async fn token(
        &self,
        asking: &Asking<'_>,
        subject_token: &str,
    ) -> Result<Lasting<Redacted<String>>, CloudError> {
        let all = SCOPES.join(" ");
        // A token that is only used to get the second one needs this scope only.
        let scope = if self.impersonated.is_some() { SCOPES[0] } else { all.as_str() };
        let fields = [
            ("audience", self.audience.as_str()),
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("scope", scope),
            ("subject_token", subject_token),
            ("subject_token_type", self.subject_token_type.as_str()),
        ];
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let sent = asking.send(Method::POST, &self.url, &headers, form(&fields)).await;
        let answer = sent.map_err(|error| {
            error.while_trying("oauth2/google: invalid response from Secure Token Server")
        })?;
        let own = asking.access_token(&read(&answer)?);
        let own =
            own.ok_or_else(|| CloudError(format!("{} answered without a token", self.url)))?;
        match &self.impersonated {
            None => Ok(own),
            Some(url) => impersonate(asking, url, &own.value).await,
        }
    }
}

async fn impersonate(
    asking: &Asking<'_>,
    url: &str,
    own: &Redacted<String>,
) -> Result<Lasting<Redacted<String>>, CloudError> {
    let bearer = format!("Bearer {}", own.expose());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let body = json!({"lifetime": "3600s", "scope": SCOPES}).to_string().into_bytes();
    let sent = asking.send(Method::POST, url, &headers, body).await;
    let answer =
        sent.map_err(|error| error.while_trying("oauth2/google: unable to generate access token"))?;
    let body = read(&answer)?;
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let until = text("expireTime")
        .parse()
        .map_err(|error| CloudError(format!("oauth2/google: unable to parse expiry: {error}")))?;
    Ok(Lasting { value: Redacted::new(text("accessToken").to_owned()), until })
}

/// The JSON of a successful response. The error of another contains no token.
fn read(answer: &http::Response<Vec<u8>>) -> Result<Value, CloudError> {
    if answer.status().is_success() {
        return Ok(serde_json::from_slice(answer.body()).unwrap_or_default());
    }
    let text = String::from_utf8_lossy(answer.body());
    let shown: String = text.chars().take(4096).collect();
    Err(CloudError(format!("oauth2/google: status code {}: {shown}", answer.status().as_u16())))
}
