//! A kube-rs controller with a reflector, finalizers and server-side apply runs on the cluster, in
//! process and over TLS, while watches are closed and histories compacted. No event is missed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::watcher;
use kube::{Client, Config, ResourceExt as _};
use serde_json::json;
use sluice_cluster::Cluster;

const OBJECTS: usize = 1000;
const FINALIZER: &str = "test.sluice.dev/copied";

/// Keeps a copy of every source's data in a map called `NAME-copy`, and removes it with the source.
async fn reconcile(source: Arc<ConfigMap>, api: Arc<Api<ConfigMap>>) -> Result<Action, Failure> {
    finalizer(&api, FINALIZER, source, |event| async {
        match event {
            Event::Apply(source) => copy(&api, &source).await?,
            Event::Cleanup(source) => {
                match api.delete(&copy_name(&source), &DeleteParams::default()).await {
                    // An earlier try got this far.
                    Err(kube::Error::Api(status)) if status.code == 404 => {}
                    result => {
                        result?;
                    }
                }
            }
        }
        Ok::<_, kube::Error>(Action::await_change())
    })
    .await
    .map_err(|error| Failure(error.to_string()))
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failure(String);

fn copy_name(source: &ConfigMap) -> String {
    format!("{}-copy", source.name_any())
}

async fn copy(api: &Api<ConfigMap>, source: &ConfigMap) -> Result<(), kube::Error> {
    let name = copy_name(source);
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"role": "copy"}},
        "data": source.data,
    });
    api.patch(&name, &PatchParams::apply("copier").force(), &Patch::Apply(&object)).await?;
    Ok(())
}

fn sources() -> ListParams {
    ListParams::default().labels("role=source")
}

/// The version of every object by name.
fn versions<'a>(objects: impl Iterator<Item = &'a ConfigMap>) -> BTreeMap<String, String> {
    objects
        .map(|object| (object.name_any(), object.resource_version().unwrap_or_default()))
        .collect()
}

/// The data of all copies by the name of their source.
async fn copies(api: &Api<ConfigMap>) -> BTreeMap<String, String> {
    let list = api.list(&ListParams::default().labels("role=copy")).await.unwrap();
    list.into_iter()
        .map(|map| {
            let name = map.name_any().trim_end_matches("-copy").to_owned();
            (name, map.data.unwrap_or_default().remove("value").unwrap_or_default())
        })
        .collect()
}

/// `troubles`: how often, and how many times. (kube's watcher backs off longer after each; it forgets
/// only after two quiet minutes, which cost nothing in virtual time.)
async fn story(cluster: Cluster, client: Client, pace: Duration, troubles: (Duration, usize)) {
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let config = watcher::Config::default().labels("role=source");
    let (store, controller) = {
        let controller = Controller::new(api.clone(), config);
        (controller.store(), controller)
    };
    // kube's controller drops an object if its event arrives in the middle of a relist, before its own
    // reflector has it. So all objects are reconciled again now and then, as controllers do anyway;
    // the comparison with the reflector below shows that the watch itself missed nothing.
    let resync = futures::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Some(((), ()))
    });
    let running = tokio::spawn(
        controller
            .reconcile_all_on(resync)
            .run(
                reconcile,
                |_, error: &Failure, _| {
                    // A conflict is retried at once; anything else is returned.
                    tracing::warn!(%error);
                    Action::requeue(Duration::from_millis(100))
                },
                Arc::new(api.clone()),
            )
            .for_each(|_| async {}),
    );
    // Again and again the server compacts its history and closes its watches.
    let trouble = tokio::spawn({
        let cluster = cluster.clone();
        async move {
            for _ in 0..troubles.1 {
                tokio::time::sleep(troubles.0).await;
                cluster.compact();
                cluster.close_watches();
            }
        }
    });
    let mut wanted = BTreeMap::new();
    for index in 0..OBJECTS {
        let name = format!("s{index:04}");
        let object: ConfigMap = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"role": "source"}}, "data": {"value": "1"},
        }))
        .unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
        tokio::time::sleep(pace).await;
        wanted.insert(name, "1".to_owned());
    }
    // Every second source changes, every third goes.
    for (index, name) in wanted.clone().into_keys().enumerate() {
        if index % 3 == 0 {
            api.delete(&name, &DeleteParams::default()).await.unwrap();
            wanted.remove(&name);
        } else if index % 2 == 0 {
            let patch = json!({"data": {"value": "2"}});
            api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
            wanted.insert(name, "2".to_owned());
        }
    }
    // Bounded generously: the time over TLS depends on the machine.
    for _ in 0..300 {
        let left = api.list(&sources()).await.unwrap().items.len();
        if left == wanted.len() && copies(&api).await == wanted {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let found = copies(&api).await;
    let missed = wanted.iter().filter(|(name, value)| found.get(*name) != Some(*value)).count();
    assert_eq!((missed, found.len()), (0, wanted.len()), "the controller missed something");
    let left = api.list(&sources()).await.unwrap();
    assert_eq!(left.items.len(), wanted.len(), "a finalizer was not run");
    assert!(left.iter().all(|source| source.finalizers() == [FINALIZER.to_owned()]));
    let listed = versions(api.list(&sources()).await.unwrap().items.iter());
    for _ in 0..300 {
        if versions(store.state().iter().map(AsRef::as_ref)) == listed {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let reflected = versions(store.state().iter().map(AsRef::as_ref));
    assert_eq!(reflected, listed, "the reflector holds something else than the server");
    trouble.abort();
    running.abort();
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_controller_in_process_misses_nothing() {
    let cluster = Cluster::builder().seed(11).workloads(false).build();
    let client = Client::new(cluster.service(), "default");
    story(cluster, client, Duration::from_millis(100), (Duration::from_secs(7), 20)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_over_tls_misses_nothing() {
    let cluster = Cluster::builder().seed(11).workloads(false).build();
    let served = cluster.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let kubeconfig = serde_json::from_value(served.kubeconfig().clone()).unwrap();
    let config =
        Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default())
            .await
            .unwrap();
    let client = Client::try_from(config).unwrap();
    let server = tokio::spawn(served.run());
    story(cluster, client, Duration::ZERO, (Duration::from_millis(500), 4)).await;
    server.abort();
}
