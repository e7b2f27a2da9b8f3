//! The same seed gives the same history: every event of every object, byte for byte.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use http::Request;
use http_body_util::BodyExt as _;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use sluice_cluster::Cluster;
use tower::ServiceExt as _;

fn spec(name: &str, image: &str) -> Value {
    json!({
        "replicas": 3, "selector": {"matchLabels": {"app": name}}, "serviceName": name,
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": image}]},
        },
    })
}

fn object<K: serde::de::DeserializeOwned>(name: &str, spec: &Value) -> K {
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

/// Runs a scenario of two minutes in a cluster.
async fn story(cluster: &Cluster) {
    let client = Client::new(cluster.service(), "default");
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let sets: Api<StatefulSet> = Api::default_namespaced(client.clone());
    let daemons: Api<DaemonSet> = Api::default_namespaced(client.clone());
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    let services: Api<Service> = Api::default_namespaced(client.clone());
    let budgets: Api<PodDisruptionBudget> = Api::default_namespaced(client);
    let post = PostParams::default();
    deployments.create(&post, &object("web", &spec("web", "nginx:1"))).await.unwrap();
    sets.create(&post, &object("db", &spec("db", "db:1"))).await.unwrap();
    daemons.create(&post, &object("agent", &spec("agent", "agent:1"))).await.unwrap();
    let template = json!({"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "main", "image": "work:1"}],
    }}});
    jobs.create(&post, &object("work", &template)).await.unwrap();
    let service = json!({
        "type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}],
    });
    services.create(&post, &object("web", &service)).await.unwrap();
    let budget = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}});
    budgets.create(&post, &object("web", &budget)).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
    let patch = json!({"spec": {"template": {"spec": {"containers": [
        {"name": "main", "image": "nginx:2"},
    ]}}}});
    deployments.patch("web", &PatchParams::default(), &Patch::Strategic(patch)).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
}

async fn get(cluster: &Cluster, uri: &str, accept: &str) -> bytes::Bytes {
    let request = Request::get(uri)
        .header(http::header::ACCEPT, accept)
        .body(http_body_util::Empty::<bytes::Bytes>::new())
        .unwrap();
    let answer = cluster.service().oneshot(request).await.unwrap();
    answer.into_body().collect().await.unwrap().to_bytes()
}

/// The collections of every resource that can be watched, from discovery.
async fn collections(cluster: &Cluster) -> Vec<String> {
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let mut out = Vec::new();
    for root in ["/api", "/apis"] {
        let found: Value = serde_json::from_slice(&get(cluster, root, accept).await).unwrap();
        for group in found["items"].as_array().unwrap() {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            let folder = if name.is_empty() { root.to_owned() } else { format!("{root}/{name}") };
            for version in group["versions"].as_array().unwrap() {
                for resource in version["resources"].as_array().unwrap() {
                    let verbs = resource["verbs"].as_array().unwrap();
                    // Events of the newer group are the same objects once more.
                    if verbs.contains(&json!("watch")) && name != "events.k8s.io" {
                        out.push(format!(
                            "{folder}/{}/{}",
                            version["version"].as_str().unwrap(),
                            resource["resource"].as_str().unwrap()
                        ));
                    }
                }
            }
        }
    }
    assert!(out.len() > 50, "{out:?}");
    out
}

/// All events of all objects since the start, as lines, in the order of their versions.
async fn log(cluster: &Cluster) -> String {
    let mut lines: BTreeMap<u64, String> = BTreeMap::new();
    for path in collections(cluster).await {
        let uri = format!("{path}?watch=true&resourceVersion=1&timeoutSeconds=1");
        let body = get(cluster, &uri, "application/json").await;
        for line in std::str::from_utf8(&body).unwrap().lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            let version = event["object"]["metadata"]["resourceVersion"].as_str();
            let version = version.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
            lines.insert(version, line.to_owned());
        }
    }
    lines.into_values().collect::<Vec<_>>().join("\n")
}

async fn run(seed: u64) -> String {
    let cluster = Cluster::builder().seed(seed).build();
    story(&cluster).await;
    log(&cluster).await
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

/// Fails with the first line that differs.
fn assert_same(left: &str, right: &str) {
    for (number, (left, right)) in left.lines().zip(right.lines()).enumerate() {
        assert_eq!(left, right, "line {number}");
    }
    assert_eq!(left.lines().count(), right.lines().count());
}

#[test]
fn a_seed_repeats_its_history_and_another_seed_has_another() {
    let started = std::time::Instant::now();
    let first = runtime().block_on(run(11));
    println!("{} events of two virtual minutes in {:?}", first.lines().count(), started.elapsed());
    assert!(first.lines().count() > 200, "{} lines", first.lines().count());
    assert_same(&first, &runtime().block_on(run(11)));
    assert_ne!(first, runtime().block_on(run(12)));
}

#[test]
fn simulations_side_by_side_do_not_touch_each_other() {
    let threads: Vec<_> =
        (0..2).map(|_| std::thread::spawn(|| runtime().block_on(run(13)))).collect();
    let logs: Vec<String> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_same(&logs[0], &logs[1]);
    let (left, right) = runtime().block_on(async { tokio::join!(run(13), run(13)) });
    assert_same(&left, &right);
    assert_same(&left, &logs[0]);
}
