//! Settings of the controllers, and what all controllers of a process share.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use sluice_cloud::{CacheLimits, Clouds, TrustedHost};
use sluice_kustomize::RemoteFiles;
use sluice_runtime::controller::{PassContext, PassRules};
use sluice_runtime::key::Key;
use sluice_secrets::flux::OnBrokenMac;
use sluice_source::oci::TokenRealms;
use sluice_ssa::{Discovery, GroupKind};

use crate::artifacts::Artifacts;
use crate::compute::Compute;
use crate::drift::{DriftLimits, DriftMode};
use crate::egress::Egress;
use crate::identity::ControllerIdentity;
use crate::safety::SafetyRule;
use crate::sources::MadeHere;

/// Flags and feature gates, named as Flux names them.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `--no-cross-namespace-refs`
    pub no_cross_namespace_refs: bool,
    /// `--no-remote-bases`
    pub no_remote_bases: bool,
    /// `--allow-remote-files`: which entries of a kustomization may be URLs of files.
    pub remote_files: RemoteFiles,
    /// `--default-service-account` of kustomize-controller: the service account of Kustomizations that name none.
    pub default_service_account: Option<String>,
    /// `--requeue-dependency`
    pub requeue_dependency: Duration,
    /// `--interval-jitter-percentage`
    pub interval_jitter: u8,
    /// `--concurrent-ssa`
    pub concurrent_ssa: usize,
    /// `--custom-apply-stage-kinds`
    pub custom_stage_kinds: BTreeSet<GroupKind>,
    /// `--override-manager`
    pub disallowed_field_managers: Vec<String>,
    /// `StrictPostBuildSubstitutions`
    pub strict_substitutions: bool,
    /// `AdditiveCELDependencyCheck`
    pub additive_cel_dependency_check: bool,
    /// `DisableFailFastBehavior`, negated.
    pub fail_fast: bool,
    /// `ExternalArtifact`
    pub external_artifacts: bool,
    /// `--default-drift`: the drift mode of objects without the annotation.
    pub drift: DriftMode,
    /// `--drift-max-kinds` and `--drift-max-objects`: the most that is watched.
    pub drift_limits: DriftLimits,
    /// `--default-service-account` of source-controller: the service account of sources that name none.
    pub default_source_service_account: Option<String>,
    /// `ObjectLevelWorkloadIdentity`
    pub object_level_workload_identity: bool,
    /// `--default-decryption-service-account`
    pub default_decryption_service_account: Option<String>,
    /// `--default-kubeconfig-service-account`
    pub default_kubeconfig_service_account: Option<String>,
    /// `--insecure-kubeconfig-tls`
    pub insecure_kubeconfig_tls: bool,
    /// `--sops-age-secret`, in the namespace of the controllers.
    pub sops_age_secret: Option<Key>,
    /// `--sops-vault-configmap`, in the namespace of the controllers.
    pub sops_vault_config_map: Option<Key>,
    /// `--sops-mac`: what is done about documents with a wrong MAC.
    pub sops_mac: OnBrokenMac,
    /// `--external-artifact-hosts`: the hosts that artifacts of ExternalArtifacts are fetched from, besides our own store.
    pub external_artifact_hosts: Vec<String>,
    /// `--registry-token-realms`: which hosts may issue tokens for which registries.
    pub token_realms: TokenRealms,
    /// `--token-cache-max-size` and `--token-cache-max-duration`
    pub token_cache: CacheLimits,
    /// `--controller-identity-for`: the objects that are served with the controllers' own identity.
    pub controller_identity: ControllerIdentity,
    /// `--cloud-hosts`: private endpoints of clouds.
    pub cloud_hosts: Vec<TrustedHost>,
    /// The safety rule that a simulation switches off.
    #[doc(hidden)]
    pub switched_off: Option<SafetyRule>,
}

impl Settings {
    /// Whether a safety rule is kept; only simulations switch one off.
    pub(crate) fn keeps(&self, rule: SafetyRule) -> bool {
        self.switched_off != Some(rule)
    }

    /// The safety rules that every pass keeps.
    pub(crate) fn pass_rules(&self) -> PassRules {
        PassRules {
            compares_versions: self.keeps(SafetyRule::StatusComparesVersions),
            finalizer_first: self.keeps(SafetyRule::HoldBeforeApplying),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            no_cross_namespace_refs: false,
            no_remote_bases: false,
            remote_files: RemoteFiles::Resources,
            default_service_account: None,
            requeue_dependency: Duration::from_secs(30),
            interval_jitter: 5,
            concurrent_ssa: 4,
            custom_stage_kinds: BTreeSet::new(),
            disallowed_field_managers: Vec::new(),
            strict_substitutions: true,
            additive_cel_dependency_check: false,
            fail_fast: true,
            external_artifacts: false,
            drift: DriftMode::Interval,
            drift_limits: DriftLimits::default(),
            external_artifact_hosts: Vec::new(),
            token_realms: TokenRealms::default(),
            token_cache: CacheLimits::default(),
            controller_identity: ControllerIdentity::default(),
            cloud_hosts: Vec::new(),
            default_source_service_account: None,
            switched_off: None,
            object_level_workload_identity: false,
            default_decryption_service_account: None,
            default_kubeconfig_service_account: None,
            insecure_kubeconfig_tls: false,
            sops_age_secret: None,
            sops_vault_config_map: None,
            sops_mac: OnBrokenMac::Report,
        }
    }
}

/// What all controllers of a process share: the handles of every pass, and what their work needs besides. Nothing in it
/// is global, so that simulations run side by side.
#[derive(Clone)]
pub struct Context {
    /// The handles of every pass; `context.client` is the client in it.
    pub pass: PassContext,
    /// Unpacked artifacts.
    pub artifacts: Arc<Artifacts>,
    /// Which sources this process makes artifacts of.
    pub made_here: MadeHere,
    /// The cluster's kinds, as far as they are known.
    pub discovery: Discovery,
    /// Runs long computations.
    pub compute: Compute,
    /// Reaches what is outside of the cluster.
    pub egress: Egress,
    /// Identities to clouds: of the controllers, and of service accounts.
    pub clouds: Clouds,
    /// Flags and feature gates.
    pub settings: Arc<Settings>,
}

impl Deref for Context {
    type Target = PassContext;

    fn deref(&self) -> &PassContext {
        &self.pass
    }
}
