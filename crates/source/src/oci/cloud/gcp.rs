//! Google: the metadata server gives a token, which the registry takes as a password.

use http::Method;
use jiff::Timestamp;
use regex::Regex;

use super::{Asking, CloudError, Login, lasting, text};
use crate::oci::credentials::Credentials;

const REGISTRY: &str = r"^(((.+\.)?gcr\.io)|(.+-docker\.pkg\.dev)|(docker\.s3nsregistry\.fr))$";

/// Logs in with the service account that the metadata server knows.
pub(super) async fn log_in(
    asking: &Asking<'_>,
    registry: &str,
    now: Timestamp,
) -> Result<Login, CloudError> {
    if !Regex::new(REGISTRY).is_ok_and(|expression| expression.is_match(registry)) {
        return Err(CloudError(format!(
            "invalid GCP registry: '{registry}'. must match {REGISTRY}"
        )));
    }
    let host = asking.environment().address("GCE_METADATA_HOST", "metadata.google.internal");
    let path = "computeMetadata/v1/instance/service-accounts/default/token";
    let scopes = "https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform%2Chttps%3A%2F%2Fwww.googleapis.com%2Fauth%2Fuserinfo.email";
    let url = format!("http://{host}/{path}?scopes={scopes}");
    let answer = asking
        .json(Method::GET, &url, &[("metadata-flavor", "Google")], String::new())
        .await
        .map_err(|error| {
            CloudError(format!(
                "failed to get access token for artifact registry: failed to create provider access token for the controller: {error}"
            ))
        })?;
    let credentials = Credentials {
        username: "oauth2accesstoken".to_owned(),
        password: text(&answer, "/access_token")?.to_owned(),
        ..Credentials::default()
    };
    Ok(Login { credentials, until: lasting(&answer, "/expires_in", now) })
}
