//! Other clusters, as a Secret or a ConfigMap of a tenant describes them. Nothing in it makes this process
//! read a file, run a program or trust a stranger.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use sluice_cloud::{ClusterAccess, ClusterQuery};
use sluice_runtime::key::Key;

use crate::client::Tokens;
use crate::context::Context;
use crate::identity::Purpose;

/// The entries of a Secret that may hold a kubeconfig, where none is named.
const ENTRIES: [&str; 2] = ["value", "value.yaml"];

/// Who knows clusters: the clouds, and whoever trusts tokens of this cluster as they are.
const PROVIDERS: [&str; 4] = ["aws", "azure", "gcp", "generic"];

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
/// Gives also what of it is not followed, in words for errors that come of it.
pub(super) async fn config_of(
    text: &str,
    insecure_tls: bool,
) -> Result<(Config, Option<&'static str>), String> {
    const IGNORED: &str = "insecure-skip-tls-verify of the kubeconfig is ignored: the controller runs without --insecure-kubeconfig-tls";
    let mut ignored = None;
    let mut kubeconfig =
        Kubeconfig::from_yaml(text).map_err(|error| unreadable(&error.to_string()))?;
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
        if !insecure_tls && cluster.insecure_skip_tls_verify.take() == Some(true) {
            ignored = Some(IGNORED);
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
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Ok((config.map_err(|error| error.to_string())?, ignored))
}

/// Where a kubeconfig cannot be read. The reader's own words show the lines around, with what is in them.
fn unreadable(problem: &str) -> String {
    let mut words = problem.split(|letter: char| !letter.is_ascii_alphanumeric());
    let mut number_after = |name: &str| {
        words.find(|word| *word == name)?;
        words.next()?.parse::<u32>().ok()
    };
    match (number_after("line"), number_after("column")) {
        (Some(line), Some(column)) => {
            format!("failed to parse kubeconfig YAML at line {line} column {column}")
        }
        _ => "failed to parse kubeconfig YAML".to_owned(),
    }
}

fn is_set(text: Option<&String>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

/// A cluster that is named by a ConfigMap, and who is known there.
pub(super) struct RemoteCluster(BTreeMap<String, String>);

impl RemoteCluster {
    /// Reads the entries of a ConfigMap.
    pub(super) fn of(data: BTreeMap<String, String>) -> Result<Self, String> {
        let remote = Self(data);
        let provider = remote.entry("provider");
        if PROVIDERS.contains(&provider) {
            return Ok(remote);
        }
        Err(format!("provider '{provider}' not implemented"))
    }

    fn entry(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }

    /// Tokens for it: of the service account that is named, or else of the controllers, where the operator
    /// allows that for the ConfigMap: whoever writes it chooses who receives them.
    pub(super) fn tokens(&self, context: &Context, map: &Key) -> Arc<Tokens> {
        let (settings, namespace) = (&context.settings, map.namespace.as_str());
        let default = settings.default_kubeconfig_service_account.as_deref();
        let refusal =
            settings.controller_identity.refusal(Purpose::Kubeconfig, namespace, &map.name);
        let named = Some(self.entry("serviceAccountName"));
        let audiences = self.entry("audiences").split('\n').map(str::trim);
        let audiences = audiences.filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let identity = context.clouds.named_or(namespace, named, default, refusal);
        let identity = identity.for_audiences(audiences);
        let query = ClusterQuery {
            provider: self.entry("provider").to_owned(),
            cluster: self.entry("cluster").to_owned(),
            address: self.entry("address").to_owned(),
            authorities: self.entry("ca.crt").to_owned(),
        };
        Arc::new(Tokens::new(identity, query, Arc::clone(&context.clock)))
    }
}

/// How a cluster is connected to that is found so.
pub(super) fn config_for(access: &ClusterAccess) -> Result<Config, String> {
    let mut config = Config::new(access.url()?);
    if !access.authorities.is_empty() {
        let found = CertificateDer::pem_slice_iter(&access.authorities).filter_map(Result::ok);
        config.root_cert = Some(found.map(|certificate| certificate.as_ref().to_vec()).collect());
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{RemoteCluster, config_of};

    #[test]
    fn only_clouds_that_are_known_are_asked() {
        for (provider, is_known) in [("aws", true), ("generic", true), ("none", false)] {
            let data = BTreeMap::from([("provider".to_owned(), provider.to_owned())]);
            assert_eq!(RemoteCluster::of(data).is_ok(), is_known);
        }
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
        let (read, ignored) = config_of(&text, false).await.expect("a config");
        assert!(read.auth_info.exec.is_none() && !read.accept_invalid_certs);
        assert!(ignored.is_some_and(|it| it.contains("--insecure-kubeconfig-tls")));
        let (read, ignored) = config_of(&text, true).await.expect("a config");
        assert!(read.accept_invalid_certs && ignored.is_none(), "the operator allows it");
        let (_, ignored) = config_of(&config("", exec), false).await.expect("a config");
        assert_eq!(ignored, None, "nothing was asked for");
    }
}
