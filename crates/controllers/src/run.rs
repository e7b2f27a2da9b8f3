//! Runs controllers: stores, watches, queues and workers of every kind in the table. A server, a test and a simulation
//! start them alike; they differ in their [`ControllerConfig`].

mod config;
pub(crate) mod wiring;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Client;
use sluice_base::clock::Clock;
use sluice_runtime::events::Notify;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::artifacts::{Local, Packed};
use crate::compute::Compute;
use crate::context::Settings;
use crate::egress::Egress;
use crate::operation::Operation;
use crate::sourcing::SourceBackends;
use crate::table::{Controller, KINDS};
use config::observe_config;
use wiring::Wiring;

/// How long the controllers wait for the first lists: a kind that is not installed has none.
const FIRST_LISTS: Duration = Duration::from_secs(5);
/// How long passes may go on after the controllers are to stop. Then they are dropped where they wait, which is
/// safe at any point; a write that is under way needs far less.
const GRACE: Duration = Duration::from_secs(1);

/// What the controllers work with.
#[derive(Clone)]
pub struct ControllerConfig {
    /// The cluster.
    pub client: Client,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance, between 0 and 1.
    pub chance: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// Where long work is done.
    pub compute: Compute,
    /// Where sources come from and artifacts go.
    pub backends: SourceBackends,
    /// Where artifacts are taken from.
    pub packed: Arc<dyn Packed>,
    /// What builds and decryption reach outside of the cluster.
    pub egress: Egress,
    /// Flags and feature gates.
    pub settings: Settings,
    /// Takes events besides Kubernetes.
    pub receiver: Option<Arc<dyn Notify>>,
    /// Who tells of events.
    pub instance: String,
    /// How many objects of a kind are worked on at a time.
    pub concurrent: usize,
    /// Which controllers run.
    pub controllers: BTreeSet<Controller>,
    /// How they are operated.
    pub operation: Operation,
}

impl ControllerConfig {
    /// All controllers with the defaults of their flags. Nothing but the cluster and the backends is reached, and long
    /// work is done inline; callers change the fields that differ.
    pub fn new(client: Client, clock: Arc<dyn Clock>, backends: SourceBackends) -> Self {
        Self {
            client,
            clock,
            chance: Arc::new(|| 0.5),
            compute: Compute::Inline,
            packed: Arc::new(Local(Arc::clone(&backends.artifacts))),
            egress: Egress::sealed(Arc::clone(&backends.transport)),
            backends,
            settings: Settings::default(),
            receiver: None,
            instance: "sandbox".to_owned(),
            concurrent: 4,
            controllers: BTreeSet::from(Controller::ALL),
            operation: Operation::default(),
        }
    }
}

/// Runs controllers until they are to stop. Then no new pass begins, and those under way may come to an end
/// for a while. Dropping the future ends everything at once; what was begun is done by the next run.
pub async fn run(config: ControllerConfig, stop: CancellationToken) {
    let mut wiring = Wiring::new(&config, stop.clone());
    for kind in KINDS {
        (kind.wire)(&mut wiring);
    }
    wire_foreign_sources(&mut wiring, &config);

    let (client, users) = (&config.client, &wiring.referrers);
    let namespace = config.operation.namespace.clone();
    // No source names a ConfigMap, and fetching alone has no right to read them.
    let maps = config.controllers.contains(&Controller::Kustomize).then(|| {
        observe_config::<ConfigMap>(client.clone(), namespace.clone(), "ConfigMap", users.clone())
    });
    let secrets = observe_config::<Secret>(client.clone(), namespace, "Secret", users.clone());
    if let Some(maps) = maps {
        wiring.tasks.spawn(maps);
    }
    wiring.tasks.spawn(secrets);

    let first = join_all(std::mem::take(&mut wiring.lists));
    let _ = tokio::time::timeout(FIRST_LISTS, first).await;
    info!("controllers started");
    let working = join_all(std::mem::take(&mut wiring.workers));
    let overdue = async {
        stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        biased;
        _ = working => {}
        () = overdue => {}
    }
}

/// Sources that other programs make artifacts of.
fn wire_foreign_sources(wiring: &mut Wiring<'_>, config: &ControllerConfig) {
    let sources = Arc::clone(&wiring.sources);
    let generates = config.controllers.contains(&Controller::Watcher);
    if generates {
        wiring.foreign_source(&sources.chart);
    }
    if generates || config.settings.external_artifacts {
        wiring.foreign_source(&sources.external);
    }
}
