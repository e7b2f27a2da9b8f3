//! The flags of `sluice serve`: all flags of Flux's source- and kustomize-controller, with the same names.
//!
//! A flag that both have sets both; `--source-concurrent` and `--kustomize-concurrent` set one. Flags without effect here
//! are accepted (`--kube-api-qps` and `--kube-api-burst` among the global ones), so that a Deployment's arguments need no
//! edit, and are reported as without effect.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use sluice_base::duration::GoDuration;
use sluice_controllers::drift::{DriftLimits, DriftMode};
use sluice_controllers::table::Controller;
use sluice_runtime::lease::Terms;
use sluice_runtime::queue::Backoff;
use sluice_source::artifact::DigestAlgorithm;
use sluice_source::git::SshOptions;

use super::applying::Applying;
use super::identities::Identities;
use super::outward::Outward;
use crate::outcome::Failure;

/// The flags, with Flux's names.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The controllers to run, by Flux's names.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = Controller::DEFAULT
    )]
    pub(super) controllers: Vec<String>,
    /// The kubeconfig; by default KUBECONFIG, ~/.kube/config or the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// The directory of the artifact store; by default STORAGE_PATH, or a private directory in the user's state directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) storage_path: Option<PathBuf>,
    /// A bucket that mirrors the artifact store, so that a restart or another replica has all artifacts at once:
    /// s3://NAME/PREFIX, gs://NAME/PREFIX or az://NAME/PREFIX, with the environment's credentials.
    #[arg(long, value_name = "URL")]
    pub(super) storage_bucket: Option<String>,
    /// The address of the artifact server; a loopback port outside a cluster, port 9090 inside one.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(super) storage_addr: Option<SocketAddr>,
    /// The host, with an optional port, in the URLs of artifacts.
    #[arg(long, value_name = "HOST")]
    pub(super) storage_adv_addr: Option<String>,
    /// The notification receiver that events are posted to.
    #[arg(long, value_name = "URL")]
    pub(super) events_addr: Option<String>,
    /// The address of the metrics endpoint; `0` disables it. Inside a cluster :8080.
    #[arg(long, value_name = "ADDRESS")]
    pub(super) metrics_addr: Option<String>,
    /// The address of the health endpoints; `0` disables them. Inside a cluster :9440.
    #[arg(long, value_name = "ADDRESS")]
    pub(super) health_addr: Option<String>,
    /// Concurrent passes of a kind.
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    pub(super) concurrent: usize,
    /// Concurrent passes of each kind of source.
    #[arg(long, value_name = "NUMBER")]
    source_concurrent: Option<usize>,
    /// Concurrent passes of Kustomizations.
    #[arg(long, value_name = "NUMBER")]
    kustomize_concurrent: Option<usize>,
    /// Concurrent requests of one Kustomization's apply.
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    pub(super) concurrent_ssa: usize,
    /// Denies cross-namespace references.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(super) no_cross_namespace_refs: bool,
    /// The default service account of Kustomizations; with source controllers only, the default service account for
    /// clouds.
    #[arg(long, value_name = "NAME")]
    pub(super) default_service_account: Option<String>,
    /// A field manager to take over: its changes to applied objects are undone; can be repeated.
    #[arg(long, value_name = "NAME")]
    pub(super) override_manager: Vec<String>,
    /// Kinds to apply after CRDs and before all others, as group/Kind.
    #[arg(long, value_name = "KINDS", default_value = "")]
    pub(super) custom_apply_stage_kinds: String,
    /// The hosts of artifacts of ExternalArtifacts, besides our own storage.
    #[arg(long, value_delimiter = ',', value_name = "HOSTS")]
    pub(super) external_artifact_hosts: Vec<String>,
    /// Token servers of registries, such as registry.example.com=auth.example.com. The registry's own host and those of
    /// common public registries are allowed by default; `*` matches one label, and `*=*` is upstream's behaviour, which
    /// sends the credentials wherever the registry says.
    #[arg(long, value_delimiter = ',', value_name = "PAIRS")]
    pub(super) registry_token_realms: Vec<String>,
    /// The retry interval for dependencies that are not ready, unless an event comes earlier.
    #[arg(long, default_value = "30s", value_name = "DURATION")]
    pub(super) requeue_dependency: GoDuration,
    /// The jitter of intervals, in percent.
    #[arg(long, default_value_t = 5, value_name = "PERCENT")]
    pub(super) interval_jitter_percentage: u8,
    /// The default of drift detection: interval, warn or repair.
    #[arg(long, default_value = "interval", value_name = "MODE")]
    pub(super) default_drift: DriftMode,
    /// The maximum number of kinds that are watched for drift; beyond it, drift detection falls back to spec.interval.
    #[arg(long, default_value_t = DriftLimits::default().kinds, value_name = "NUMBER")]
    pub(super) drift_max_kinds: usize,
    /// The maximum number of objects that are watched for drift.
    #[arg(long, default_value_t = DriftLimits::default().objects, value_name = "NUMBER")]
    pub(super) drift_max_objects: usize,
    /// The first back-off after a failure.
    #[arg(long, default_value = "750ms", value_name = "DURATION")]
    min_retry_delay: GoDuration,
    /// The longest back-off after failures.
    #[arg(long, default_value = "15m", value_name = "DURATION")]
    max_retry_delay: GoDuration,
    /// The retention time of old artifacts.
    #[arg(long, default_value = "60s", value_name = "DURATION")]
    pub(super) artifact_retention_ttl: GoDuration,
    /// The maximum number of old artifacts.
    #[arg(long, default_value_t = 2, value_name = "NUMBER")]
    pub(super) artifact_retention_records: usize,
    /// The digest algorithm of artifacts: sha256, sha384, sha512 or blake3.
    #[arg(long, default_value = "sha256", value_name = "ALGORITHM")]
    pub(super) artifact_digest_algo: DigestAlgorithm,
    /// Key exchange algorithms of git over SSH, in order of preference; by default the safe ones.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    ssh_kex_algos: Vec<String>,
    /// Host key algorithms of git over SSH, in order of preference; by default those of the host's known keys.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    ssh_hostkey_algos: Vec<String>,
    /// Watches all namespaces; otherwise that of RUNTIME_NAMESPACE.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    watch_all_namespaces: bool,
    /// Reconciles only objects with these labels, such as sharding.fluxcd.io/key=shard1.
    #[arg(long, value_name = "SELECTOR", default_value = "")]
    pub(super) watch_label_selector: String,
    /// Enables leader election: of the processes with the same lease, one works.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(super) enable_leader_election: bool,
    /// Releases the lease at the end.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(super) leader_election_release_on_cancel: bool,
    /// The duration of the lease.
    #[arg(long, default_value = "35s", value_name = "DURATION")]
    leader_election_lease_duration: GoDuration,
    /// The deadline of renewing the lease.
    #[arg(long, default_value = "30s", value_name = "DURATION")]
    leader_election_renew_deadline: GoDuration,
    /// The pause between attempts.
    #[arg(long, default_value = "5s", value_name = "DURATION")]
    leader_election_retry_period: GoDuration,
    /// Feature gates, as Name=true,Other=false.
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    pub(super) feature_gates: Vec<String>,
    /// The log level: error, info, debug or trace.
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub(super) log_level: tracing::Level,
    /// The log encoding: json or console.
    #[arg(long, default_value = "json", value_name = "FORM", value_parser = ["json", "console"])]
    pub(super) log_encoding: String,
    #[command(flatten)]
    pub(super) applying: Applying,
    #[command(flatten)]
    pub(super) identities: Identities,
    #[command(flatten)]
    pub(super) outward: Outward,
    #[command(flatten)]
    idle: Idle,
}

macro_rules! idle {
    ($($name:ident $flag:literal),+ $(,)?) => {
        /// Flags of Flux's controllers without effect here.
        #[derive(Debug, clap::Args)]
        struct Idle {
            $(
                /// Without effect.
                #[arg(long = $flag, hide = true, num_args = 0..=1, default_missing_value = "true")]
                $name: Option<String>,
            )+
        }

        impl Idle {
            fn given(&self) -> Vec<&'static str> {
                let all = [$((concat!("--", $flag), self.$name.is_some())),+];
                all.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag).collect()
            }
        }
    };
}

idle!(
    // A failed fetch is retried by the next pass, with back-off, and holds no worker meanwhile.
    http_retry "http-retry",
    // Kubeconfigs that run programs are always denied.
    insecure_kubeconfig_exec "insecure-kubeconfig-exec",
    // ConfigMaps and Secrets trigger the objects that refer to them, whatever their labels.
    watch_configs_label_selector "watch-configs-label-selector",
    // There is no Helm controller yet.
    helm_index_max_size "helm-index-max-size",
    helm_chart_max_size "helm-chart-max-size",
    helm_chart_file_max_size "helm-chart-file-max-size",
    helm_cache_max_size "helm-cache-max-size",
    helm_cache_ttl "helm-cache-ttl",
    helm_cache_purge_interval "helm-cache-purge-interval",
);

impl Arguments {
    /// The given flags without effect.
    pub(super) fn without_effect(&self) -> Vec<&'static str> {
        self.idle.given()
    }

    /// The concurrency of a kind, if its controller has its own flag.
    pub(super) fn concurrency(&self) -> BTreeMap<Controller, usize> {
        let own = [
            (Controller::Source, self.source_concurrent),
            (Controller::Kustomize, self.kustomize_concurrent),
        ];
        own.into_iter().filter_map(|(controller, number)| Some((controller, number?))).collect()
    }

    /// The SSH algorithms.
    pub(super) fn ssh(&self) -> SshOptions {
        SshOptions {
            key_exchanges: self.ssh_kex_algos.clone(),
            host_keys: self.ssh_hostkey_algos.clone(),
        }
    }

    /// The back-off of retries.
    pub(super) fn backoff(&self) -> Backoff {
        Backoff { least: self.min_retry_delay.to_std(), most: self.max_retry_delay.to_std() }
    }

    /// The durations of leases. A holder that gives up later than others may begin would run beside them.
    pub(super) fn terms(&self) -> Result<Terms, Failure> {
        let terms = Terms {
            duration: self.leader_election_lease_duration.to_std(),
            renew_deadline: self.leader_election_renew_deadline.to_std(),
            retry: self.leader_election_retry_period.to_std(),
        };
        if terms.duration <= terms.renew_deadline {
            return Err(Failure::new("leaseDuration must be greater than renewDeadline"));
        }
        if terms.renew_deadline <= terms.retry.mul_f64(1.2)
            || terms.retry < Duration::from_millis(1)
        {
            return Err(Failure::new(
                "renewDeadline must be greater than retryPeriod*JitterFactor",
            ));
        }
        Ok(terms)
    }

    /// The watched namespace, if it is only one.
    pub(super) fn namespace(&self, own: &str) -> Option<String> {
        (!self.watch_all_namespaces).then(|| own.to_owned())
    }
}

/// An address in Go's format: the host may be empty.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    match text.strip_prefix(':') {
        Some(port) => {
            let port = port.parse().map_err(|_| format!("{port:?} is no port"))?;
            Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port))
        }
        None => text
            .replace("localhost:", "127.0.0.1:")
            .parse()
            .map_err(|_| format!("{text:?} is no address; write it as :8080 or 127.0.0.1:8080")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use sluice_source::artifact::DigestAlgorithm;

    use super::{Arguments, address};

    #[derive(Debug, clap::Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(flags: &[&str]) -> Result<Arguments, clap::Error> {
        let all = ["serve"].iter().chain(flags);
        Command::try_parse_from(all).map(|command| command.arguments)
    }

    /// The arguments of Flux's own manifests and guides.
    #[test]
    fn what_fluxs_deployments_pass_is_taken() {
        let flags = parse(&[
            "--events-addr=http://notification-controller.flux-system.svc.cluster.local./",
            "--watch-all-namespaces=true",
            "--log-level=info",
            "--log-encoding=json",
            "--enable-leader-election",
            "--storage-path=/data",
            "--storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.cluster.local.",
            "--concurrent=10",
            "--kustomize-concurrent=20",
            "--requeue-dependency=5s",
            "--no-cross-namespace-refs=true",
            "--no-remote-bases",
            "--default-service-account=default",
            "--watch-label-selector=sharding.fluxcd.io/key=shard1",
            "--feature-gates=CacheSecretsAndConfigMaps=true,GroupChangeLog=true",
            "--override-manager=a",
            "--override-manager=b",
            "--helm-cache-max-size=10",
            "--token-cache-max-size",
            "100",
            "--insecure-kubeconfig-tls",
            "--storage-addr=:9090",
            "--interval-jitter-percentage=10",
            "--artifact-digest-algo=blake3",
            "--ssh-kex-algos=curve25519-sha256,ecdh-sha2-nistp256",
            "--ssh-hostkey-algos=ssh-ed25519",
        ])
        .unwrap();
        assert!(flags.enable_leader_election && flags.no_cross_namespace_refs);
        assert!(flags.leader_election_release_on_cancel);
        assert_eq!(flags.override_manager, ["a", "b"]);
        assert_eq!(flags.concurrency().into_values().collect::<Vec<_>>(), [20]);
        assert_eq!(flags.namespace("flux-system"), None);
        assert_eq!(flags.artifact_digest_algo, DigestAlgorithm::Blake3);
        assert_eq!(flags.ssh().key_exchanges, ["curve25519-sha256", "ecdh-sha2-nistp256"]);
        assert_eq!(flags.ssh().host_keys, ["ssh-ed25519"]);
        assert!(parse(&["--artifact-digest-algo=md5"]).is_err());
        let idle = ["--helm-cache-max-size"];
        assert_eq!(flags.without_effect(), idle);
        let flags = parse(&["--watch-all-namespaces=false"]).unwrap();
        assert_eq!(flags.namespace("flux-system").as_deref(), Some("flux-system"));
        assert!(parse(&["--no-such-flag"]).is_err());
        let hasty = parse(&["--leader-election-renew-deadline=40s"]).unwrap();
        assert!(hasty.terms().is_err());
    }

    #[test]
    fn addresses_are_written_as_in_go() {
        assert_eq!(address(":8080").unwrap().to_string(), "0.0.0.0:8080");
        assert_eq!(address("localhost:1").unwrap().to_string(), "127.0.0.1:1");
        assert!(address("8080").is_err());
    }
}
