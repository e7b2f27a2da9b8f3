//! GKE: the endpoint of a cluster; its token is a Google token.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use regex::Regex;
use serde_json::Value;
use sluice_base::redacted::Redacted;

use crate::{Asking, CloudError, ClusterAccess, ClusterQuery, Lasting};

const CLUSTER: &str = r"^projects/[^/]{1,200}/locations/[^/]{1,200}/clusters/[^/]{1,200}$";

/// Access to a cluster.
pub(crate) async fn access(
    asking: &Asking<'_>,
    token: Lasting<Redacted<String>>,
    query: &ClusterQuery,
) -> Result<Lasting<ClusterAccess>, CloudError> {
    let mut address = query.address.clone();
    let mut authorities = query.authorities.clone().into_bytes();
    if address.is_empty() || authorities.is_empty() {
        let cluster = &query.cluster;
        if !Regex::new(CLUSTER).is_ok_and(|pattern| pattern.is_match(cluster)) {
            return Err(CloudError(format!(
                "invalid GKE cluster ID: '{cluster}'. must match {CLUSTER}"
            )));
        }
        let found = describe(asking, &token.value, cluster).await.map_err(|error| {
            error.while_trying(&format!("failed to describe GKE cluster '{cluster}'"))
        })?;
        let text =
            |pointer: &str| found.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if address.is_empty() {
            text("/endpoint").clone_into(&mut address);
        }
        if authorities.is_empty() {
            authorities =
                STANDARD.decode(text("/masterAuth/clusterCaCertificate")).map_err(|error| {
                    CloudError(format!("failed to decode GKE CA certificate: {error}"))
                })?;
        }
    }
    let value = ClusterAccess { address, authorities, token: token.value };
    Ok(Lasting { value, until: token.until })
}

/// Describes a cluster.
async fn describe(
    asking: &Asking<'_>,
    token: &Redacted<String>,
    cluster: &str,
) -> Result<Value, CloudError> {
    let host = asking
        .environment
        .address("CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER", "https://container.googleapis.com");
    let parts: Vec<String> = cluster.split('/').map(crate::encoded).collect();
    let url = format!("{host}/v1/{}", parts.join("/"));
    let bearer = format!("Bearer {}", token.expose());
    let headers = [("authorization", bearer.as_str())];
    let answer = asking.send(Method::GET, &url, &headers, Vec::new()).await?;
    let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    if answer.status().is_success() {
        return Ok(body);
    }
    let code = answer.status().as_u16();
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let reason = text("/error/errors/0/reason");
    let reason = if reason.is_empty() { String::new() } else { format!(", {reason}") };
    Err(CloudError(match text("/error/message") {
        "" => {
            let body = String::from_utf8_lossy(answer.body());
            let shown: String = body.chars().take(1024).collect();
            format!("googleapi: got HTTP response code {code} with body: {shown}")
        }
        message => format!("googleapi: Error {code}: {message}{reason}"),
    }))
}
