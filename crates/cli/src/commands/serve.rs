//! `sluice serve`: runs the controllers, on the cluster of the kubeconfig or of the pod.

mod applying;
#[cfg(test)]
mod as_installed;
mod endpoints;
mod flags;
mod gates;
mod identities;
mod leader;
mod outward;
mod reach;
mod receiver;
mod storage;

use std::collections::BTreeSet;
use std::future::Future;
use std::hash::{BuildHasher as _, Hasher as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::join_all;
use jiff::Timestamp;
use kube::Client;
use sluice_base::clock::Clock;
use sluice_controllers::artifacts::Served;
use sluice_controllers::compute::Compute;
use sluice_controllers::context::Settings;
use sluice_controllers::drift::DriftLimits;
use sluice_controllers::egress::{Egress, Reachable};
use sluice_controllers::operation::{Operation, new_id};
use sluice_controllers::run::{ControllerConfig, run as run_controllers};
use sluice_controllers::sourcing::SourceBackends;
use sluice_controllers::table::Controller;
use sluice_runtime::events::Notify;
use sluice_runtime::selector::Selector;
use sluice_source::bucket::BucketNetwork;
use sluice_source::git::{GitLimits, GitOverNetwork, GitTransport};
use sluice_source::http::{HttpError, HttpOptions, Web};
use sluice_source::network::{Network, Purpose};
use sluice_source::oci::{NetworkWire, TokenRealms};
use sluice_source::server::ArtifactServer;
use sluice_source::store::{ArtifactStore, DiskStore, MirroredStore, RemoteStore, Retention};
use sluice_ssa::parse_group_kinds;
use tokio_util::sync::CancellationToken;

use crate::cloud;
use crate::log::JsonLines;
use crate::outcome::{Failure, Outcome};
use crate::session;
use crate::signals::Signals;
use endpoints::Endpoints;
use leader::Election;
use outward::Around;
use receiver::Receiver;

pub(crate) use flags::Arguments;

/// A running server.
type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The default namespace of the controllers.
const NAMESPACE: &str = "flux-system";

/// The first interval of asking for the cluster's version.
const GREETING: Duration = Duration::from_secs(1);

/// The number of attempts after which the missing answer is reported again.
const REMINDER: u32 = 30;

/// The timeout of a graceful shutdown: passes end, and leases are released.
const LONGEST_STOP: Duration = Duration::from_millis(1800);

/// Runs `sluice serve`.
pub(crate) fn run(arguments: Arguments) -> Result<Outcome, Failure> {
    let console = arguments.log_encoding == "console";
    let subscriber = JsonLines::new(arguments.log_level, console);
    tracing::subscriber::set_global_default(subscriber)
        .map_err(|error| Failure::caused("cannot log", error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused("cannot start the runtime", error))?;
    let outcome = runtime.block_on(serve(arguments));
    // Does not wait for builds and lookups on other threads.
    runtime.shutdown_background();
    outcome
}

async fn serve(wanted: Arguments) -> Result<Outcome, Failure> {
    let controllers = controllers(&wanted.controllers)?;
    let endpoints = Endpoints::default();
    let (client, cluster) =
        reach::client(wanted.kubeconfig.as_deref(), Arc::clone(&endpoints.metrics)).await?;
    let in_cluster = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let namespace = environment("RUNTIME_NAMESPACE").unwrap_or_else(|| NAMESPACE.to_owned());
    let endpoints_served = listen(&wanted, &endpoints, in_cluster).await?;
    let (operation, election) = operation(&wanted, &namespace, &endpoints)?;
    let clock: Arc<dyn Clock> = Arc::new(Wall);
    let root = wanted.storage_path.clone().or_else(|| environment("STORAGE_PATH").map(Into::into));
    let storage = storage::prepare(root, |name| std::env::var_os(name))?;
    let mut store: Arc<dyn ArtifactStore> = Arc::new(DiskStore::with_limits(
        &storage.path,
        Arc::clone(&clock),
        wanted.artifact_digest_algo,
        u64::MAX,
    ));
    if let Some(address) = &wanted.storage_bucket {
        let (variables, clock) = (cloud::environment().variables, Arc::clone(&clock));
        let far = RemoteStore::at(address, &Network::new(), &variables, clock)
            .map_err(|error| Failure::caused("artifacts cannot be kept in a bucket", error))?;
        store = Arc::new(MirroredStore::new(store, far.with_digests(wanted.artifact_digest_algo)));
    }
    let address = wanted.storage_addr.unwrap_or(if in_cluster {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, 9090))
    } else {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
    });
    let makes_artifacts = controllers.iter().any(|controller| controller.makes_artifacts());
    // A process that only applies serves no artifacts: another one does, and may have the port.
    let (bound, serving): (SocketAddr, Serving) = if makes_artifacts {
        let server = ArtifactServer::new(Arc::clone(&store));
        let (bound, serving) = server.listen(address).await.map_err(|error| {
            Failure::caused(format!("cannot serve artifacts on {address}"), error)
                .hint("choose another address with --storage-addr")
        })?;
        (bound, Box::pin(serving))
    } else {
        (address, Box::pin(std::future::pending()))
    };
    let advertised = wanted.storage_adv_addr.clone().or_else(|| environment("STORAGE_ADV_ADDR"));
    let advertised = advertised.unwrap_or_else(|| advertised_by(bound));
    let events = wanted.events_addr.clone().or_else(|| environment("EVENTS_ADDR"));
    let metrics = Arc::clone(&endpoints.metrics);
    let around = Around {
        advertised: &advertised,
        bound,
        cluster: &cluster,
        namespace: &namespace,
        events: events.as_deref(),
        external: &wanted.external_artifact_hosts,
        in_cluster,
    };
    let network = wanted.outward.network(&around, metrics);
    let cannot = |error: HttpError| Failure::caused("cannot make an HTTP client", error);
    let fetcher = |purpose| network.client(purpose, &HttpOptions::default()).map_err(cannot);
    let web = |purpose| Web::new(&network, purpose).map_err(cannot);
    let notifier = fetcher(Purpose::Operator)?;
    let receiver = events.filter(|address| !address.is_empty()).map(|address| {
        let receiver: Arc<dyn Notify> = Arc::new(Receiver { client: notifier.clone(), address });
        receiver
    });
    let git: Arc<dyn GitTransport> =
        Arc::new(GitOverNetwork::new(network.clone(), wanted.ssh(), GitLimits::default()));
    let egress = Egress {
        git: Arc::clone(&git),
        web: Arc::new(web(Purpose::Cloud)?),
        content: Arc::new(web(Purpose::Content)?),
        environment: cloud::environment(),
        clusters: Arc::new(Reachable(network.clone())),
    };
    let retention = Retention {
        ttl: wanted.artifact_retention_ttl.to_std(),
        records: wanted.artifact_retention_records,
    };
    let packed =
        Arc::new(Served { local: Arc::clone(&store), client: fetcher(Purpose::Artifact)? });
    let config = ControllerConfig {
        client: client.clone(),
        clock,
        chance: Arc::new(chance),
        compute: Compute::Threads,
        backends: SourceBackends {
            artifacts: store,
            advertised,
            retention,
            digests: wanted.artifact_digest_algo,
            transport: git,
            registries: Arc::new(NetworkWire::new(network.clone())),
            buckets: Arc::new(BucketNetwork::new(network.clone())),
            network,
        },
        packed,
        egress,
        concurrent: wanted.concurrent,
        settings: settings(wanted, &namespace)?,
        receiver,
        instance: hostname(),
        controllers,
        operation,
    };
    tracing::info!(storage = %bound, "serving");
    let stop = CancellationToken::new();
    let working = async {
        if let Some(election) = election {
            return Box::pin(election.run(config, stop.clone())).await;
        }
        run_controllers(config, stop.clone()).await;
        Ok(())
    };
    let beside = async {
        tokio::join!(serving, join_all(endpoints_served), greet(&client, &cluster, &endpoints));
    };
    let stopping = async {
        let mut signals = Signals::listen();
        signals.next().await;
        tracing::info!("stopping");
        stop.cancel();
        tokio::select! {
            biased;
            () = signals.next() => tracing::info!("stopping at once"),
            () = tokio::time::sleep(LONGEST_STOP) => tracing::info!("what has not ended is dropped"),
        }
    };
    tokio::select! {
        biased;
        worked = working => worked.map(|()| Outcome::Fine),
        () = beside => Ok(Outcome::Fine),
        () = stopping => Ok(Outcome::Fine),
    }
}

/// Opens the endpoints for metrics and health.
async fn listen(
    wanted: &Arguments,
    endpoints: &Endpoints,
    in_cluster: bool,
) -> Result<Vec<Serving>, Failure> {
    let usual = |port: &str| in_cluster.then(|| port.to_owned());
    let metrics = wanted.metrics_addr.clone().or_else(|| environment("METRICS_ADDR"));
    let all = [
        (metrics.or_else(|| usual(":8080")), "metrics", "--metrics-addr"),
        (wanted.health_addr.clone().or_else(|| usual(":9440")), "health", "--health-addr"),
    ];
    let mut endpoints_served: Vec<Serving> = Vec::new();
    for (address, what, flag) in all {
        if let Some((bound, serving)) = endpoints.listen(address.as_deref(), what, flag).await? {
            tracing::info!(address = %bound, "serving {what}");
            endpoints_served.push(Box::pin(serving));
        }
    }
    Ok(endpoints_served)
}

/// The options of the controllers, and of leader election if it is enabled.
fn operation(
    wanted: &Arguments,
    namespace: &str,
    endpoints: &Endpoints,
) -> Result<(Operation, Option<Election>), Failure> {
    let shard = Selector::parse(&wanted.watch_label_selector)
        .map_err(|error| Failure::caused("cannot read --watch-label-selector", error))?;
    let operation = Operation {
        metrics: Arc::clone(&endpoints.metrics),
        shard,
        namespace: wanted.namespace(namespace),
        backoff: wanted.backoff(),
        concurrent: wanted.concurrency(),
        ..Operation::default()
    };
    let election = Election {
        namespace: namespace.to_owned(),
        identity: format!("{}_{}", hostname(), new_id(&chance)),
        terms: wanted.terms()?,
        release: wanted.leader_election_release_on_cancel,
    };
    Ok((operation, wanted.enable_leader_election.then_some(election)))
}

/// The settings of passes from flags and gates; warns of those without effect.
fn settings(wanted: Arguments, namespace: &str) -> Result<Settings, Failure> {
    let mut without_effect = wanted.without_effect();
    let mut settings = Settings {
        no_cross_namespace_refs: wanted.no_cross_namespace_refs,
        default_service_account: wanted.default_service_account,
        requeue_dependency: wanted.requeue_dependency.to_std(),
        interval_jitter: wanted.interval_jitter_percentage,
        drift: wanted.default_drift,
        drift_limits: DriftLimits {
            kinds: wanted.drift_max_kinds,
            objects: wanted.drift_max_objects,
        },
        external_artifact_hosts: wanted.external_artifact_hosts,
        token_realms: TokenRealms::parse(&wanted.registry_token_realms)
            .map_err(|error| Failure::caused("--registry-token-realms", error))?,
        concurrent_ssa: wanted.concurrent_ssa,
        custom_stage_kinds: parse_group_kinds(&wanted.custom_apply_stage_kinds),
        disallowed_field_managers: wanted.override_manager,
        ..wanted.applying.settings(namespace)
    };
    wanted.identities.apply(&wanted.controllers, &mut settings);
    without_effect.extend(gates::apply(&wanted.feature_gates, &mut settings)?);
    identities::check(&settings)?;
    for flag in without_effect {
        tracing::info!(flag, "without effect here");
    }
    Ok(settings)
}

/// Asks the cluster for its version until it answers: then this process is ready. Never returns.
async fn greet(client: &Client, address: &str, endpoints: &Endpoints) {
    let mut tries = 0_u32;
    while let Err(error) = client.apiserver_version().await {
        if tries.is_multiple_of(REMINDER) {
            let error = session::unreached(&error, address);
            tracing::error!(error, "the cluster does not answer; it is asked again every second");
        }
        tries += 1;
        tokio::time::sleep(GREETING).await;
    }
    endpoints.ready.store(true, Ordering::Relaxed);
    std::future::pending::<()>().await;
}

/// A variable of the environment that is not empty.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn hostname() -> String {
    environment("HOSTNAME").unwrap_or_else(|| "sluice".to_owned())
}

fn controllers(names: &[String]) -> Result<BTreeSet<Controller>, Failure> {
    let known = |name: &String| {
        Controller::find(name).ok_or_else(|| {
            let all: Vec<&str> =
                Controller::ALL.iter().map(|controller| controller.name()).collect();
            Failure::new(format!("there is no controller {name:?}"))
                .hint(format!("choose among {}", all.join(", ")))
        })
    };
    names.iter().map(known).collect()
}

/// The advertised address of artifacts: the pod's, or the loopback one.
fn advertised_by(bound: SocketAddr) -> String {
    let host = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            std::env::var("HOSTNAME").unwrap_or_else(|_| Ipv4Addr::LOCALHOST.to_string())
        }
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    format!("{host}:{}", bound.port())
}

/// The system clock.
pub(crate) struct Wall;

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A number in [0, 1); good enough to spread objects over time.
fn chance() -> f64 {
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}
