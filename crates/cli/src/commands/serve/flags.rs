//! The flags of `sluice serve`: all that Flux's source- and kustomize-controller take, under the same names.
//!
//! A flag that both have sets both; `--source-concurrent` and `--kustomize-concurrent` set one. Those that mean
//! nothing here are taken (`--kube-api-qps` and `--kube-api-burst` among the global ones), so that a Deployment's arguments need not be edited, and said to be without effect.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use sluice_base::duration::GoDuration;
use sluice_controllers::drift::{DriftLimits, DriftMode};
use sluice_controllers::run::Controller;
use sluice_runtime::lease::Terms;
use sluice_runtime::queue::Backoff;
use sluice_source::artifact::DigestAlgorithm;
use sluice_source::git::SshOptions;

use super::applying::Applying;
use super::identities::Identities;
use super::outward::Outward;
use crate::outcome::Failure;

/// The flags, named as Flux names them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Which controllers run, by Flux's names.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = "source-controller,kustomize-controller"
    )]
    pub(super) controllers: Vec<String>,
    /// The kubeconfig; without it KUBECONFIG, ~/.kube/config or the pod's own account.
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Where artifacts are kept; without it STORAGE_PATH, or a private directory in the user's state directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) storage_path: Option<PathBuf>,
    /// A bucket that artifacts are kept in as well, so that a restart or another replica has them at once:
    /// s3://NAME/PREFIX, gs://NAME/PREFIX or az://NAME/PREFIX, with the environment's credentials.
    #[arg(long, value_name = "URL")]
    pub(super) storage_bucket: Option<String>,
    /// Where artifacts are served; a loopback port outside a cluster, port 9090 inside one.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(super) storage_addr: Option<SocketAddr>,
    /// The host, with its port if need be, that artifact addresses name.
    #[arg(long, value_name = "HOST")]
    pub(super) storage_adv_addr: Option<String>,
    /// The notification receiver that events are posted to.
    #[arg(long, value_name = "URL")]
    pub(super) events_addr: Option<String>,
    /// Where metrics are served; `0` for nowhere. Inside a cluster :8080.
    #[arg(long, value_name = "ADDRESS")]
    pub(super) metrics_addr: Option<String>,
    /// Where health is told; `0` for nowhere. Inside a cluster :9440.
    #[arg(long, value_name = "ADDRESS")]
    pub(super) health_addr: Option<String>,
    /// How many objects of a kind are worked on at a time.
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    pub(super) concurrent: usize,
    /// The same for sources only.
    #[arg(long, value_name = "NUMBER")]
    source_concurrent: Option<usize>,
    /// The same for Kustomizations only.
    #[arg(long, value_name = "NUMBER")]
    kustomize_concurrent: Option<usize>,
    /// How many objects of a Kustomization are applied at a time.
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    pub(super) concurrent_ssa: usize,
    /// Whether references across namespaces are refused.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(super) no_cross_namespace_refs: bool,
    /// The service account that Kustomizations without one act as; where only sources are looked after, the
    /// one that clouds are asked as for sources without one.
    #[arg(long, value_name = "NAME")]
    pub(super) default_service_account: Option<String>,
    /// A field manager whose changes to applied objects are undone; can be given again.
    #[arg(long, value_name = "NAME")]
    pub(super) override_manager: Vec<String>,
    /// Kinds to apply after definitions and before all others, as group/Kind.
    #[arg(long, value_name = "KINDS", default_value = "")]
    pub(super) custom_apply_stage_kinds: String,
    /// The hosts that artifacts of ExternalArtifacts may come from, besides our own storage.
    #[arg(long, value_delimiter = ',', value_name = "HOSTS")]
    pub(super) external_artifact_hosts: Vec<String>,
    /// Hosts that may issue tokens for registries, such as registry.example.com=auth.example.com. Those of a
    /// registry itself and of the usual public registries need no mention; `*` stands for one label, and
    /// `*=*` for upstream's behaviour, which is to send the credentials wherever the registry says.
    #[arg(long, value_delimiter = ',', value_name = "PAIRS")]
    pub(super) registry_token_realms: Vec<String>,
    /// When dependencies that are not ready are looked at again, if nothing wakes earlier.
    #[arg(long, default_value = "30s", value_name = "DURATION")]
    pub(super) requeue_dependency: GoDuration,
    /// How far intervals are moved either way, in percent.
    #[arg(long, default_value_t = 5, value_name = "PERCENT")]
    pub(super) interval_jitter_percentage: u8,
    /// What is done about changes in the cluster where no annotation says it: interval, warn or repair.
    #[arg(long, default_value = "interval", value_name = "MODE")]
    pub(super) default_drift: DriftMode,
    /// How many kinds are watched at most for changes of others; beyond, the interval has to do.
    #[arg(long, default_value_t = DriftLimits::default().kinds, value_name = "NUMBER")]
    pub(super) drift_max_kinds: usize,
    /// How many objects are watched at most for changes of others.
    #[arg(long, default_value_t = DriftLimits::default().objects, value_name = "NUMBER")]
    pub(super) drift_max_objects: usize,
    /// The first pause after a failure.
    #[arg(long, default_value = "750ms", value_name = "DURATION")]
    min_retry_delay: GoDuration,
    /// The longest pause after failures.
    #[arg(long, default_value = "15m", value_name = "DURATION")]
    max_retry_delay: GoDuration,
    /// How long old artifacts stay.
    #[arg(long, default_value = "60s", value_name = "DURATION")]
    pub(super) artifact_retention_ttl: GoDuration,
    /// How many old artifacts stay at most.
    #[arg(long, default_value_t = 2, value_name = "NUMBER")]
    pub(super) artifact_retention_records: usize,
    /// What digests of artifacts are computed with: sha256, sha384, sha512 or blake3.
    #[arg(long, default_value = "sha256", value_name = "ALGORITHM")]
    pub(super) artifact_digest_algo: DigestAlgorithm,
    /// Key exchanges for git over SSH, the preferred one first; otherwise those that are held safe.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    ssh_kex_algos: Vec<String>,
    /// Kinds of host keys for git over SSH, the preferred one first; otherwise those that are known of the host.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    ssh_hostkey_algos: Vec<String>,
    /// Whether all namespaces are watched; otherwise that of RUNTIME_NAMESPACE.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    watch_all_namespaces: bool,
    /// Only objects with these labels are looked after, such as sharding.fluxcd.io/key=shard1.
    #[arg(long, value_name = "SELECTOR", default_value = "")]
    pub(super) watch_label_selector: String,
    /// Only one process at a time works, of those that want the same lease.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(super) enable_leader_election: bool,
    /// Whether the lease is let go at the end.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(super) leader_election_release_on_cancel: bool,
    /// How long others wait for a lease that is not renewed.
    #[arg(long, default_value = "35s", value_name = "DURATION")]
    leader_election_lease_duration: GoDuration,
    /// How long the holder tries to renew it.
    #[arg(long, default_value = "30s", value_name = "DURATION")]
    leader_election_renew_deadline: GoDuration,
    /// The pause between tries.
    #[arg(long, default_value = "5s", value_name = "DURATION")]
    leader_election_retry_period: GoDuration,
    /// Feature gates, as Name=true,Other=false.
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    pub(super) feature_gates: Vec<String>,
    /// What is logged: error, info, debug or trace.
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub(super) log_level: tracing::Level,
    /// How it is written: json or console.
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
        /// Flags of Flux's controllers that mean nothing here.
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
    // A fetch that fails is tried again by the next pass, soon at first, and holds no worker meanwhile.
    http_retry "http-retry",
    // Kubeconfigs that start programs are refused in any case.
    insecure_kubeconfig_exec "insecure-kubeconfig-exec",
    // ConfigMaps and Secrets wake those who read them whatever their labels.
    watch_configs_label_selector "watch-configs-label-selector",
    // Helm is not there yet.
    helm_index_max_size "helm-index-max-size",
    helm_chart_max_size "helm-chart-max-size",
    helm_chart_file_max_size "helm-chart-file-max-size",
    helm_cache_max_size "helm-cache-max-size",
    helm_cache_ttl "helm-cache-ttl",
    helm_cache_purge_interval "helm-cache-purge-interval",
);

impl Arguments {
    /// Flags that were given and mean nothing here.
    pub(super) fn without_effect(&self) -> Vec<&'static str> {
        self.idle.given()
    }

    /// How many objects of a kind are worked on at a time, where a controller has a number of its own.
    pub(super) fn concurrency(&self) -> BTreeMap<Controller, usize> {
        let own = [
            (Controller::Source, self.source_concurrent),
            (Controller::Kustomize, self.kustomize_concurrent),
        ];
        own.into_iter().filter_map(|(controller, number)| Some((controller, number?))).collect()
    }

    /// What SSH may use.
    pub(super) fn ssh(&self) -> SshOptions {
        SshOptions {
            key_exchanges: self.ssh_kex_algos.clone(),
            host_keys: self.ssh_hostkey_algos.clone(),
        }
    }

    /// How retries are spaced.
    pub(super) fn backoff(&self) -> Backoff {
        Backoff { least: self.min_retry_delay.to_std(), most: self.max_retry_delay.to_std() }
    }

    /// How leases are kept. Who gives up later than others may begin would run beside them.
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

    /// The one namespace that is watched, if it is but one.
    pub(super) fn namespace(&self, own: &str) -> Option<String> {
        (!self.watch_all_namespaces).then(|| own.to_owned())
    }
}

/// An address as Go writes it: the host may be left out.
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

    /// What Flux's own manifests and guides write.
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
