//! The other workloads on simulated nodes: StatefulSets, DaemonSets, Jobs, volumes, Services.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use futures::{AsyncBufReadExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Event, Node, PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{Api, DeleteParams, ListParams, LogParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use sluice_cluster::Cluster;

/// A cluster after its own objects, such as service accounts, have been created.
async fn client(seed: u64) -> (Cluster, Client) {
    let cluster = Cluster::builder().seed(seed).build();
    let client = Client::new(cluster.service(), "default");
    tokio::time::sleep(Duration::from_secs(1)).await;
    (cluster, client)
}

async fn create<K>(client: &Client, object: Value) -> Api<K>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::Serialize
        + serde::de::DeserializeOwned,
{
    let api: Api<K> = Api::default_namespaced(client.clone());
    let object: K = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
    api
}

/// Waits in virtual time until the test holds of the object as JSON; gives up after `seconds`.
async fn until<K>(api: &Api<K>, name: &str, seconds: u64, test: impl Fn(&Value) -> bool) -> Value
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug + serde::Serialize,
{
    let mut last = Value::Null;
    for _ in 0..seconds * 4 {
        last = serde_json::to_value(api.get_opt(name).await.unwrap()).unwrap();
        if test(&last) {
            return last;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("not within {seconds} s: {last:#}");
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    object["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}

fn template(name: &str, spec: &Value) -> Value {
    json!({"metadata": {"labels": {"app": name}}, "spec": spec})
}

fn containers() -> Value {
    json!([{"name": "main", "image": "example.com/app:1"}])
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn there_are_three_ready_nodes() {
    let (_cluster, client) = client(1).await;
    let api: Api<Node> = Api::all(client);
    for name in ["node-1", "node-2", "node-3"] {
        let node = until(&api, name, 5, |node| node["spec"]["taints"].is_null() && !node.is_null());
        assert_eq!(condition(&node.await, "Ready")["reason"], "KubeletReady");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn stateful_pods_come_in_order_with_their_claims() {
    let (_cluster, client) = client(2).await;
    let classes: Api<StorageClass> = Api::all(client.clone());
    let class = json!({
        "metadata": {"name": "late"}, "provisioner": "disks.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    });
    let class = serde_json::from_value(class).unwrap();
    classes.create(&PostParams::default(), &class).await.unwrap();
    let set = json!({
        "metadata": {"name": "db"},
        "spec": {
            "replicas": 3, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": template("db", &json!({"containers": [
                {"name": "main", "image": "db:1", "volumeMounts": [{"name": "data", "mountPath": "/d"}]},
            ]})),
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                "storageClassName": "late", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            }}],
        },
    });
    let api: Api<StatefulSet> = create(&client, set).await;
    let done = until(&api, "db", 120, |set| set["status"]["readyReplicas"] == 3).await;
    assert_eq!(done["status"]["currentRevision"], done["status"]["updateRevision"]);
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let mut times: Vec<(String, String)> = pods
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .map(|pod| {
            let value = serde_json::to_value(&pod).unwrap();
            (condition(&value, "Ready")["lastTransitionTime"].to_string(), pod.name_any())
        })
        .collect();
    times.sort();
    let order: Vec<&str> = times.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(order, ["db-0", "db-1", "db-2"]);
    let claims: Api<PersistentVolumeClaim> = Api::default_namespaced(client);
    for name in ["data-db-0", "data-db-1", "data-db-2"] {
        let claim = serde_json::to_value(claims.get(name).await.unwrap()).unwrap();
        assert_eq!(claim["status"]["phase"], "Bound", "{claim:#}");
    }
    claims.delete("data-db-2", &DeleteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(claims.get_opt("data-db-2").await.unwrap().is_some(), "held while a pod uses it");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_daemon_runs_on_every_node_and_is_updated_one_by_one() {
    let (_cluster, client) = client(3).await;
    let set = json!({
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": template("agent", &json!({"containers": containers()})),
        },
    });
    let api: Api<DaemonSet> = create(&client, set).await;
    until(&api, "agent", 60, |set| set["status"]["numberAvailable"] == 3).await;
    let patch = json!({"spec": {"template": {"spec": {"containers": [
        {"name": "main", "image": "example.com/app:2"},
    ]}}}});
    let patch = kube::api::Patch::Strategic(patch);
    api.patch("agent", &kube::api::PatchParams::default(), &patch).await.unwrap();
    let done = until(&api, "agent", 120, |set| {
        let unavailable = set["status"]["numberUnavailable"].as_i64().unwrap_or(0);
        assert!(unavailable <= 1, "{set:#}");
        set["status"]["updatedNumberScheduled"] == 3
            && set["status"]["numberAvailable"] == 3
            && set["status"]["observedGeneration"] == set["metadata"]["generation"]
    });
    done.await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn jobs_complete_or_fail_and_cron_makes_them() {
    let (_cluster, client) = client(4).await;
    let job = |name: &str, simulate: &str| {
        let mut template =
            template(name, &json!({"restartPolicy": "Never", "containers": containers()}));
        template["metadata"]["annotations"] = json!({"sluice.dev/simulate": simulate});
        json!({
            "metadata": {"name": name},
            "spec": {"completions": 2, "parallelism": 2, "backoffLimit": 1, "template": template},
        })
    };
    let api: Api<Job> = create(&client, job("good", "run-for=10s")).await;
    let _: Api<Job> = create(&client, job("bad", "exit=3")).await;
    let good = until(&api, "good", 60, |job| condition(job, "Complete")["status"] == "True").await;
    assert_eq!(good["status"]["succeeded"], 2);
    assert_eq!(condition(&good, "SuccessCriteriaMet")["reason"], "CompletionsReached");
    let bad = until(&api, "bad", 120, |job| condition(job, "Failed")["status"] == "True").await;
    assert_eq!(condition(&bad, "Failed")["reason"], "BackoffLimitExceeded");
    let cron = json!({
        "metadata": {"name": "tick"},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "OnFailure", "containers": containers(),
        }}}}},
    });
    let crons: Api<CronJob> = create(&client, cron).await;
    until(&crons, "tick", 700, |cron| cron["status"]["lastSuccessfulTime"].is_string()).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_image_that_cannot_be_pulled_ends_at_the_deadline() {
    let (_cluster, client) = client(5).await;
    let mut template = template("web", &json!({"containers": containers()}));
    template["metadata"]["annotations"] = json!({"sluice.dev/simulate": "image-pull-error"});
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {
            "progressDeadlineSeconds": 600, "selector": {"matchLabels": {"app": "web"}},
            "template": template,
        },
    });
    let started = std::time::Instant::now();
    let api: Api<Deployment> = create(&client, deployment).await;
    tokio::time::sleep(Duration::from_secs(595)).await;
    println!("ten virtual minutes took {:?}", started.elapsed());
    let failed = until(&api, "web", 15, |web| {
        condition(web, "Progressing")["reason"] == "ProgressDeadlineExceeded"
    })
    .await;
    let since = condition(&failed, "Progressing")["lastUpdateTime"].as_str().unwrap().to_owned();
    assert!(since.starts_with("2026-01-01T00:10:0"), "at {since}");
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let pod = pods.list(&ListParams::default()).await.unwrap().items.remove(0);
    let value = serde_json::to_value(&pod).unwrap();
    let waiting = &value["status"]["containerStatuses"][0]["state"]["waiting"];
    assert_eq!(waiting["reason"], "ImagePullBackOff", "{value:#}");
    let error = pods.logs(&pod.name_any(), &LogParams::default()).await.unwrap_err();
    let kube::Error::Api(status) = error else { panic!("unexpected {error}") };
    let expected = format!(
        "container \"main\" in pod \"{}\" is waiting to start: trying and failing to pull image",
        pod.name_any()
    );
    assert_eq!(status.message, expected);
    let events: Api<Event> = Api::default_namespaced(client);
    let mut reasons: Vec<String> = events
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .filter(|event| event.involved_object.kind.as_deref() == Some("Pod"))
        .filter_map(|event| event.reason)
        .collect();
    reasons.sort();
    reasons.dedup();
    assert_eq!(reasons, ["BackOff", "Failed", "Pulling", "Scheduled"]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_service_finds_its_ready_pods_and_their_logs_can_be_read() {
    let (_cluster, client) = client(6).await;
    let service = json!({
        "metadata": {"name": "web"},
        "spec": {
            "type": "LoadBalancer", "selector": {"app": "web"},
            "ports": [{"port": 80, "targetPort": 8080}],
        },
    });
    let services: Api<Service> = create(&client, service).await;
    let pod = json!({
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"containers": [
            {"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"},
        ]},
    });
    let pods: Api<Pod> = create(&client, pod).await;
    let pod = until(&pods, "web", 30, |pod| condition(pod, "Ready")["status"] == "True").await;
    until(&services, "web", 10, |web| {
        web["status"]["loadBalancer"]["ingress"][0]["ip"].is_string()
    })
    .await;
    let slices: Api<EndpointSlice> = Api::default_namespaced(client.clone());
    let labels = ListParams::default().labels("kubernetes.io/service-name=web");
    let slice = slices.list(&labels).await.unwrap().items.remove(0);
    let endpoint = serde_json::to_value(&slice.endpoints[0]).unwrap();
    assert_eq!(endpoint["addresses"][0], pod["status"]["podIP"]);
    assert_eq!(
        endpoint["conditions"],
        json!({"ready": true, "serving": true, "terminating": false})
    );
    tokio::time::sleep(Duration::from_secs(35)).await;
    let mut params = LogParams::default();
    let error = pods.logs("web", &params).await.unwrap_err();
    let kube::Error::Api(status) = error else { panic!("unexpected {error}") };
    assert_eq!(
        status.message,
        "a container name must be specified for pod web, choose one of: [a b]"
    );
    params.container = Some("a".to_owned());
    let all = pods.logs("web", &params).await.unwrap();
    assert!(all.lines().count() >= 4, "{all}");
    params.tail_lines = Some(1);
    let last = pods.logs("web", &params).await.unwrap();
    assert!(all.ends_with(&last) && last.lines().count() == 1, "{last}");
    params.follow = true;
    let stream = pods.log_stream("web", &params).await.unwrap();
    pods.delete("web", &DeleteParams::default()).await.unwrap();
    let followed: Vec<String> = stream.lines().try_collect().await.unwrap();
    assert!(followed.len() <= 2 && followed[0] == last.trim_end(), "{followed:?}");
    until(&pods, "web", 10, Value::is_null).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_container_that_crashes_is_started_again_ever_later() {
    let (_cluster, client) = client(9).await;
    let pod = json!({
        "metadata": {"name": "web", "annotations": {"sluice.dev/simulate": "crash-loop"}},
        "spec": {"containers": containers()},
    });
    let pods: Api<Pod> = create(&client, pod).await;
    let reason = |pod: &Value| {
        pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    };
    let pod = until(&pods, "web", 60, reason).await;
    assert_eq!(pod["status"]["phase"], "Running");
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(status["restartCount"], 1, "the first restart comes at once: {status:#}");
    assert_eq!(status["lastState"]["terminated"]["exitCode"], 1);
    tokio::time::sleep(Duration::from_mins(10)).await;
    let pod = until(&pods, "web", 60, reason).await;
    let restarts = pod["status"]["containerStatuses"][0]["restartCount"].as_i64().unwrap();
    assert!((5..=7).contains(&restarts), "10, 20, 40, 80, 160 and 300 seconds: {restarts}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_fits_nowhere_says_why() {
    let (_cluster, client) = client(7).await;
    let pod = json!({
        "metadata": {"name": "big"},
        "spec": {"containers": [{
            "name": "a", "image": "a:1", "resources": {"requests": {"cpu": "100"}},
        }]},
    });
    let pods: Api<Pod> = create(&client, pod).await;
    let pod = until(&pods, "big", 30, |pod| condition(pod, "PodScheduled")["status"] == "False");
    assert_eq!(
        condition(&pod.await, "PodScheduled")["message"],
        "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn without_machines_pods_stay_pending() {
    let cluster = Cluster::builder().seed(8).workloads(false).build();
    let client = Client::new(cluster.service(), "default");
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": template("web", &json!({"containers": containers()})),
        },
    });
    let api: Api<Deployment> = create(&client, deployment).await;
    let web = until(&api, "web", 10, |web| web["status"]["unavailableReplicas"] == 2).await;
    assert_eq!(web["status"]["replicas"], 2);
    let nodes: Api<Node> = Api::all(client);
    assert!(nodes.list(&ListParams::default()).await.unwrap().items.is_empty());
}
