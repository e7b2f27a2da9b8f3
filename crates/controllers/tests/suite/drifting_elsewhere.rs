//! Drift on clusters that a kubeconfig leads to: watched where the account may watch, and left to the interval
//! where it may not.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::ground::{
    Ground, config_map, config_map_file, kustomization, merge, namespace, said, secret,
};

const KUBECONFIG: &str = "apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: a, user: u}}]
clusters: [{name: a, cluster: {server: 'https://remote.test:6443'}}]
users: [{name: u, user: {username: guest, password: p}}]
";

async fn create<K>(api: Api<K>, object: Value)
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned + serde::Serialize,
{
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

/// An app on another cluster, in repair mode with an interval of half an hour, ready.
async fn installed(more: Value) -> (Ground, Client) {
    let file = config_map_file("a", "1");
    let ground = Ground::with(&[("app/a.yaml", &file)], |_| {}).await;
    let remote = ground.neighbours.put("https://remote.test:6443/");
    create(Api::<Namespace>::all(remote.clone()), namespace()).await;
    let metadata = json!({"name": "maps", "namespace": "apps"});
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    create(
        Api::<Role>::namespaced(remote.clone(), "apps"),
        json!({"metadata": metadata, "rules": rules}),
    )
    .await;
    let binding = json!({
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maps"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": "apps"}],
    });
    create(Api::<RoleBinding>::namespaced(remote.clone(), "apps"), binding).await;
    ground.apply(secret("remote", &json!({"value": KUBECONFIG}))).await;
    let mut spec = json!({"kubeConfig": {"secretRef": {"name": "remote"}}, "interval": "30m"});
    merge(&mut spec, more);
    let mut app = kustomization("app", "app", spec);
    app["metadata"]["annotations"] = json!({"sluice.dev/drift": "repair"});
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    (ground, remote)
}

/// How long it takes until a foreign change is put right.
async fn repaired_after(remote: &Client) -> Duration {
    let maps: Api<ConfigMap> = Api::namespaced(remote.clone(), "apps");
    let patch = Patch::Merge(json!({"data": {"value": "foreign"}}));
    maps.patch("a", &PatchParams::apply("user"), &patch).await.unwrap();
    let started = tokio::time::Instant::now();
    for _ in 0..7200 {
        let found = maps.get("a").await.unwrap().data.unwrap_or_default();
        if found.get("value").is_some_and(|value| value == "1") {
            return started.elapsed();
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    panic!("it stays as it is");
}

#[tokio::test(start_paused = true)]
async fn on_another_cluster_a_change_is_put_right_at_once() {
    let (ground, remote) = installed(json!({})).await;
    for round in 0..3 {
        let took = repaired_after(&remote).await;
        assert!(took < Duration::from_secs(2), "{round}: {took:?}");
        tokio::time::sleep(Duration::from_mins(5)).await;
    }
    let maps: Api<ConfigMap> = Api::namespaced(remote.clone(), "apps");
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(maps.get_opt("a").await.unwrap().is_some(), "and a deletion, too");
    assert!(ground.get(&config_map("a")).await.is_none(), "nothing of it is here");
}

/// The account may write its ConfigMaps, and watch those of no other namespace: what cannot be watched is
/// looked at when the interval comes.
#[tokio::test(start_paused = true)]
async fn who_may_not_watch_there_is_left_to_the_interval() {
    let (ground, remote) = installed(json!({"serviceAccountName": "deployer"})).await;
    for round in 0..2 {
        let took = repaired_after(&remote).await;
        let interval = Duration::from_mins(20)..Duration::from_mins(33);
        assert!(interval.contains(&took), "{round}: {took:?}");
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
    let app = kustomization("app", "app", json!({}));
    let ready = ground.get(&app).await.unwrap();
    assert!(said(&ready, "Ready").starts_with("True"), "{}", said(&ready, "Ready"));
}
