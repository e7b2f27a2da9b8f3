//! Files that were changed after SOPS encrypted them: they are told of, or refused, wherever a build reads them.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::{Ground, kustomization, namespace, repository, said};

fn golden(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../secrets/tests/goldens");
    std::fs::read_to_string(root.join(path)).unwrap()
}

/// The Secret `database` of `apps`, its `stringData` encrypted.
fn document() -> String {
    golden("sops-3.13.3/secret/encrypted.yaml")
}

/// The same with a label that nobody encrypted it with.
fn altered() -> String {
    document().replace("    namespace: apps\n", "    namespace: apps\n    labels: {role: admin}\n")
}

fn keys() -> Value {
    let metadata = json!({"name": "sops", "namespace": "apps"});
    let data = json!({"one.agekey": golden("keys/one.agekey"), "rsa.asc": golden("keys/rsa.asc")});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})
}

fn database() -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "database", "namespace": "apps"}})
}

fn app(mode: Option<&str>) -> Value {
    let decryption = json!({"provider": "sops", "secretRef": {"name": "sops"}});
    let mut app =
        kustomization("app", "app", json!({"decryption": decryption, "retryInterval": "30s"}));
    if let Some(mode) = mode {
        app["metadata"]["annotations"] = json!({"sluice.dev/sops-mac": mode});
    }
    app
}

async fn ground(files: &[(&str, &str)]) -> Ground {
    let ground = Ground::new().await;
    ground.commit("secrets", files);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground.apply(keys()).await;
    ground
}

/// A name, the path of the document, and the files beside it.
type Way = (&'static str, &'static str, Vec<(&'static str, &'static str)>);

/// The ways in which a build comes to read an encrypted object.
fn ways() -> Vec<Way> {
    let list = "resources: [s.yaml]\n";
    vec![
        ("a directory", "app/s.yaml", vec![]),
        ("a resource", "app/s.yaml", vec![("app/kustomization.yaml", list)]),
        (
            "a resource of any name",
            "app/s.txt",
            vec![("app/kustomization.yaml", "resources: [s.txt]\n")],
        ),
        (
            "a base",
            "base/s.yaml",
            vec![
                ("base/kustomization.yaml", list),
                ("app/kustomization.yaml", "resources: [../base]\n"),
            ],
        ),
        ("a file above", "s.yaml", vec![("app/kustomization.yaml", "resources: [../s.yaml]\n")]),
        (
            "a component",
            "part/s.yaml",
            vec![
                (
                    "part/kustomization.yaml",
                    "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [s.yaml]\n",
                ),
                ("app/kustomization.yaml", "components: [../part]\n"),
            ],
        ),
        (
            "a strategic merge patch",
            "app/s.yaml",
            vec![
                (
                    "app/plain.yaml",
                    "apiVersion: v1\nkind: Secret\nmetadata: {name: database, namespace: apps}\n",
                ),
                (
                    "app/kustomization.yaml",
                    "resources: [plain.yaml]\npatchesStrategicMerge: [s.yaml]\n",
                ),
            ],
        ),
        (
            "a patch",
            "app/s.yaml",
            vec![
                (
                    "app/plain.yaml",
                    "apiVersion: v1\nkind: Secret\nmetadata: {name: database, namespace: apps}\n",
                ),
                ("app/kustomization.yaml", "resources: [plain.yaml]\npatches: [{path: s.yaml}]\n"),
            ],
        ),
        (
            "changed by the build",
            "app/s.yaml",
            vec![(
                "app/kustomization.yaml",
                "resources: [s.yaml]\ncommonLabels: {a: b}\ncommonAnnotations: {c: d}\n",
            )],
        ),
    ]
}

fn with<'f>(
    place: &'f str,
    document: &'f str,
    more: &[(&'f str, &'f str)],
) -> Vec<(&'f str, &'f str)> {
    let mut files = more.to_vec();
    files.push((place, document));
    files
}

#[tokio::test(start_paused = true)]
async fn an_untouched_file_is_applied_wherever_it_is_read() {
    let document = document();
    for (name, place, more) in ways() {
        let ground = ground(&with(place, &document, &more)).await;
        ground.apply(app(Some("refuse"))).await;
        let ready = ground
            .until(&app(None), |it| {
                !said(it, "Ready").starts_with("Unknown")
                    && !said(it, "Ready").is_empty()
                    && !said(it, "Ready").contains("artifact")
            })
            .await;
        assert!(said(&ready, "Ready").starts_with("True"), "{name}: {}", said(&ready, "Ready"));
        assert_eq!(
            ground.get(&database()).await.unwrap()["data"]["password"],
            "aHVudGVyMg==",
            "{name}"
        );
        let events = ground.events("app").await;
        assert!(!events.iter().any(|event| event.contains("integrity")), "{name}: {events:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_altered_file_is_reported_or_refused_wherever_it_is_read() {
    let altered = altered();
    for (name, place, more) in ways() {
        let ground = ground(&with(place, &altered, &more)).await;
        ground.apply(app(None)).await;
        ground.until(&app(None), |it| said(it, "Ready").starts_with("True")).await;
        let line = format!("{place}: the MAC is that of other values");
        let count = |events: &[String]| {
            events
                .iter()
                .filter(|event| event.starts_with("Warning") && event.contains(&line))
                .count()
        };
        if name == "a directory" {
            // It is said once for each revision.
            tokio::time::sleep(Duration::from_mins(25)).await;
        }
        let events = ground.events("app").await;
        assert_eq!(count(&events), 1, "{name}: {events:#?}");
        ground.apply(app(Some("refuse"))).await;
        let refused = ground.until(&app(None), |it| said(it, "Ready").starts_with("False")).await;
        let words = format!(
            "False BuildFailed: error decrypting sources: {place}: failed to verify sops data integrity: the MAC is that of other values"
        );
        assert_eq!(said(&refused, "Ready"), words, "{name}");
    }
}

/// What a tenant sets never weakens what the operator asks for.
#[tokio::test(start_paused = true)]
async fn an_annotation_does_not_weaken_the_operators_flag() {
    let mut ground = Ground::idle().await;
    ground.settings().sops_mac = sluice_secrets::flux::OnBrokenMac::Refuse;
    ground.start();
    ground.commit("altered", &[("app/s.yaml", &altered())]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground.apply(keys()).await;
    ground.apply(app(Some("report"))).await;
    let words = "failed to verify sops data integrity: ";
    ground.until(&app(None), |it| said(it, "Ready").contains(words)).await;
    assert!(ground.get(&database()).await.is_none());
}

/// An object that a build puts together of sealed values, or that is written so that no MAC is found, was never
/// checked; it is treated as altered.
#[tokio::test(start_paused = true)]
async fn what_was_put_together_by_a_build_is_refused() {
    let document = document();
    let (head, metadata) = document.split_once("sops:\n").unwrap();
    let sops = sluice_yaml::to_json(document.as_bytes(), sluice_yaml::Duplicates::LastWins)
        .unwrap()
        .unwrap();
    let add = json!([{"op": "add", "path": "/sops", "value": sops["sops"]}]).to_string();
    let json_form = |name: &str| {
        let mut object = sops.clone();
        object["metadata"]["labels"] = json!({"role": "admin"});
        object.to_string().replace("\"sops\":", name)
    };
    let escaped = json_form("\"so\\u0070s\":").replace("ENC[AES256_GCM,", "ENC\\u005bAES256_GCM,");
    let bare =
        head.replace("    namespace: apps\n", "    namespace: apps\n    labels: {role: admin}\n");
    let anchored = document.replace("kind: Secret\n", "kind: Secret\nx: &x {password: y}\n");
    let patch =
        format!("resources: [bare.yaml]\npatches:\n- target: {{kind: Secret}}\n  patch: '{add}'\n");
    let attacks: [(&str, Vec<(&str, &str)>); 4] = [
        ("metadata by a patch", vec![("app/bare.yaml", &bare), ("app/kustomization.yaml", &patch)]),
        ("escaped names", vec![("app/s.yaml", &escaped)]),
        (
            "the intact file beside it",
            vec![
                ("app/s.yaml", &escaped),
                ("other/s.yaml", &document),
                (
                    "app/kustomization.yaml",
                    "resources: [s.yaml]\nconfigMapGenerator: [{name: c, namespace: apps, files: [../other/s.yaml]}]\n",
                ),
            ],
        ),
        ("an anchor", vec![("app/s.yaml", &anchored)]),
    ];
    assert!(metadata.contains("mac:"));
    for (name, files) in attacks {
        let ground = ground(&files).await;
        ground.apply(app(Some("refuse"))).await;
        let ended = ground
            .until(&app(None), |it| {
                !said(it, "Ready").starts_with("Unknown")
                    && !said(it, "Ready").is_empty()
                    && !said(it, "Ready").contains("artifact")
            })
            .await;
        let ready = said(&ended, "Ready");
        assert!(ready.starts_with("False"), "{name}: {ready}");
        assert!(
            ground
                .get(&database())
                .await
                .is_none_or(|it| it["metadata"]["labels"]["role"].is_null()),
            "{name}"
        );
    }
}

/// A switch of the annotation acts at once.
#[tokio::test(start_paused = true)]
async fn the_annotation_acts_when_it_is_set() {
    let ground = ground(&[("app/s.yaml", &altered())]).await;
    ground.apply(app(None)).await;
    ground.until(&app(None), |it| said(it, "Ready").starts_with("True")).await;
    ground.apply(app(Some("refuse"))).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let now = ground.get(&app(None)).await.unwrap();
    assert!(
        said(&now, "Ready").contains("failed to verify sops data integrity"),
        "{}",
        said(&now, "Ready")
    );
}
