//! Rollouts on simulated nodes, in virtual time, with the statuses of a real cluster.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use sluice_cluster::Cluster;

fn client(seed: u64) -> (Cluster, Client) {
    let cluster = Cluster::builder().seed(seed).build();
    let client = Client::new(cluster.service(), "default");
    (cluster, client)
}

fn deployment(name: &str, replicas: i32, image: &str) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 10,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
            },
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "web", "image": image,
                    "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "initialDelaySeconds": 2},
                }]},
            },
        },
    }))
    .unwrap()
}

fn condition(deployment: &Deployment, kind: &str) -> Option<(String, String)> {
    deployment.status.as_ref()?.conditions.as_ref()?.iter().find_map(|condition| {
        (condition.type_ == kind)
            .then(|| (condition.status.clone(), condition.reason.clone().unwrap_or_default()))
    })
}

fn is_complete(deployment: &Deployment) -> bool {
    let wanted = deployment.spec.as_ref().unwrap().replicas;
    let Some(status) = &deployment.status else { return false };
    status.observed_generation == deployment.metadata.generation
        && status.updated_replicas == wanted
        && status.available_replicas == wanted
        && status.replicas == wanted
        && condition(deployment, "Progressing")
            == Some(("True".to_owned(), "NewReplicaSetAvailable".to_owned()))
}

/// Waits in virtual time until the test holds; gives up after `seconds`.
async fn until<K>(api: &Api<K>, name: &str, seconds: u64, test: impl Fn(&K) -> bool) -> K
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug + serde::Serialize,
{
    for _ in 0..seconds * 10 {
        if let Some(object) = api.get_opt(name).await.unwrap()
            && test(&object)
        {
            return object;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let last = serde_json::to_string_pretty(&api.get_opt(name).await.unwrap()).unwrap();
    panic!("not within {seconds} s: {last}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_deployment_of_three_becomes_available() {
    let (_cluster, client) = client(1);
    let api: Api<Deployment> = Api::default_namespaced(client.clone());
    let started = std::time::Instant::now();
    let made = api.create(&PostParams::default(), &deployment("web", 3, "nginx:1")).await.unwrap();
    let mut watch = api
        .watch(&WatchParams::default(), &made.resource_version().unwrap())
        .await
        .unwrap()
        .boxed();
    let mut reasons = Vec::new();
    loop {
        let event = watch.next().await.unwrap().unwrap();
        let WatchEvent::Modified(object) = event else { panic!("unexpected {event:?}") };
        if let Some(reason) = condition(&object, "Progressing")
            && reasons.last() != Some(&reason.1)
        {
            reasons.push(reason.1);
        }
        if is_complete(&object) {
            assert_eq!(
                condition(&object, "Available"),
                Some(("True".to_owned(), "MinimumReplicasAvailable".to_owned()))
            );
            assert_eq!(object.annotations()["deployment.kubernetes.io/revision"], "1");
            break;
        }
    }
    println!("available after {:?} of real time", started.elapsed());
    assert_eq!(reasons, ["NewReplicaSetCreated", "ReplicaSetUpdated", "NewReplicaSetAvailable"]);
    let pods: Api<Pod> = Api::default_namespaced(client);
    let pods = pods.list(&ListParams::default()).await.unwrap();
    assert_eq!(pods.items.len(), 3);
    for pod in pods {
        let value: Value = serde_json::to_value(&pod).unwrap();
        assert_eq!(value["status"]["phase"], "Running", "{value:#}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_rolling_update_stays_within_its_bounds_and_can_be_undone() {
    let (_cluster, client) = client(2);
    let api: Api<Deployment> = Api::default_namespaced(client.clone());
    let sets: Api<ReplicaSet> = Api::default_namespaced(client.clone());
    api.create(&PostParams::default(), &deployment("web", 4, "nginx:1")).await.unwrap();
    let first = until(&api, "web", 60, is_complete).await;
    let template = |image: &str| {
        Patch::Strategic(json!({"spec": {"template": {"spec": {"containers": [
            {"name": "web", "image": image},
        ]}}}}))
    };
    let mut watch = api
        .watch(&WatchParams::default(), &first.resource_version().unwrap())
        .await
        .unwrap()
        .boxed();
    for (image, revision) in [("nginx:2", "2"), ("nginx:1", "3")] {
        api.patch("web", &PatchParams::default(), &template(image)).await.unwrap();
        loop {
            let WatchEvent::Modified(object) = watch.next().await.unwrap().unwrap() else {
                panic!("unexpected event")
            };
            let status = object.status.clone().unwrap();
            assert!(status.available_replicas >= Some(3), "too few: {status:?}");
            // For a moment between two controllers there may be more pods than desired.
            let wanted: i32 = sets
                .list(&ListParams::default())
                .await
                .unwrap()
                .iter()
                .map(|set| set.spec.as_ref().unwrap().replicas.unwrap())
                .sum();
            assert!(wanted <= 5, "too many: {status:?}");
            if is_complete(&object) && status.replicas == Some(4) {
                assert_eq!(object.annotations()["deployment.kubernetes.io/revision"], revision);
                break;
            }
        }
    }
    let mut revisions: Vec<String> = sets
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .map(|set| set.annotations()["deployment.kubernetes.io/revision"].clone())
        .collect();
    revisions.sort();
    assert_eq!(revisions, ["2", "3"], "the first ReplicaSet is used again");
}
