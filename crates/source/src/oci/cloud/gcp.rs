//! Google Cloud: the token is the password.

use regex::Regex;
use sluice_cloud::{CloudError, CloudIdentity};

use super::{credentials, no_token};
use crate::oci::credentials::Credentials;

const REGISTRY: &str = r"^(((.+\.)?gcr\.io)|(.+-docker\.pkg\.dev)|(docker\.s3nsregistry\.fr))$";

pub(super) async fn log_in(
    identity: &CloudIdentity,
    registry: &str,
) -> Result<Credentials, CloudError> {
    if !Regex::new(REGISTRY).is_ok_and(|expression| expression.is_match(registry)) {
        return Err(CloudError(format!(
            "invalid GCP registry: '{registry}'. must match {REGISTRY}"
        )));
    }
    let token = identity.gcp().await.map_err(no_token)?.value;
    Ok(credentials("oauth2accesstoken", token.expose()))
}
