//! Google Cloud: service accounts by their keys, the machine's own, and those of Kubernetes service
//! accounts (Workload Identity).

mod ambient;
mod cluster;
mod credentials;
mod exchange;
mod metadata;

use regex::Regex;
use sluice_base::redacted::Redacted;

use crate::identity::Subject;
use crate::{Asking, CloudError, Lasting};

pub use credentials::GcpCredentials;

pub(crate) use ambient::find as ambient;
pub(crate) use cluster::access;
pub(crate) use metadata::Gke;

/// The scopes of tokens: full access, and the identity.
pub(crate) const SCOPES: [&str; 2] = [
    "https://www.googleapis.com/auth/cloud-platform",
    "https://www.googleapis.com/auth/userinfo.email",
];
const EMAIL_ANNOTATION: &str = "iam.gke.io/gcp-service-account";
const EMAIL: &str = r"^[a-zA-Z0-9-]{1,100}@[a-zA-Z0-9-]{1,100}\.iam\.gserviceaccount\.com$";
const PROVIDER_ANNOTATION: &str = "gcp.auth.fluxcd.io/workload-identity-provider";
const PROVIDER: &str =
    r"^projects/\d{1,30}/locations/global/workloadIdentityPools/[^/]{1,100}/providers/[^/]{1,100}$";

/// The Google service account in the annotations of an account; empty if there is none.
pub(crate) fn email_of(annotation: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    named(annotation, EMAIL_ANNOTATION, EMAIL)
}

/// The audience of a workload identity provider in the annotations; without one the cluster is on GKE.
pub(crate) fn provider_of(
    annotation: impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, String> {
    let provider = named(annotation, PROVIDER_ANNOTATION, PROVIDER)?;
    Ok((!provider.is_empty()).then(|| format!("//iam.googleapis.com/{provider}")))
}

fn named(
    annotation: impl Fn(&str) -> Option<String>,
    key: &str,
    pattern: &str,
) -> Result<String, String> {
    let value = annotation(key).unwrap_or_default();
    if value.is_empty() || Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&value)) {
        return Ok(value);
    }
    Err(format!("invalid {key} annotation: '{value}'. must match {pattern}"))
}

/// The token of the Google service account of an account, or of the account itself.
pub(crate) async fn for_account(
    asking: &Asking<'_>,
    subject: &Subject,
    cluster_token: &str,
    gke: &Gke,
) -> Result<Lasting<Redacted<String>>, CloudError> {
    let audience = match provider_of(|key| subject.annotations.get(key).cloned())? {
        Some(audience) => audience,
        None => gke.audience(asking).await?,
    };
    let impersonated = (!subject.identity.is_empty()).then(|| {
        let host = asking.environment.address(
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS",
            "https://iamcredentials.googleapis.com",
        );
        format!("{host}/v1/projects/-/serviceAccounts/{}:generateAccessToken", subject.identity)
    });
    let sts = asking
        .environment
        .address("CLOUDSDK_API_ENDPOINT_OVERRIDES_STS", "https://sts.googleapis.com");
    let exchange = exchange::Exchange {
        url: format!("{sts}/v1/token"),
        audience,
        subject_token_type: "urn:ietf:params:oauth:token-type:jwt".to_owned(),
        impersonated,
    };
    exchange.token(asking, cluster_token).await
}

#[cfg(test)]
mod tests;
