//! Elections on an embedded cluster, in virtual time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use sluice_controllers::artifacts::Served;
use sluice_controllers::run::ControllerConfig;
use sluice_controllers::table::Controller;
use sluice_runtime::lease::{Candidate, Held, Terms};
use sluice_sandbox::Sandbox;
use sluice_source::http::HttpOptions;
use sluice_source::network::{Network, Purpose};
use sluice_source::store::MemoryStore;
use sluice_source::tree::SourceTree;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::Election;

const URL: &str = "https://git.test/platform";

/// A sandbox with a repository of one ConfigMap.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(1);
    let mut files = SourceTree::default();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}});
    files.insert_file("a.yaml", map.to_string().into_bytes()).unwrap();
    sandbox.commit(URL, "a", &files);
    sandbox
}

fn config(sandbox: &Sandbox) -> ControllerConfig {
    ControllerConfig {
        controllers: BTreeSet::from([Controller::Source, Controller::Kustomize]),
        ..ControllerConfig::new(sandbox.client(), sandbox.clock(), sandbox.backends())
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

/// A lease of another holder, such as upstream's controller.
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
    let kustomizations =
        api(client, "kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations");
    (is_ready(sources.get("a").await.unwrap()), is_ready(kustomizations.get("a").await.unwrap()))
}

async fn holder(client: &Client, controller: &str) -> String {
    let api: Api<Lease> = Api::default_namespaced(client.clone());
    let lease = api.get(&format!("{controller}-leader-election")).await.unwrap();
    lease.spec.unwrap().holder_identity.unwrap()
}

async fn prepared() -> (Sandbox, ControllerConfig) {
    let sandbox = sandbox();
    let objects = sandbox.objects("test");
    objects.install_definitions(|_| true).await.unwrap();
    let source = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"interval": "1m", "url": URL, "ref": {"branch": "main"}},
    });
    let kustomization = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "a"}},
    });
    for object in [source, kustomization] {
        objects.apply(&object).await.unwrap();
    }
    let config = config(&sandbox);
    (sandbox, config)
}

#[tokio::test(start_paused = true)]
async fn what_upstream_holds_is_left_to_it_until_it_lets_go() {
    let (_sandbox, config) = prepared().await;
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
    let (_sandbox, config) = prepared().await;
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
fn replica(sandbox: &Sandbox, address: &str) -> ControllerConfig {
    let mut replica = config(sandbox);
    replica.backends.artifacts = Arc::new(MemoryStore::new(sandbox.clock()));
    replica.backends.advertised = address.to_owned();
    let client = Network::new().client(Purpose::Spec, &HttpOptions::default()).unwrap();
    replica.packed = Arc::new(Served { local: Arc::clone(&replica.backends.artifacts), client });
    replica
}

#[tokio::test(start_paused = true)]
async fn another_leader_with_an_empty_store_goes_on_within_two_seconds() {
    let (sandbox, origin) = prepared().await;
    let client = origin.client;
    // There is no server at either address.
    let first = replica(&sandbox, "127.0.0.1:1");
    let second = replica(&sandbox, "127.0.0.1:2");
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
