//! AWS: access keys of an account or a session, their sources, and signatures.

mod ambient;
mod cluster;
mod signature;
mod sts;

use jiff::{SignedDuration, Timestamp};
use regex::Regex;
use serde_json::Value;
use sluice_base::redacted::Redacted;

use crate::identity::Subject;
use crate::{Asking, CloudError, Lasting};

pub use signature::Signer;

pub(crate) use ambient::find as ambient;
pub(crate) use cluster::{access, region_of as cluster_region};
pub(crate) use signature::hex;

/// The audience of service account tokens for STS.
pub(crate) const AUDIENCE: &str = "sts.amazonaws.com";
const ROLE_ANNOTATION: &str = "eks.amazonaws.com/role-arn";
const ROLE: &str = r"^arn:aws[\w-]*:iam::[0-9]{1,30}:role/.{1,200}$";
const STS_ENDPOINT: &str = r"^https://(.+\.)?sts(-fips)?(\.[^.]+)?(\.vpce)?\.amazonaws\.com$";

/// The access keys of an account or a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsKeys {
    access_key: String,
    secret_key: Redacted<String>,
    session_token: Redacted<String>,
}

impl AwsKeys {
    /// Keys; the session token is empty for an account's own keys.
    pub fn new(access_key: &str, secret_key: &str, session_token: &str) -> Self {
        Self {
            access_key: access_key.to_owned(),
            secret_key: Redacted::new(secret_key.to_owned()),
            session_token: Redacted::new(session_token.to_owned()),
        }
    }

    /// The id of the access key, which is not secret.
    pub fn access_key(&self) -> &str {
        &self.access_key
    }

    /// The secret access key.
    pub fn secret_key(&self) -> &str {
        self.secret_key.expose()
    }

    /// The session token, or empty.
    pub fn session_token(&self) -> &str {
        self.session_token.expose()
    }

    /// Assumes a role with these keys.
    pub async fn assume(
        &self,
        asking: &Asking<'_>,
        region: &str,
        role: &str,
        session: &str,
    ) -> Result<Self, CloudError> {
        sts::assume_role(asking, self, region, role, session).await
    }

    /// Keys in the format of the agents of pods and machines.
    fn of_agent(answer: &Value, now: Timestamp) -> Result<Lasting<Self>, CloudError> {
        let field = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
        if field("AccessKeyId").is_empty() || field("SecretAccessKey").is_empty() {
            return Err(CloudError("the answer holds no credentials of AWS".to_owned()));
        }
        let value = Self::new(field("AccessKeyId"), field("SecretAccessKey"), field("Token"));
        Ok(Lasting { value, until: field("Expiration").parse().unwrap_or(now) })
    }
}

/// The role in the annotations of a service account.
pub(crate) fn role_of(annotation: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let role = annotation(ROLE_ANNOTATION).unwrap_or_default();
    if matches(ROLE, &role) {
        return Ok(role);
    }
    Err(format!("invalid {ROLE_ANNOTATION} annotation: '{role}'. must match {ROLE}"))
}

/// Assumes the role of a service account.
pub(crate) async fn for_account(
    asking: &Asking<'_>,
    subject: &Subject,
    cluster_token: &str,
    region: &str,
    endpoint: &str,
) -> Result<Lasting<AwsKeys>, CloudError> {
    if region.is_empty() {
        return Err(CloudError("an AWS region is required for authenticating with a service account. please configure one in the object spec".to_owned()));
    }
    let account = &subject.account;
    let session = format!("{}.{}.{region}.fluxcd.io", account.name, account.namespace);
    let endpoint = sts_endpoint(asking, region, endpoint)?;
    sts::with_web_identity(asking, &endpoint, &subject.identity, &session, cluster_token).await
}

/// The STS endpoint of a region: that of an object, of a variable, or the default.
fn sts_endpoint(asking: &Asking<'_>, region: &str, named: &str) -> Result<String, CloudError> {
    if named.is_empty() {
        return endpoint(asking, "sts", "STS", region);
    }
    // Upstream's expression alone also matches `https://evil.test/.sts.amazonaws.com`: the text before the
    // suffix must consist of labels of the same host.
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    let host = named.strip_prefix("https://").unwrap_or_default();
    if matches(STS_ENDPOINT, named) && host.bytes().all(is_host) {
        return Ok(named.to_owned());
    }
    Err(CloudError(format!("invalid STS endpoint: '{named}'. must match {STS_ENDPOINT}")))
}

/// The endpoint of a service in a region; `AWS_ENDPOINT_URL_…` may override it.
pub fn endpoint(
    asking: &Asking<'_>,
    service: &str,
    variable: &str,
    region: &str,
) -> Result<String, CloudError> {
    // It becomes part of a host's name.
    let is_region = !region.is_empty()
        && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_region {
        return Err(CloudError(format!("'{region}' is no AWS region")));
    }
    let domain = match region.split('-').next() {
        Some("cn") => "amazonaws.com.cn",
        Some("eusc") => "amazonaws.eu",
        _ => "amazonaws.com",
    };
    let usual = format!("https://{service}.{region}.{domain}");
    Ok(asking.environment.address(&format!("AWS_ENDPOINT_URL_{variable}"), &usual))
}

fn matches(expression: &str, text: &str) -> bool {
    Regex::new(expression).is_ok_and(|expression| expression.is_match(text))
}

/// The validity of a presigned request for a cluster.
const SIGNATURE: SignedDuration = SignedDuration::from_mins(15);

#[cfg(test)]
mod tests;
