//! The Security Token Service: temporary keys for a role.

use http::{Method, Request};

use super::{AwsKeys, Signer, endpoint};
use crate::{Asking, CloudError, Lasting, form};

const VERSION: &str = "2011-06-15";
const FORM: &str = "application/x-www-form-urlencoded";
/// Errors that Amazon's library knows by type; the messages of others differ.
const TYPED: [&str; 7] = [
    "ExpiredTokenException",
    "IDPCommunicationError",
    "IDPRejectedClaim",
    "InvalidIdentityToken",
    "MalformedPolicyDocument",
    "PackedPolicyTooLarge",
    "RegionDisabledException",
];

/// Assumes a role with a service account token. The request needs no signature.
pub(super) async fn with_web_identity(
    asking: &Asking<'_>,
    endpoint: &str,
    role: &str,
    session: &str,
    token: &str,
) -> Result<Lasting<AwsKeys>, CloudError> {
    let fields = [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("RoleArn", role),
        ("RoleSessionName", session),
        ("Version", VERSION),
        ("WebIdentityToken", token),
    ];
    let url = format!("{endpoint}/");
    let answer = asking.send(Method::POST, &url, &[("content-type", FORM)], form(&fields)).await?;
    read("AssumeRoleWithWebIdentity", &answer, asking)
}

/// Assumes a role with access keys.
pub(super) async fn assume_role(
    asking: &Asking<'_>,
    keys: &AwsKeys,
    region: &str,
    role: &str,
    session: &str,
) -> Result<AwsKeys, CloudError> {
    let fields = [
        ("Action", "AssumeRole"),
        ("RoleArn", role),
        ("RoleSessionName", session),
        ("Version", VERSION),
    ];
    let request = Request::post(format!("{}/", endpoint(asking, "sts", "STS", region)?))
        .header("content-type", FORM)
        .body(form(&fields))
        .map_err(|error| CloudError(error.to_string()))?;
    let signer = Signer { keys, region, service: "sts", now: asking.now };
    let answer = asking.http.send(signer.sign(request)?).await?;
    read("AssumeRole", &answer, asking).map(|found| found.value)
}

fn read(
    operation: &str,
    answer: &http::Response<Vec<u8>>,
    asking: &Asking<'_>,
) -> Result<Lasting<AwsKeys>, CloudError> {
    let body = String::from_utf8_lossy(answer.body());
    let field = |name: &str| {
        let after = body.split_once(&format!("<{name}>")).map(|(_, after)| after)?;
        after.split_once('<').map(|(value, _)| value).filter(|value| !value.is_empty())
    };
    if !answer.status().is_success() {
        let said = |name: &str| field(name).unwrap_or_default();
        let code = said("Code");
        let kind = if TYPED.contains(&code) { "" } else { "api error " };
        return Err(CloudError(format!(
            "operation error STS: {operation}, https response error StatusCode: {}, RequestID: {}, {kind}{code}: {}",
            answer.status().as_u16(),
            said("RequestId"),
            said("Message")
        )));
    }
    let parts = (field("AccessKeyId"), field("SecretAccessKey"), field("SessionToken"));
    let (Some(access), Some(secret), Some(session)) = parts else {
        return Err(CloudError("credentials are nil".to_owned()));
    };
    let until = field("Expiration").and_then(|moment| moment.parse().ok());
    Ok(Lasting { value: AwsKeys::new(access, secret, session), until: until.unwrap_or(asking.now) })
}
