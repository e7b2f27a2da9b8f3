//! Access to other clusters.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sluice_base::redacted::Redacted;

use crate::CloudError;

/// A cluster in the ConfigMap of a `configMapRef`. Unknown fields are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterQuery {
    /// `aws`, `azure`, `gcp` or `generic`.
    pub provider: String,
    /// The cluster's full resource name at the cloud.
    pub cluster: String,
    /// The address of its API server.
    pub address: String,
    /// The certificate authorities, in PEM.
    pub authorities: String,
}

/// The address, certificate authorities and token of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterAccess {
    /// The address of its API server, with or without a scheme.
    pub address: String,
    /// The certificate authorities, in PEM.
    pub authorities: Vec<u8>,
    /// The bearer token.
    pub token: Redacted<String>,
}

impl ClusterAccess {
    /// The address with its scheme. It must be https, because a token is sent there.
    pub fn url(&self) -> Result<http::Uri, CloudError> {
        let full = with_scheme(&self.address);
        parsed(&full)
    }
}

fn with_scheme(address: &str) -> String {
    if address.starts_with("http") { address.to_owned() } else { format!("https://{address}") }
}

fn parsed(full: &str) -> Result<http::Uri, CloudError> {
    let url: http::Uri = full.parse().map_err(|error| {
        CloudError(format!("failed to parse Kubernetes API server address '{full}': {error}"))
    })?;
    if url.scheme_str() != Some("https") {
        return Err(CloudError(format!(
            "the Kubernetes API server address '{full}' must use https scheme"
        )));
    }
    Ok(url)
}

/// A canonical address: scheme, host in lower case, port.
pub(crate) fn canonical_address(address: &str) -> Result<String, CloudError> {
    if address.is_empty() {
        return Err(CloudError("empty address".to_owned()));
    }
    let url = parsed(&with_scheme(address))?;
    let host = url.host().unwrap_or_default().to_ascii_lowercase();
    Ok(format!("https://{host}:{}", url.port_u16().unwrap_or(443)))
}

/// Address and certificate authorities of the current cluster of a kubeconfig.
pub(crate) fn kubeconfig(text: &[u8]) -> Result<(String, Vec<u8>), String> {
    let value = sluice_yaml::to_json(text, sluice_yaml::Duplicates::LastWins);
    let value = value.map_err(|error| error.to_string())?.unwrap_or_default();
    let named = |list: &str, name: &str| {
        let entries = value.get(list).and_then(Value::as_array)?;
        entries.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))
    };
    let current = value.get("current-context").and_then(Value::as_str).unwrap_or_default();
    let context = named("contexts", current).and_then(|it| it.pointer("/context/cluster"));
    let cluster = context.and_then(Value::as_str).and_then(|name| named("clusters", name));
    let cluster = cluster.and_then(|it| it.get("cluster"));
    let cluster = cluster.ok_or_else(|| format!("context \"{current}\" has no cluster"))?;
    let text = |name: &str| cluster.get(name).and_then(Value::as_str).unwrap_or_default();
    let authorities = STANDARD
        .decode(text("certificate-authority-data"))
        .map_err(|error| format!("certificate-authority-data: {error}"))?;
    Ok((text("server").to_owned(), authorities))
}

#[cfg(test)]
mod tests {
    use super::{canonical_address, kubeconfig};

    #[test]
    fn addresses_have_one_form() {
        for (address, expected) in [
            ("https://API.test:6443/x", Ok("https://api.test:6443")),
            ("api.test", Ok("https://api.test:443")),
            ("", Err("empty address")),
            (
                "http://api.test",
                Err("the Kubernetes API server address 'http://api.test' must use https scheme"),
            ),
        ] {
            let found = canonical_address(address).map_err(String::from);
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{address}");
        }
        assert!(canonical_address("https://[").is_err());
    }

    #[test]
    fn the_current_cluster_of_a_kubeconfig_is_found() {
        let text = b"current-context: b\ncontexts: [{name: a, context: {cluster: one}}, {name: b, context: {cluster: two}}]\nclusters: [{name: one, cluster: {server: 'https://x'}}, {name: two, cluster: {server: 'https://y', certificate-authority-data: Y2E=}}]\n";
        assert_eq!(kubeconfig(text), Ok(("https://y".to_owned(), b"ca".to_vec())));
        assert_eq!(kubeconfig(b"{}"), Err("context \"\" has no cluster".to_owned()));
        assert!(kubeconfig(b"[").is_err());
    }
}
