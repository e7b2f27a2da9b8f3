//! Elections on an embedded cluster, in virtual time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use sluice_base::clock::Clock;
use sluice_cluster::Cluster;
use sluice_controllers::artifacts::{Local, Served};
use sluice_controllers::compute::Compute;
use sluice_controllers::context::Settings;
use sluice_controllers::egress::Egress;
use sluice_controllers::operation::Operation;
use sluice_controllers::run::{Controller, ControllerConfig};
use sluice_controllers::sourcing::SourceBackends;
use sluice_runtime::lease::{Candidate, Held, Terms};
use sluice_source::artifact::DigestAlgorithm;
use sluice_source::bucket::MemoryBuckets;
use sluice_source::git::{Identity, MemoryTransport, NewCommit, Repository};
use sluice_source::http::HttpOptions;
use sluice_source::network::{Network, Purpose};
use sluice_source::oci::MemoryRegistry;
use sluice_source::store::{MemoryStore, Retention};
use sluice_source::tree::SourceTree;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::Election;

const URL: &str = "https://git.test/platform";

struct Virtual(Instant);

impl Clock for Virtual {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::try_from(self.0.elapsed()).unwrap()
    }
}

fn config(cluster: &Cluster) -> ControllerConfig {
    let clock: Arc<dyn Clock> = Arc::new(Virtual(Instant::now()));
    let (git, store) = (MemoryTransport::default(), Arc::new(MemoryStore::new(clock.clone())));
    git.insert(URL, Repository::new("main"));
    let mut files = SourceTree::default();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}});
    files.insert_file("a.yaml", map.to_string().into_bytes()).unwrap();
    let by = Identity::new("Ada", "ada@git.test", clock.now());
    let new = NewCommit { branch: "main", message: "a", files: &files, by };
    git.change(URL, |repository| repository.commit(&new)).unwrap();
    ControllerConfig {
        client: Client::new(cluster.service(), "default"),
        clock,
        chance: Arc::new(|| 0.5),
        compute: Compute::Inline,
        backends: SourceBackends {
            artifacts: store.clone(),
            advertised: "source.test".to_owned(),
            retention: Retention::default(),
            digests: DigestAlgorithm::default(),
            transport: Arc::new(git.clone()),
            network: Network::new(),
            registries: Arc::new(MemoryRegistry::new()),
            buckets: Arc::new(MemoryBuckets::default()),
        },
        packed: Arc::new(Local(store)),
        egress: Egress::sealed(Arc::new(git)),
        settings: Settings::default(),
        receiver: None,
        instance: "test".to_owned(),
        concurrent: 4,
        controllers: BTreeSet::from([Controller::Source, Controller::Kustomize]),
        operation: Operation::default(),
    }
}

fn election(identity: &str) -> Election {
    Election {
        namespace: "default".to_owned(),
        identity: identity.to_owned(),
        terms: Terms::default(),
        release: true,
    }
}

/// A lease that somebody else takes, as upstream's controller does.
async fn taken(config: &ControllerConfig, controller: &str) -> Held {
    let candidate = Candidate {
        client: config.client.clone(),
        namespace: "default".to_owned(),
        name: format!("{controller}-leader-election"),
        identity: "upstream".to_owned(),
        clock: Arc::clone(&config.clock),
        chance: Arc::clone(&config.chance),
        terms: Terms::default(),
    };
    candidate.acquire().await
}

fn api(client: &Client, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk(group, "v1", kind);
    Api::namespaced_with(
        client.clone(),
        "default",
        &ApiResource::from_gvk_with_plural(&gvk, plural),
    )
}

/// Whether the repository and the Kustomization are ready.
async fn ready(client: &Client) -> (bool, bool) {
    let is_ready = |object: DynamicObject| {
        let conditions =
            object.data.pointer("/status/conditions").and_then(Value::as_array).cloned();
        conditions
            .unwrap_or_default()
            .iter()
            .any(|it| it["type"] == "Ready" && it["status"] == "True")
    };
    let sources = api(client, "source.toolkit.fluxcd.io", "GitRepository", "gitrepositories");
    let wishes = api(client, "kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations");
    (is_ready(sources.get("a").await.unwrap()), is_ready(wishes.get("a").await.unwrap()))
}

async fn holder(client: &Client, controller: &str) -> String {
    let api: Api<Lease> = Api::default_namespaced(client.clone());
    let lease = api.get(&format!("{controller}-leader-election")).await.unwrap();
    lease.spec.unwrap().holder_identity.unwrap()
}

async fn prepared() -> (Cluster, ControllerConfig) {
    let cluster = Cluster::builder().seed(1).build();
    let config = config(&cluster);
    let client = &config.client;
    let params = PatchParams::apply("test").force();
    let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> =
        Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
    for crd in sluice_api::crds() {
        let name = crd["metadata"]["name"].as_str().unwrap().to_owned();
        definitions.patch(&name, &params, &Patch::Apply(crd)).await.unwrap();
    }
    sleep(Duration::from_secs(5)).await;
    let source = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "a"},
        "spec": {"interval": "1m", "url": URL, "ref": {"branch": "main"}},
    });
    let wish = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "a"},
        "spec": {"interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "a"}},
    });
    let sources = api(client, "source.toolkit.fluxcd.io", "GitRepository", "gitrepositories");
    let wishes = api(client, "kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations");
    sources.patch("a", &params, &Patch::Apply(source)).await.unwrap();
    wishes.patch("a", &params, &Patch::Apply(wish)).await.unwrap();
    (cluster, config)
}

#[tokio::test(start_paused = true)]
async fn what_upstream_holds_is_left_to_it_until_it_lets_go() {
    let (_cluster, config) = prepared().await;
    let client = config.client.clone();
    let mut upstream = taken(&config, "kustomize-controller").await;
    let stop = CancellationToken::new();
    let ours = tokio::spawn(election("ours").run(config, stop.clone()));
    tokio::select! {
        biased;
        () = upstream.keep() => panic!("lost"),
        () = sleep(Duration::from_mins(5)) => {}
    }
    assert_eq!(ready(&client).await, (true, false), "only what we hold the lease of");
    upstream.release().await;
    sleep(Duration::from_mins(1)).await;
    assert_eq!(ready(&client).await, (true, true));
    assert_eq!(holder(&client, "kustomize-controller").await, "ours");
    stop.cancel();
    assert!(ours.await.unwrap().is_ok());
    for controller in ["source-controller", "kustomize-controller"] {
        assert_eq!(holder(&client, controller).await, "", "let go at the end");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_lost_is_the_end() {
    let (_cluster, config) = prepared().await;
    let client = config.client.clone();
    let ours = tokio::spawn(election("ours").run(config, CancellationToken::new()));
    sleep(Duration::from_mins(1)).await;
    assert_eq!(ready(&client).await, (true, true));
    let api: Api<Lease> = Api::default_namespaced(client.clone());
    let theft = json!({"spec": {"holderIdentity": "upstream", "leaseDurationSeconds": 3600}});
    let name = "kustomize-controller-leader-election";
    api.patch(name, &PatchParams::default(), &Patch::Merge(theft)).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(40), ours).await.unwrap().unwrap();
    assert!(ended.is_err(), "somebody else works now");
    assert_eq!(holder(&client, "kustomize-controller").await, "upstream");
}

/// A replica with a store and an address of its own, on the same repository.
fn replica(of: &ControllerConfig, cluster: &Cluster, address: &str) -> ControllerConfig {
    let mut replica = config(cluster);
    replica.clock = Arc::clone(&of.clock);
    replica.backends.transport = Arc::clone(&of.backends.transport);
    replica.egress = of.egress.clone();
    replica.backends.advertised = address.to_owned();
    let client = Network::new().client(Purpose::Spec, &HttpOptions::default()).unwrap();
    replica.packed = Arc::new(Served { local: Arc::clone(&replica.backends.artifacts), client });
    replica
}

#[tokio::test(start_paused = true)]
async fn another_leader_with_an_empty_store_goes_on_within_two_seconds() {
    let (cluster, origin) = prepared().await;
    let client = origin.client.clone();
    // Nobody listens at either address.
    let first = replica(&origin, &cluster, "127.0.0.1:1");
    let second = replica(&origin, &cluster, "127.0.0.1:2");
    let metrics = Arc::clone(&second.operation.metrics);
    let leading = tokio::spawn(election("first").run(first, CancellationToken::new()));
    sleep(Duration::from_mins(1)).await;
    assert_eq!(ready(&client).await, (true, true));
    let waiting = tokio::spawn(election("second").run(second, CancellationToken::new()));
    sleep(Duration::from_secs(20)).await;
    leading.abort();
    let _ = leading.await;
    for controller in ["source-controller", "kustomize-controller"] {
        while holder(&client, controller).await != "second" {
            sleep(Duration::from_millis(100)).await;
        }
    }
    let led = Instant::now();
    let sources = api(&client, "source.toolkit.fluxcd.io", "GitRepository", "gitrepositories");
    loop {
        let passed = metrics.render().lines().any(|line| {
            line.starts_with("gotk_reconcile_duration_seconds_count{kind=\"Kustomization\"")
        });
        let source = sources.get("a").await.unwrap();
        let url = source.data.pointer("/status/artifact/url").and_then(Value::as_str);
        let is_moved = url.is_some_and(|url| url.starts_with("http://127.0.0.1:2/"));
        if passed && is_moved && ready(&client).await == (true, true) {
            break;
        }
        assert!(led.elapsed() <= Duration::from_secs(2), "{passed} {url:?}");
        sleep(Duration::from_millis(50)).await;
    }
    waiting.abort();
}
