//! The flags of all commands: cluster, namespace, timeout.

use std::path::PathBuf;

use clap::Args;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use sluice_base::duration::GoDuration;
use sluice_controllers::egress::cluster_client;
use sluice_source::network::{Network, Purpose};

use crate::kubeconfig;
use crate::outcome::Failure;
use crate::tell;

/// The default namespace of Flux.
const DEFAULT_NAMESPACE: &str = "flux-system";

/// Flux's global flags. Rare ones of kubectl are hidden.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Globals {
    /// The namespace; by default FLUX_SYSTEM_NAMESPACE or flux-system.
    #[arg(short, long, global = true, value_name = "NAME")]
    namespace: Option<String>,
    /// Uses the namespace of the kubeconfig's context; also with FLUX_NS_FOLLOWS_KUBE_CONTEXT.
    #[arg(long, global = true, hide_short_help = true)]
    ns_follows_kube_context: bool,
    /// The kubeconfig; by default KUBECONFIG, ~/.kube/config or the pod's own account.
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig.
    #[arg(long, global = true, value_name = "NAME")]
    context: Option<String>,
    /// The timeout of the command.
    #[arg(long, global = true, value_name = "DURATION", default_value = "5m")]
    timeout: GoDuration,
    /// Prints the generated objects.
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    access: Access,
}

/// Access to the cluster, overriding the kubeconfig.
#[derive(Debug, Clone, Args)]
struct Access {
    /// The cluster of the kubeconfig.
    #[arg(long = "cluster", id = "kube-cluster", global = true, hide_short_help = true)]
    cluster: Option<String>,
    /// The user of the kubeconfig.
    #[arg(long = "user", id = "kube-user", global = true, hide_short_help = true)]
    user: Option<String>,
    /// The address of the API server.
    #[arg(long = "server", id = "kube-server", global = true, hide_short_help = true)]
    server: Option<http::Uri>,
    /// A bearer token for the API server.
    #[arg(long = "token", id = "kube-token", global = true, hide_short_help = true)]
    token: Option<String>,
    /// The user to impersonate.
    #[arg(long = "as", id = "kube-as", global = true, hide_short_help = true)]
    impersonate: Option<String>,
    /// The groups to impersonate.
    #[arg(long = "as-group", id = "kube-as-group", global = true, hide_short_help = true)]
    groups: Vec<String>,
    /// The uid to impersonate.
    #[arg(long = "as-uid", id = "kube-as-uid", global = true, hide_short_help = true)]
    uid: Option<String>,
    /// Skips the verification of the API server's certificate.
    #[arg(
        long = "insecure-skip-tls-verify",
        id = "kube-insecure",
        global = true,
        hide_short_help = true
    )]
    insecure: bool,
    /// The certificate authority of the API server.
    #[arg(
        long = "certificate-authority",
        id = "kube-authority",
        global = true,
        hide_short_help = true
    )]
    authority: Option<PathBuf>,
    /// The client certificate.
    #[arg(
        long = "client-certificate",
        id = "kube-certificate",
        global = true,
        hide_short_help = true
    )]
    certificate: Option<String>,
    /// The key of the client certificate.
    #[arg(long = "client-key", id = "kube-key", global = true, hide_short_help = true)]
    key: Option<String>,
    /// The server name in the API server's certificate.
    #[arg(
        long = "tls-server-name",
        id = "kube-server_name",
        global = true,
        hide_short_help = true
    )]
    server_name: Option<String>,
    /// Accepted for compatibility with Flux: responses are small.
    #[arg(long = "disable-compression", global = true, hide = true)]
    _disable_compression: bool,
    /// Accepted for compatibility with Flux: there is no cache.
    #[arg(long = "cache-dir", global = true, hide = true)]
    _cache_dir: Option<PathBuf>,
    /// Accepted for compatibility with Flux: there are few requests.
    #[arg(long = "kube-api-qps", global = true, hide = true)]
    _qps: Option<f32>,
    /// Accepted for compatibility with Flux: there are few requests.
    #[arg(long = "kube-api-burst", global = true, hide = true)]
    _burst: Option<i64>,
}

impl Globals {
    /// The namespace of the command.
    pub(crate) fn namespace(&self) -> Result<String, Failure> {
        let given = self.namespace.clone().or_else(|| self.namespace_of_context());
        let name = given.or_else(namespace_of_environment);
        let name = name.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
        if is_dns_label(&name) {
            return Ok(name);
        }
        Err(Failure::flux(format!("namespace must be a valid DNS label: {name:?}")))
    }

    fn namespace_of_context(&self) -> Option<String> {
        let follows = self.ns_follows_kube_context
            || std::env::var_os("FLUX_NS_FOLLOWS_KUBE_CONTEXT").is_some_and(|v| !v.is_empty());
        if !follows {
            return None;
        }
        let config = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let config = config.ok()?;
        let wanted = self.context.as_ref().or(config.current_context.as_ref())?;
        let named = config.contexts.iter().find(|context| &context.name == wanted)?;
        named.context.as_ref()?.namespace.clone().filter(|name| !name.is_empty())
    }

    /// The directory of `check --cluster`, and the flags without it. In Flux and kubectl this flag names the kubeconfig's
    /// cluster, and such a name is no path.
    pub(crate) fn cluster_path(&self) -> Option<(PathBuf, Self)> {
        let path = self.access.cluster.as_ref().map(PathBuf::from).filter(|path| path.exists())?;
        let mut globals = self.clone();
        globals.access.cluster = None;
        Some((path, globals))
    }

    /// The timeout of the command.
    pub(crate) fn timeout(&self) -> std::time::Duration {
        self.timeout.to_std()
    }

    /// Takes the value of `--token` if it is not for the API server.
    pub(crate) fn take_token(&mut self) -> Option<String> {
        self.access.token.take()
    }

    /// A client for the cluster, and its address.
    pub(crate) async fn client(&self) -> Result<(Client, String), Failure> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            cluster: self.access.cluster.clone(),
            user: self.access.user.clone(),
        };
        let mut config = kubeconfig::config(self.kubeconfig.as_deref(), &options).await?;
        self.access.refine(&mut config)?;
        kubeconfig::check_address(&config)?;
        let address = config.cluster_url.to_string();
        let client = cluster_client(&Network::new(), Purpose::Operator, config);
        let client = client.map_err(|error| {
            Failure::flux(format!("kubernetes client initialization failed: {error}"))
        })?;
        Ok((client, address))
    }
}

impl Access {
    fn refine(&self, config: &mut Config) -> Result<(), Failure> {
        if let Some(server) = &self.server {
            config.cluster_url = server.clone();
        }
        if self.insecure {
            config.accept_invalid_certs = true;
        }
        if let Some(path) = &self.authority {
            config.root_cert_file = Some(path.clone());
        }
        if let Some(name) = &self.server_name {
            config.tls_server_name = Some(name.clone());
        }
        let auth = &mut config.auth_info;
        if let Some(token) = &self.token {
            *auth = AuthInfo { token: Some(token.clone().into()), ..AuthInfo::default() };
        }
        if let (Some(certificate), Some(key)) = (&self.certificate, &self.key) {
            *auth = AuthInfo {
                client_certificate: Some(certificate.clone()),
                client_key: Some(key.clone()),
                ..AuthInfo::default()
            };
        }
        if self.impersonate.is_some() {
            auth.impersonate.clone_from(&self.impersonate);
            auth.impersonate_uid.clone_from(&self.uid);
            auth.impersonate_groups = Some(self.groups.clone()).filter(|groups| !groups.is_empty());
        } else if !self.groups.is_empty() || self.uid.is_some() {
            return Err(Failure::flux(
                "requesting uid, groups or user-extra without impersonating a user",
            ));
        }
        Ok(())
    }
}

fn namespace_of_environment() -> Option<String> {
    let name = std::env::var("FLUX_SYSTEM_NAMESPACE").ok().filter(|name| !name.is_empty())?;
    if is_dns_label(&name) {
        return Some(name);
    }
    tell::warning(&format!(" ignoring invalid FLUX_SYSTEM_NAMESPACE: {name:?}"));
    None
}

/// Whether a text is a DNS label as Kubernetes has it (RFC 1123).
pub(crate) fn is_dns_label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::is_dns_label;

    #[test]
    fn labels_are_short_lower_and_do_not_end_in_dashes() {
        for good in ["a", "flux-system", "0", &"x".repeat(63)] {
            assert!(is_dns_label(good), "{good}");
        }
        for bad in ["", "A", "a_b", "-a", "a-", "a.b", &"x".repeat(64)] {
            assert!(!is_dns_label(bad), "{bad}");
        }
    }
}
