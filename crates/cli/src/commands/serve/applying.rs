//! The flags of applying: builds, decryption, other clusters.

use sluice_controllers::context::Settings;
use sluice_kustomize::RemoteFiles;
use sluice_runtime::key::Key;
use sluice_secrets::flux::OnBrokenMac;

/// The flags, with Flux's names.
#[derive(Debug, clap::Args)]
pub(super) struct Applying {
    /// Denies remote bases.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    no_remote_bases: bool,
    /// Allows URLs of files in generators, patches and other entries of a kustomization besides resources, as in
    /// Flux.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    allow_remote_files: bool,
    /// The Secret with age keys for Kustomizations without one, in the namespace of the controllers.
    #[arg(long, value_name = "NAME")]
    sops_age_secret: Option<String>,
    /// The ConfigMap with trusted Vaults, in the namespace of the controllers.
    #[arg(long, value_name = "NAME")]
    sops_vault_configmap: Option<String>,
    /// How to treat documents with a wrong MAC: report or refuse.
    #[arg(long, default_value = "report", value_name = "WHAT")]
    sops_mac: Mac,
    /// The default service account for decryption.
    #[arg(long, value_name = "NAME")]
    default_decryption_service_account: Option<String>,
    /// The default service account for other clusters.
    #[arg(long, value_name = "NAME")]
    default_kubeconfig_service_account: Option<String>,
    /// Allows tenants' kubeconfigs that skip the verification of certificates.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    insecure_kubeconfig_tls: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Mac {
    Report,
    Refuse,
}

impl Applying {
    /// The settings from these flags.
    pub(super) fn settings(self, namespace: &str) -> Settings {
        let ours = |name: String| Key::new(namespace, name);
        Settings {
            no_remote_bases: self.no_remote_bases,
            remote_files: if self.allow_remote_files {
                RemoteFiles::Everywhere
            } else {
                RemoteFiles::Resources
            },
            sops_age_secret: self.sops_age_secret.map(ours),
            sops_vault_config_map: self.sops_vault_configmap.map(ours),
            sops_mac: match self.sops_mac {
                Mac::Report => OnBrokenMac::Report,
                Mac::Refuse => OnBrokenMac::Refuse,
            },
            default_decryption_service_account: self.default_decryption_service_account,
            default_kubeconfig_service_account: self.default_kubeconfig_service_account,
            insecure_kubeconfig_tls: self.insecure_kubeconfig_tls,
            ..Settings::default()
        }
    }
}
