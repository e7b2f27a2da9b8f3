//! Every field of the spec that changes what is built, each in a Kustomization of its own.

use serde_json::{Value, json};

use crate::ground::{Ground, config_map_file, kustomization, said};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: apps\nspec:\n  containers:\n  - {name: web, image: 'registry.test/web:1'}\n";

/// A field, the files of its directory, the spec, and what an object looks like then: its kind and name, a
/// pointer into it and the value there.
struct Case {
    field: &'static str,
    files: &'static [(&'static str, &'static str)],
    spec: Value,
    object: (&'static str, &'static str, &'static str),
    expected: (&'static str, Value),
}

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\n  namespace: apps\ndata:\n  value: ${zone:=here}\n";
const COMPONENT: &str = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {part: yes!}\n";
const BASE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: apps}\n";

fn cases() -> Vec<Case> {
    let zone = |how: &str| json!({"postBuild": {"substituteStrategy": how}});
    vec![
        Case {
            field: "path",
            files: &[("deep/m.yaml", MAP), ("x.yaml", "not: an object")],
            spec: json!({"path": "./path/../path/deep"}),
            object: ("ConfigMap", "apps", "m"),
            expected: ("/data/value", json!("${zone:=here}")),
        },
        Case {
            field: "targetNamespace",
            files: &[("m.yaml", MAP)],
            spec: json!({"targetNamespace": "other"}),
            object: ("ConfigMap", "other", "m"),
            expected: ("/data/value", json!("${zone:=here}")),
        },
        Case {
            field: "namePrefix",
            files: &[("m.yaml", MAP)],
            spec: json!({"namePrefix": "pre-", "nameSuffix": "-post"}),
            object: ("ConfigMap", "apps", "pre-m-post"),
            expected: ("/data/value", json!("${zone:=here}")),
        },
        Case {
            field: "patches",
            files: &[("m.yaml", MAP)],
            spec: json!({"patches": [{"target": {"kind": "ConfigMap"}, "patch": "- {op: add, path: /data/patched, value: 'true'}"}], "namePrefix": "patches-"}),
            object: ("ConfigMap", "apps", "patches-m"),
            expected: ("/data/patched", json!("true")),
        },
        Case {
            field: "images",
            files: &[("pod.yaml", POD)],
            spec: json!({"images": [{"name": "registry.test/web", "newName": "mirror.test/web", "newTag": "2"}]}),
            object: ("Pod", "apps", "web"),
            expected: ("/spec/containers/0/image", json!("mirror.test/web:2")),
        },
        Case {
            field: "components",
            files: &[("app/m.yaml", MAP), ("part/kustomization.yaml", COMPONENT)],
            spec: json!({"path": "components/app", "components": ["../part"], "namePrefix": "components-"}),
            object: ("ConfigMap", "apps", "components-m"),
            expected: ("/metadata/annotations/part", json!("yes!")),
        },
        Case {
            field: "ignoreMissingComponents",
            files: &[("m.yaml", MAP)],
            spec: json!({"components": ["../nowhere"], "ignoreMissingComponents": true, "namePrefix": "missing-"}),
            object: ("ConfigMap", "apps", "missing-m"),
            expected: ("/data/value", json!("${zone:=here}")),
        },
        Case {
            field: "buildMetadata",
            files: &[("m.yaml", BASE)],
            spec: json!({"buildMetadata": ["originAnnotations"], "namePrefix": "origin-"}),
            object: ("ConfigMap", "apps", "origin-m"),
            expected: (
                "/metadata/annotations/config.kubernetes.io~1origin",
                json!("path: m.yaml\n"),
            ),
        },
        Case {
            field: "commonMetadata",
            files: &[("m.yaml", MAP)],
            spec: json!({"commonMetadata": {"labels": {"team": "a"}, "annotations": {"by": "b"}}, "namePrefix": "common-"}),
            object: ("ConfigMap", "apps", "common-m"),
            expected: ("/metadata/labels/team", json!("a")),
        },
        Case {
            field: "substituteStrategy",
            files: &[("m.yaml", MAP)],
            spec: json!({"postBuild": zone("Always")["postBuild"], "namePrefix": "always-"}),
            object: ("ConfigMap", "apps", "always-m"),
            expected: ("/data/value", json!("here")),
        },
        Case {
            field: "substituteStrategy-default",
            files: &[("m.yaml", MAP)],
            spec: json!({"postBuild": zone("WithVariables")["postBuild"], "namePrefix": "with-"}),
            object: ("ConfigMap", "apps", "with-m"),
            expected: ("/data/value", json!("${zone:=here}")),
        },
        Case {
            field: "substitute",
            files: &[("m.yaml", MAP)],
            spec: json!({"postBuild": {"substitute": {"zone": "north"}}, "namePrefix": "subst-"}),
            object: ("ConfigMap", "apps", "subst-m"),
            expected: ("/data/value", json!("north")),
        },
    ]
}

#[tokio::test(start_paused = true)]
async fn fields_of_the_spec_change_what_is_built() {
    let cases = cases();
    let mut files = Vec::new();
    for case in &cases {
        for (path, content) in case.files {
            files.push((format!("{}/{path}", case.field), *content));
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, it)| (path.as_str(), *it)).collect();
    let ground = Ground::with(&files, |_| {}).await;
    let other = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    ground.apply(other).await;
    for case in &cases {
        let name = case.field.to_lowercase();
        let object = kustomization(&name, case.field, case.spec.clone());
        ground.apply(object.clone()).await;
        let ready = ground
            .until(&object, |it| {
                !said(it, "Ready").starts_with("Unknown")
                    && !said(it, "Ready").is_empty()
                    && !said(it, "Ready").contains("artifact not found")
            })
            .await;
        assert!(
            said(&ready, "Ready").starts_with("True"),
            "{}: {}",
            case.field,
            said(&ready, "Ready")
        );
        let (kind, namespace, name) = case.object;
        let wanted = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}});
        let applied = ground.get(&wanted).await;
        let applied = applied.unwrap_or_else(|| panic!("{}: {kind}/{name} is there", case.field));
        let (pointer, expected) = &case.expected;
        assert_eq!(applied.pointer(pointer), Some(expected), "{}", case.field);
        let labels = &applied["metadata"]["labels"];
        assert_eq!(labels["kustomize.toolkit.fluxcd.io/namespace"], "apps", "{}", case.field);
        assert_eq!(labels["kustomize.toolkit.fluxcd.io/name"], case.field.to_lowercase());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_ignored_is_left_to_others_and_what_is_not_is_repaired() {
    let file = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: apps}\ndata: {mine: '1', theirs: '1'}\n";
    let ground = Ground::with(&[("app/a.yaml", file)], |_| {}).await;
    let ignore = json!({"ignore": [{"paths": ["/data/theirs"], "target": {"kind": "ConfigMap"}}], "interval": "1m"});
    let app = kustomization("app", "app", ignore);
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let mut map = crate::ground::config_map("a");
    map["data"] = json!({"mine": "2", "theirs": "2"});
    ground.apply(map.clone()).await;
    ground.until(&map, |it| it["data"]["mine"] == "1").await;
    assert_eq!(ground.get(&map).await.unwrap()["data"]["theirs"], "2");
}

#[tokio::test(start_paused = true)]
async fn force_makes_anew_what_cannot_be_changed() {
    let file = |value: &str| format!("immutable: true\n{}", config_map_file("a", value));
    let ground = Ground::with(&[("app/a.yaml", &file("1"))], |_| {}).await;
    let app = kustomization("app", "app", json!({"retryInterval": "30s"}));
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let first = ground.get(&crate::ground::config_map("a")).await.unwrap();
    ground.commit("change it", &[("app/a.yaml", &file("2"))]);
    let words = "False ReconciliationFailed: ConfigMap/apps/a dry-run failed (Invalid): ";
    ground.until(&app, |it| said(it, "Ready").starts_with(words)).await;
    ground.apply(kustomization("app", "app", json!({"force": true, "retryInterval": "30s"}))).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let second = ground.get(&crate::ground::config_map("a")).await.unwrap();
    assert_eq!(second["data"]["value"], "2");
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
}

#[tokio::test(start_paused = true)]
async fn bases_on_other_machines_are_fetched_unless_the_operator_forbids_it() {
    let file = "resources:\n- https://git.test/bases//web?ref=v1\n- https://files.test/b.yaml\n";
    let mut ground = Ground::with(&[("app/kustomization.yaml", file)], |settings| {
        settings.no_remote_bases = true;
    })
    .await;
    let app = kustomization("app", "app", json!({"retryInterval": "30s"}));
    ground.apply(app.clone()).await;
    let refused = ground.until(&app, |it| said(it, "Ready").starts_with("False BuildFailed")).await;
    assert!(said(&refused, "Ready").contains("remote"), "{}", said(&refused, "Ready"));
    ground.stop().await;

    let a = config_map_file("a", "1");
    let base = ground.commit_to(
        "https://git.test/bases",
        "a base",
        &[("web/a.yaml", &a), ("web/kustomization.yaml", "resources: [a.yaml]")],
    );
    let id = base.rsplit(':').next().unwrap().parse().unwrap();
    ground
        .sandbox
        .git
        .change("https://git.test/bases", |repository| repository.tag("v1", id))
        .unwrap();
    let b = config_map_file("b", "1");
    ground.sandbox.endpoints.put("https://files.test/b.yaml", move |_| (200, b.clone()));
    ground.sandbox.endpoints.put("https://git.test/bases", |_| (200, "<html>".to_owned()));
    ground.settings().no_remote_bases = false;
    ground.start();
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    for name in ["a", "b"] {
        assert!(ground.get(&crate::ground::config_map(name)).await.is_some(), "{name}");
    }
}
