//! Deletion: finalizers, propagation policies, garbage collection.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::{Client, ResourceExt as _};
use sluice_cluster::Cluster;

fn config_map(name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    let owners = owner.map(|owner| {
        vec![OwnerReference {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            name: owner.name_any(),
            uid: owner.uid().unwrap(),
            block_owner_deletion: Some(true),
            controller: None,
        }]
    });
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            owner_references: owners,
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

/// Waits in virtual time until there is no such object.
async fn gone<K>(api: &Api<K>, name: &str) -> bool
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    for _ in 0..100 {
        if api.get_opt(name).await.unwrap().is_none() {
            return true;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    false
}

async fn family(policy: DeleteParams) -> (bool, bool) {
    let cluster = Cluster::builder().seed(3).build();
    let api: Api<ConfigMap> = Api::default_namespaced(Client::new(cluster.service(), "default"));
    let parent = api.create(&PostParams::default(), &config_map("parent", None)).await.unwrap();
    api.create(&PostParams::default(), &config_map("child", Some(&parent))).await.unwrap();
    api.delete("parent", &policy).await.unwrap();
    (gone(&api, "parent").await, gone(&api, "child").await)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_owned_go_with_their_owner_unless_orphaned() {
    assert_eq!(family(DeleteParams::background()).await, (true, true));
    assert_eq!(family(DeleteParams::foreground()).await, (true, true));
    assert_eq!(family(DeleteParams::orphan()).await, (true, false));
}
