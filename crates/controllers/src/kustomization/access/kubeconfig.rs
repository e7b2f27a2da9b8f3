//! Other clusters, as a Secret or a ConfigMap of a tenant describes them. Nothing in it makes this process
//! read a file, run a program or trust a stranger.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use sluice_runtime::key::Key;
use sluice_secrets::flux::Identity;

use crate::client::Tokens;
use crate::context::Context;
use crate::identity::Account;

/// The entries of a Secret that may hold a kubeconfig, where none is named.
const ENTRIES: [&str; 2] = ["value", "value.yaml"];

/// The kubeconfig in a Secret.
pub(super) fn kubeconfig_of(
    key: &Key,
    entry: Option<&str>,
    mut data: BTreeMap<String, ByteString>,
) -> Result<String, String> {
    let named = entry.filter(|entry| !entry.is_empty());
    let found = match named {
        Some(entry) => data.remove(entry),
        None => ENTRIES.iter().find_map(|entry| data.remove(*entry)),
    };
    let found = found.ok_or_else(|| {
        let entry = named.unwrap_or("value");
        format!("KubeConfig secret '{key}' does not contain a '{entry}' key with a kubeconfig")
    })?;
    Ok(String::from_utf8_lossy(&found.0).into_owned())
}

/// What a kubeconfig says. Files are refused, as Flux refuses them; programs are never run.
pub(super) async fn config_of(text: &str, insecure_tls: bool) -> Result<Config, String> {
    let mut kubeconfig = Kubeconfig::from_yaml(text).map_err(|error| error.to_string())?;
    for cluster in &mut kubeconfig.clusters {
        let name = &cluster.name;
        let Some(cluster) = &mut cluster.cluster else {
            return Err(format!("cluster '{name}' is nil"));
        };
        if is_set(cluster.certificate_authority.as_ref()) {
            return Err(format!(
                "cluster '{name}' references a certificate-authority file, only certificate-authority-data is supported"
            ));
        }
        if !insecure_tls {
            cluster.insecure_skip_tls_verify = None;
        }
    }
    for user in &mut kubeconfig.auth_infos {
        let name = &user.name;
        let Some(user) = &mut user.auth_info else { return Err(format!("user '{name}' is nil")) };
        if is_set(user.token_file.as_ref()) {
            return Err(format!(
                "user '{name}' references a tokenFile, only an inline token is supported"
            ));
        }
        if is_set(user.client_certificate.as_ref()) {
            return Err(format!(
                "user '{name}' references a client-certificate file, only client-certificate-data is supported"
            ));
        }
        if is_set(user.client_key.as_ref()) {
            return Err(format!(
                "user '{name}' references a client-key file, only client-key-data is supported"
            ));
        }
        user.exec = None;
        user.auth_provider = None;
    }
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|error| error.to_string())
}

fn is_set(text: Option<&String>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

/// A cluster that trusts tokens of this one.
pub(super) struct RemoteCluster(BTreeMap<String, String>);

impl RemoteCluster {
    /// Reads the entries of a ConfigMap. Only the generic way is there: a token of this cluster is shown as
    /// it is. The others first ask a cloud where the cluster is.
    pub(super) fn of(data: BTreeMap<String, String>) -> Result<Self, String> {
        let remote = Self(data);
        match remote.entry("provider").unwrap_or_default() {
            "generic" => Ok(remote),
            provider => Err(format!("provider '{provider}' not implemented")),
        }
    }

    fn entry(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The address, in its canonical form.
    pub(super) fn address(&self) -> Result<http::Uri, String> {
        let Some(written) = self.entry("address") else {
            return Err("cluster address is required to create a REST config".to_owned());
        };
        let wrong =
            |problem: String| format!("failed to parse cluster address {written}: {problem}");
        let full = if written.starts_with("http") {
            written.to_owned()
        } else {
            format!("https://{written}")
        };
        let url: http::Uri = full.parse().map_err(|error| {
            wrong(format!("failed to parse Kubernetes API server address '{full}': {error}"))
        })?;
        if url.scheme_str() != Some("https") {
            return Err(wrong(format!(
                "the Kubernetes API server address '{full}' must use https scheme"
            )));
        }
        let host = url.host().unwrap_or_default().to_ascii_lowercase();
        let port = url.port_u16().unwrap_or(443);
        format!("https://{host}:{port}").parse().map_err(|error: http::uri::InvalidUri| {
            wrong(format!("failed to parse Kubernetes API server address '{full}': {error}"))
        })
    }

    /// Whom to trust there, beyond whom the system trusts.
    pub(super) fn authorities(&self) -> Option<Vec<Vec<u8>>> {
        let pem = self.entry("ca.crt")?;
        let found = CertificateDer::pem_slice_iter(pem.as_bytes()).filter_map(Result::ok);
        Some(found.map(|certificate| certificate.as_ref().to_vec()).collect())
    }

    /// Tokens for it: of the service account that is named, or else of the controller itself.
    pub(super) fn tokens(&self, context: &Context, namespace: &str) -> Arc<Tokens> {
        let settings = &context.settings;
        let named = self.entry("serviceAccountName");
        let account = named.or(settings.default_kubeconfig_service_account.as_deref());
        let identity: Arc<dyn Identity> = match account {
            None => Arc::clone(&context.outside.identity),
            Some(name) => Arc::new(Account {
                client: context.client.clone(),
                web: Arc::clone(&context.outside.web),
                key: Key::new(namespace, name),
                allowed: settings.object_level_workload_identity,
                is_default: named.is_none(),
                vaults: None,
            }),
        };
        let asked = self.entry("audiences").unwrap_or_default().lines().map(str::trim);
        let mut audiences: Vec<String> =
            asked.filter(|audience| !audience.is_empty()).map(str::to_owned).collect();
        if audiences.is_empty() {
            audiences.push(self.entry("address").unwrap_or_default().to_owned());
        }
        Arc::new(Tokens::new(identity, audiences, Arc::clone(&context.clock)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{RemoteCluster, config_of};

    fn remote(address: &str) -> Result<String, String> {
        let entry = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let data = BTreeMap::from([entry("provider", "generic"), entry("address", address)]);
        RemoteCluster::of(data)?.address().map(|url| url.to_string())
    }

    #[test]
    fn addresses_have_one_form() {
        assert_eq!(remote("https://API.test:6443/x").as_deref(), Ok("https://api.test:6443/"));
        assert_eq!(remote("api.test").as_deref(), Ok("https://api.test:443/"));
        let error = remote("http://api.test").expect_err("no TLS");
        assert_eq!(
            error,
            "failed to parse cluster address http://api.test: the Kubernetes API server address 'http://api.test' must use https scheme"
        );
        assert_eq!(
            remote("").expect_err("none"),
            "cluster address is required to create a REST config"
        );
        let unknown = RemoteCluster::of(BTreeMap::new()).err();
        assert_eq!(unknown.as_deref(), Some("provider '' not implemented"));
    }

    #[tokio::test]
    async fn files_are_refused_and_programs_are_not_run() {
        let config = |cluster: &str, user: &str| {
            format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: a, user: u}}}}]\nclusters: [{{name: a, cluster: {{server: 'https://api.test', {cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
            )
        };
        for (cluster, user, problem) in [
            (
                "certificate-authority: /etc/passwd",
                "token: t",
                "cluster 'a' references a certificate-authority file, only certificate-authority-data is supported",
            ),
            (
                "",
                "tokenFile: /var/run/secrets/token",
                "user 'u' references a tokenFile, only an inline token is supported",
            ),
            (
                "",
                "client-certificate: /c",
                "user 'u' references a client-certificate file, only client-certificate-data is supported",
            ),
            (
                "",
                "client-key: /k",
                "user 'u' references a client-key file, only client-key-data is supported",
            ),
        ] {
            let error = config_of(&config(cluster, user), false).await.err();
            assert_eq!(error.as_deref(), Some(problem));
        }
        let exec = "exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, interactiveMode: Never}";
        let text = config("insecure-skip-tls-verify: true", exec);
        let read = config_of(&text, false).await.expect("a config");
        assert!(read.auth_info.exec.is_none() && !read.accept_invalid_certs);
        let read = config_of(&text, true).await.expect("a config");
        assert!(read.accept_invalid_certs, "the operator allows it");
    }
}
