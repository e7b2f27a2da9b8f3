//! AKS: the endpoint of a cluster; its token is an Azure token.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Method, Response};
use regex::Regex;
use serde_json::Value;
use sluice_base::redacted::Redacted;

use super::AzureEnvironment;
use crate::cluster::{canonical_address, kubeconfig};
use crate::{Asking, CloudError, ClusterAccess, ClusterQuery, Lasting, encoded};

/// The scope of tokens for clusters.
pub(crate) const SCOPE: &str = "6dae42f8-4368-4678-94ff-3960e28e3630/.default";
const CLUSTER: &str = r"(?i)^/subscriptions/([^/]{36})/resourceGroups/([^/]{1,200})/providers/Microsoft\.ContainerService/managedClusters/([^/]{1,200})$";
const API_VERSION: &str = "2022-04-01";

/// Whether the cluster has to be described, because address or authorities are not known.
pub(crate) fn is_described(query: &ClusterQuery) -> bool {
    query.address.is_empty() || query.authorities.is_empty()
}

/// The scope of tokens for the resource manager.
pub(crate) fn manager_scope(asking: &Asking<'_>) -> Result<String, CloudError> {
    Ok(format!("{}/.default", AzureEnvironment::of(asking.environment)?.audience))
}

/// Access to a cluster, with a token for it and, if it has to be described, one for the resource manager.
pub(crate) async fn access(
    asking: &Asking<'_>,
    token: Lasting<Redacted<String>>,
    manager: Option<&Redacted<String>>,
    query: &ClusterQuery,
) -> Result<Lasting<ClusterAccess>, CloudError> {
    let mut address = query.address.clone();
    let mut authorities = query.authorities.clone().into_bytes();
    if let Some(manager) = manager {
        let found = Manager::of(asking, manager, &query.cluster)?.describe(&address).await?;
        if address.is_empty() {
            address = found.0;
        }
        if authorities.is_empty() {
            authorities = found.1;
        }
    }
    let value = ClusterAccess { address, authorities, token: token.value };
    Ok(Lasting { value, until: token.until })
}

/// The resource manager, for one cluster.
struct Manager<'a> {
    asking: &'a Asking<'a>,
    token: &'a Redacted<String>,
    /// The cluster's resource id.
    cluster: &'a str,
    /// Its URL.
    url: String,
}

impl<'a> Manager<'a> {
    fn of(
        asking: &'a Asking<'a>,
        token: &'a Redacted<String>,
        cluster: &'a str,
    ) -> Result<Self, CloudError> {
        let expression = Regex::new(CLUSTER).map_err(|error| CloudError(error.to_string()))?;
        let found = expression.captures(cluster).ok_or_else(|| {
            CloudError(format!("invalid AKS cluster ID: '{cluster}'. must match {CLUSTER}"))
        })?;
        let part = |at| encoded(found.get(at).map_or("", |part| part.as_str()));
        let manager = AzureEnvironment::of(asking.environment)?.manager;
        let url = format!(
            "{}/subscriptions/{}/resourceGroups/{}/providers/Microsoft.ContainerService/managedClusters/{}",
            manager.trim_end_matches('/'),
            part(1),
            part(2),
            part(3)
        );
        Ok(Self { asking, token, cluster, url })
    }

    async fn ask(&self, method: Method, path: &str) -> Result<Value, CloudError> {
        let url = format!("{}{path}?api-version={API_VERSION}", self.url);
        let bearer = format!("Bearer {}", self.token.expose());
        let headers = [("authorization", bearer.as_str()), ("accept", "application/json")];
        let answer = self.asking.send(method.clone(), &url, &headers, Vec::new()).await?;
        if answer.status().is_success() {
            return serde_json::from_slice(answer.body())
                .map_err(|_| CloudError(format!("{method} {url}: the answer is not JSON")));
        }
        Err(CloudError(format!("{method} {url}: {}", refused(&answer))))
    }

    /// Describes the cluster: address and authorities; the requested address, if there is one.
    async fn describe(&self, wanted: &str) -> Result<(String, Vec<u8>), CloudError> {
        let found = self.ask(Method::GET, "").await;
        let found = found.map_err(|error| error.while_trying("failed to describe AKS cluster"))?;
        if !found.pointer("/properties/aadProfile").is_some_and(Value::is_object) {
            return Err(CloudError(format!(
                "AKS cluster {} does not have Microsoft Entra ID integration enabled. See docs for enabling: https://learn.microsoft.com/en-us/azure/aks/enable-authentication-microsoft-entra-id",
                self.cluster
            )));
        }
        let canonical = if wanted.is_empty() {
            None
        } else {
            Some(canonical_address(wanted).map_err(|error| {
                error.while_trying(&format!("failed to parse specified cluster address '{wanted}'"))
            })?)
        };
        let list = self.ask(Method::POST, "/listClusterUserCredential").await?;
        let mut addresses = Vec::new();
        let configs = list.get("kubeconfigs").and_then(Value::as_array);
        for (index, config) in configs.into_iter().flatten().enumerate() {
            let value = config.get("value").and_then(Value::as_str).unwrap_or_default();
            let unread = |problem: String| {
                CloudError(format!("failed to parse kubeconfig[{index}]: {problem}"))
            };
            let text = STANDARD.decode(value).map_err(|error| unread(error.to_string()))?;
            let (address, authorities) = kubeconfig(&text).map_err(unread)?;
            let of_config = canonical_address(&address).map_err(|error| {
                error.while_trying(&format!(
                    "failed to parse address '{address}' from kubeconfig[{index}]"
                ))
            })?;
            if canonical.as_ref().is_none_or(|wanted| *wanted == of_config) {
                return Ok((address, authorities));
            }
            addresses.push(format!("'{address}'"));
        }
        let cluster = self.cluster;
        Err(CloudError(if wanted.is_empty() {
            format!("no kubeconfig found for AKS cluster {cluster}")
        } else {
            format!(
                "no kubeconfig found for AKS cluster {cluster} matching the specified address '{wanted}'. cluster addresses: [{}]",
                addresses.join(", ")
            )
        }))
    }
}

/// The message of Azure's library, in one line.
fn refused(answer: &Response<Vec<u8>>) -> String {
    let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    let code = body.pointer("/error/code").and_then(Value::as_str);
    let code = code.map_or("ERROR CODE UNAVAILABLE".to_owned(), |it| format!("ERROR CODE: {it}"));
    let message = body.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
    let words =
        format!("RESPONSE {}: {}, {code}: {message}", answer.status().as_u16(), answer.status());
    words.trim_end_matches([':', ' ']).to_owned()
}
