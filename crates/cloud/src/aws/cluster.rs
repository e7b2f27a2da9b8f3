//! EKS: the endpoint of a cluster, and a token, which is a presigned STS request for the caller's identity.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{Request, Response};
use regex::Regex;
use serde_json::Value;
use sluice_base::redacted::Redacted;

use super::{AwsKeys, SIGNATURE, Signer, endpoint};
use crate::{Asking, CloudError, ClusterAccess, ClusterQuery, Lasting, encoded};

const CLUSTER: &str = r"^arn:aws[\w-]*:eks:([^:]{1,100}):[0-9]{1,30}:cluster/(.{1,200})$";
/// Errors that Amazon's library knows by type; the messages of others differ.
const TYPED: [&str; 4] = [
    "ClientException",
    "ResourceNotFoundException",
    "ServerException",
    "ServiceUnavailableException",
];

/// Region and name of a cluster.
fn parsed(cluster: &str) -> Result<(String, String), CloudError> {
    let found = Regex::new(CLUSTER).ok().and_then(|expression| {
        let found = expression.captures(cluster)?;
        Some((found.get(1)?.as_str().to_owned(), found.get(2)?.as_str().to_owned()))
    });
    found.ok_or_else(|| {
        CloudError(format!("invalid EKS cluster ARN: '{cluster}'. must match {CLUSTER}"))
    })
}

/// The region in the name of a cluster, for the keys.
pub(crate) fn region_of(cluster: &str) -> Result<String, CloudError> {
    parsed(cluster).map(|(region, _)| region)
}

/// Access to a cluster.
pub(crate) async fn access(
    asking: &Asking<'_>,
    keys: &AwsKeys,
    query: &ClusterQuery,
) -> Result<Lasting<ClusterAccess>, CloudError> {
    let until = asking.now + SIGNATURE;
    let (region, name) = parsed(&query.cluster)?;
    let mut address = query.address.clone();
    let mut authorities = query.authorities.clone().into_bytes();
    if address.is_empty() || authorities.is_empty() {
        let found = describe(asking, keys, &region, &name).await.map_err(|error| {
            error.while_trying(&format!("failed to describe EKS cluster '{}'", query.cluster))
        })?;
        let text =
            |pointer: &str| found.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if address.is_empty() {
            text("/cluster/endpoint").clone_into(&mut address);
        }
        if authorities.is_empty() {
            authorities =
                STANDARD.decode(text("/cluster/certificateAuthority/data")).map_err(|error| {
                    CloudError(format!("failed to decode EKS CA certificate: {error}"))
                })?;
        }
    }
    let signer = Signer { keys, region: &region, service: "sts", now: asking.now };
    let sts = endpoint(asking, "sts", "STS", &region)?;
    let question = [("Action", "GetCallerIdentity"), ("Version", "2011-06-15")];
    let url = signer.presign(&sts, &question, ("x-k8s-aws-id", &name), SIGNATURE);
    let token = Redacted::new(format!("k8s-aws-v1.{}", URL_SAFE_NO_PAD.encode(url)));
    Ok(Lasting { value: ClusterAccess { address, authorities, token }, until })
}

/// Describes a cluster.
async fn describe(
    asking: &Asking<'_>,
    keys: &AwsKeys,
    region: &str,
    name: &str,
) -> Result<Value, CloudError> {
    let url = format!("{}/clusters/{}", endpoint(asking, "eks", "EKS", region)?, encoded(name));
    let request =
        Request::get(url).body(Vec::new()).map_err(|error| CloudError(error.to_string()))?;
    let signer = Signer { keys, region, service: "eks", now: asking.now };
    let answer = asking.http.send(signer.sign(request)?).await?;
    let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    if answer.status().is_success() && body.get("cluster").is_some_and(Value::is_object) {
        return Ok(body);
    }
    let text = |field: &str| body.get(field).and_then(Value::as_str).unwrap_or_default();
    let kind = header(&answer, "x-amzn-errortype");
    let kind = if kind.is_empty() { text("__type") } else { kind };
    let kind = kind.rsplit('#').next().unwrap_or_default();
    let kind = kind.split(':').next().unwrap_or_default();
    Err(CloudError(format!(
        "operation error EKS: DescribeCluster, https response error StatusCode: {}, RequestID: {}, {}{kind}: {}{}",
        answer.status().as_u16(),
        header(&answer, "x-amzn-requestid"),
        if TYPED.contains(&kind) { "" } else { "api error " },
        text("message"),
        text("Message"),
    )))
}

fn header<'a>(answer: &'a Response<Vec<u8>>, name: &str) -> &'a str {
    answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
