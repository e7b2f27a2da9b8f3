//! What is applied, in which order, and that it is applied once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::shared::kustomize::IgnoreRule;
use sluice_ssa::{Action, Change, IgnoreRules, Inventory, Knowledge, ObjectId, ObjectKey};

use crate::ground::{
    Ground, config_map, deployment, namespace, options, owned, widget, widget_definition,
};

#[tokio::test(start_paused = true)]
async fn what_is_applied_twice_is_written_once() {
    let ground = Ground::still();
    let objects = vec![
        config_map("a", "1"),
        deployment("web", 2),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"},
            "stringData": {"password": "x"},
        }),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "a:b", "namespace": "default"}, "rules": [],
        }),
    ];
    let changes = ground.apply(objects.clone()).await.unwrap();
    assert_eq!(
        changes.to_string(),
        "ClusterRole/a:b created\nConfigMap/default/a created\nSecret/default/s created\n\
         Service/default/s created\nDeployment/default/web created"
    );
    assert_eq!(ground.writes().len(), 5);
    let ids: Vec<String> =
        Inventory::of_changes(&changes).write().entries.into_iter().map(|entry| entry.id).collect();
    assert_eq!(
        ids,
        [
            "_a__b_rbac.authorization.k8s.io_ClusterRole",
            "default_a__ConfigMap",
            "default_s__Secret",
            "default_s__Service",
            "default_web_apps_Deployment",
        ]
    );

    let again = ground.apply(objects.clone()).await.unwrap();
    assert!(again.entries.iter().all(|entry| entry.action == Action::Unchanged), "{again}");
    assert_eq!(ground.writes(), Vec::<String>::new());
    for planned in ground.applier.plan(owned(objects), &options()).await {
        let planned = planned.unwrap();
        assert_eq!((planned.change.action, planned.drift), (Action::Unchanged, None));
    }
}

#[tokio::test(start_paused = true)]
async fn an_applied_set_is_looked_at_in_two_requests_for_each_object() {
    let ground = Ground::still();
    let objects: Vec<_> = (0..20).map(|i| config_map(&format!("c{i}"), "1")).collect();
    ground.apply(objects.clone()).await.unwrap();
    // Discovery takes two, and each object is read, tried and written.
    assert_eq!(ground.asked(), 2 + 3 * 20);
    ground.apply(objects).await.unwrap();
    assert_eq!(ground.asked(), 2 * 20);
}

#[tokio::test(start_paused = true)]
async fn what_was_never_applied_is_tried_without_a_look() {
    let ground = Ground::still();
    let mut disabled = config_map("disabled", "1");
    disabled["metadata"]["annotations"] =
        json!({"kustomize.toolkit.fluxcd.io/reconcile": "disabled"});
    ground.apply(vec![config_map("b", "0")]).await.unwrap();
    ground.asked();
    let objects = vec![config_map("a", "1"), config_map("b", "1"), disabled];
    let mut options = options();
    options.unseen = objects.iter().map(|object| ObjectKey::of(object).id).collect();
    let changes = ground.applier.apply(owned(objects), &options).await.unwrap();
    assert_eq!(
        changes.to_string(),
        "ConfigMap/default/a created\nConfigMap/default/b configured\nConfigMap/default/disabled skipped"
    );
    // Tried and written; tried, read, tried and written; read.
    assert_eq!(ground.asked(), 2 + 4 + 1);
}

#[tokio::test(start_paused = true)]
async fn definitions_and_namespaces_come_before_what_needs_them() {
    let ground = Ground::still();
    let mut inside = config_map("c", "1");
    inside["metadata"]["namespace"] = json!("fresh");
    let objects = vec![inside, widget("w", 1), widget_definition(), namespace("fresh")];
    let names: Vec<String> = ground
        .applier
        .identify(&owned(objects.clone()))
        .await
        .iter()
        .map(|key| key.id.to_inventory())
        .collect();
    assert_eq!(
        names,
        [
            "_widgets.example.com_apiextensions.k8s.io_CustomResourceDefinition",
            "_fresh__Namespace",
            "fresh_c__ConfigMap",
            "default_w_example.com_Widget",
        ]
    );
    for planned in ground.applier.plan(owned(objects.clone()), &options()).await {
        assert_eq!(planned.unwrap().change.action, Action::Created);
    }
    let changes = ground.apply(objects.clone()).await.unwrap();
    assert_eq!(
        changes.log(),
        "CustomResourceDefinition/widgets.example.com created\nNamespace/fresh created\n\
         ConfigMap/fresh/c created\nWidget/default/w created"
    );
    ground.writes();
    assert!(!ground.apply(objects).await.unwrap().has_changes());
    assert_eq!(ground.writes(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_change_by_others_is_undone_and_their_own_fields_stay() {
    let ground = Ground::still();
    ground.apply(vec![config_map("a", "1")]).await.unwrap();
    let patch = json!({"data": {"key": "2", "theirs": "x"}, "metadata": {"labels": {"l": "m"}}});
    let path = "/api/v1/namespaces/default/configmaps/a";
    let manager = format!("{path}?fieldManager=somebody");
    ground.send("PATCH", &manager, "application/merge-patch+json", &patch).await;
    let planned = ground.applier.plan(owned(vec![config_map("a", "1")]), &options()).await;
    let drift = planned.into_iter().next().unwrap().unwrap().drift.unwrap();
    let found = sluice_ssa::differences(&drift.0["data"], &drift.1["data"]);
    assert_eq!(sluice_ssa::render(&found), "key\n  ± value change\n    - 2\n    + 1\n\n");

    let changes = ground.apply(vec![config_map("a", "1")]).await.unwrap();
    assert_eq!(changes.to_string(), "ConfigMap/default/a configured");
    let object = ground.get(path).await.unwrap();
    assert_eq!(object["data"], json!({"key": "1", "theirs": "x"}));
    assert_eq!(object["metadata"]["labels"]["l"], "m");
    assert!(!ground.apply(vec![config_map("a", "1")]).await.unwrap().has_changes());
}

#[tokio::test(start_paused = true)]
async fn annotations_say_what_is_left_alone() {
    let ground = Ground::still();
    let marked = |name: &str, key: &str, value: &str, data: &str| {
        let mut object = config_map(name, data);
        object["metadata"]["annotations"] =
            json!({format!("kustomize.toolkit.fluxcd.io/{key}"): value});
        object
    };
    let ignored = marked("ignored", "ssa", "ignore", "1");
    let disabled = marked("disabled", "reconcile", "Disabled", "1");
    let once = |data: &str| marked("once", "ssa", "IfNotPresent", data);
    let changes = ground.apply(vec![ignored, disabled, once("1")]).await.unwrap();
    assert_eq!(
        changes.to_string(),
        "ConfigMap/default/disabled skipped\nConfigMap/default/ignored skipped\n\
         ConfigMap/default/once created"
    );
    let changes = ground.apply(vec![once("2")]).await.unwrap();
    assert_eq!(changes.to_string(), "ConfigMap/default/once skipped");

    // The object in the cluster may say it, too.
    ground.apply(vec![config_map("live", "1")]).await.unwrap();
    let patch =
        json!({"metadata": {"annotations": {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}}});
    let path = "/api/v1/namespaces/default/configmaps/live";
    ground.send("PATCH", path, "application/merge-patch+json", &patch).await;
    let changes = ground.apply(vec![config_map("live", "2")]).await.unwrap();
    assert_eq!(changes.to_string(), "ConfigMap/default/live skipped");
}

#[tokio::test(start_paused = true)]
async fn ignored_fields_stay_as_others_set_them() {
    let ground = Ground::still();
    let mut options = options();
    options.ignore = IgnoreRules::compile(&[IgnoreRule {
        paths: vec!["/spec/replicas".to_owned()],
        ..IgnoreRule::default()
    }])
    .unwrap();
    ground.apply(vec![deployment("web", 2)]).await.unwrap();
    let path = "/apis/apps/v1/namespaces/default/deployments/web";
    let patch = json!({"spec": {"replicas": 7}});
    ground.send("PATCH", path, "application/merge-patch+json", &patch).await;
    ground.writes();
    let applied = ground.applier.apply(owned(vec![deployment("web", 2)]), &options).await.unwrap();
    assert_eq!(applied.to_string(), "Deployment/default/web unchanged");
    assert_eq!(ground.writes(), Vec::<String>::new());

    let mut changed = deployment("web", 2);
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = json!("web:2");
    let applied = ground.applier.apply(owned(vec![changed]), &options).await.unwrap();
    assert_eq!(applied.to_string(), "Deployment/default/web configured");
    let object = ground.get(path).await.unwrap();
    assert_eq!(object["spec"]["replicas"], 7);
    assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["image"], "web:2");
}

/// What was applied, and what came of it.
#[derive(Debug)]
struct Remembered(BTreeMap<ObjectId, (Value, Value)>);

impl Knowledge for Remembered {
    fn settled(&self, key: &ObjectKey, desired: &Value) -> Option<Change> {
        let (applied, state) = self.0.get(&key.id)?;
        let change = Change::new(ObjectKey::of(state), Action::Unchanged);
        (applied == desired).then(|| Change { state: Some(state.clone()), ..change })
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_known_to_be_untouched_is_not_asked_for() {
    let ground = Ground::still();
    let objects = owned(vec![config_map("a", "1"), config_map("b", "1")]);
    let changes = ground.applier.apply(objects.clone(), &options()).await.unwrap();
    let states = changes.entries.iter().map(|change| change.state.clone().unwrap());
    let known = objects.iter().map(|desired| desired.object.clone()).zip(states);
    let known = known.map(|(object, state)| (ObjectKey::of(&object).id, (object, state))).collect();
    let mut options = options();
    options.knowledge = Some(Arc::new(Remembered(known)));
    ground.asked();
    let again = ground.applier.apply(objects, &options).await.unwrap();
    assert_eq!(again.to_string(), "ConfigMap/default/a unchanged\nConfigMap/default/b unchanged");
    assert_eq!(ground.asked(), 0);
    let changed = owned(vec![config_map("a", "2"), config_map("b", "1")]);
    let again = ground.applier.apply(changed, &options).await.unwrap();
    assert_eq!(again.log(), "ConfigMap/default/a configured");
    assert_eq!(ground.asked(), 3);
}

#[tokio::test(start_paused = true)]
async fn secrets_reach_no_log() {
    let ground = Ground::still();
    let secret = |word: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"},
            "stringData": {"password": word},
        })
    };
    // "first" and "second", as they are stored.
    let hidden = ["Zmlyc3Q=", "c2Vjb25k"];
    let changes = ground.apply(vec![secret("first")]).await.unwrap();
    let desired = owned(vec![secret("second")]);
    let planned = ground.applier.plan(desired.clone(), &options()).await;
    let texts = [format!("{changes:?}"), format!("{desired:?}"), format!("{planned:?}")];
    for (text, word) in texts.iter().flat_map(|text| hidden.map(|word| (text, word))) {
        assert!(!text.contains(word), "{text}");
    }
    assert!(texts[2].contains("*** (after)"), "{}", texts[2]);
}
