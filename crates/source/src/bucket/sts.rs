//! Temporary credentials for a name and password of LDAP.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use object_store::aws::AwsCredential;
use object_store::client::HttpRequestBody;
use serde::Deserialize;

use super::wire::{LARGEST_PAGE, Wire, is_printable};
use super::{BucketError, encoded};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Response {
    #[serde(rename = "AssumeRoleWithLDAPIdentityResult")]
    result: Outcome,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Outcome {
    credentials: Credentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Credentials {
    access_key_id: String,
    secret_access_key: String,
    #[serde(default)]
    session_token: String,
}

/// Requests the credentials.
pub(super) async fn ldap(
    wire: &Wire,
    endpoint: &str,
    username: &str,
    password: &str,
) -> Result<AwsCredential, BucketError> {
    let form = format!(
        "Action=AssumeRoleWithLDAPIdentity&LDAPPassword={}&LDAPUsername={}&Version=2011-06-15",
        encoded(password, b""),
        encoded(username, b"")
    );
    let make = || {
        let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
        http::Request::builder()
            .method(Method::POST)
            .uri(endpoint)
            .header(CONTENT_TYPE, kind)
            .body(HttpRequestBody::from(form.clone()))
            .map_err(|error| BucketError(format!("failed to create a request: {error}")))
    };
    let answer = wire.send(LARGEST_PAGE, make).await?;
    if answer.status != StatusCode::OK {
        return Err(BucketError(answer.status_line()));
    }
    let text = String::from_utf8_lossy(&answer.body);
    let response: Response = quick_xml::de::from_str(&text)
        .map_err(|_| BucketError::new("the credential service answered with something else"))?;
    let given = response.result.credentials;
    if !is_printable(&given.access_key_id) {
        return Err(BucketError::new("the credential service gave no usable key"));
    }
    Ok(AwsCredential {
        key_id: given.access_key_id,
        secret_key: given.secret_access_key,
        token: Some(given.session_token).filter(|token| is_printable(token)),
    })
}
