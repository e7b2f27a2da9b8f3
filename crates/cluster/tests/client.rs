//! A kube client in the same process.

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};
use kube::client::Client;
use sluice_cluster::Cluster;

fn client() -> (Cluster, Client) {
    let cluster = Cluster::builder().seed(1).build();
    let client = Client::new(cluster.service(), "default");
    (cluster, client)
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_fresh_cluster_has_its_namespaces() {
    let (_cluster, client) = client();
    let names: Vec<String> = Api::<Namespace>::all(client)
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .filter_map(|namespace| namespace.metadata.name)
        .collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn objects_are_made_watched_and_deleted() {
    let (_cluster, client) = client();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let made = api.create(&PostParams::default(), &config_map("a")).await.unwrap();
    let version = made.metadata.resource_version.unwrap();
    let mut watch = Box::pin(api.watch(&WatchParams::default(), &version).await.unwrap());
    api.create(&PostParams::default(), &config_map("b")).await.unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        match watch.try_next().await.unwrap().unwrap() {
            WatchEvent::Added(object) => seen.push(("added", object.metadata.name.unwrap())),
            WatchEvent::Deleted(object) => seen.push(("deleted", object.metadata.name.unwrap())),
            other => panic!("unexpected event {other:?}"),
        }
    }
    assert_eq!(seen, [("added", "b".to_owned()), ("deleted", "a".to_owned())]);
}
