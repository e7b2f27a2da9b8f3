//! What becomes of ArtifactGenerators and of the ExternalArtifacts that they make.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_source::artifact::ArtifactPath;
use sluice_source::store::ArtifactStore as _;

use crate::ground::{
    Ground, config_map, config_map_file, kustomization, namespace, repository, said,
};

fn generator(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "source.extensions.fluxcd.io/v1beta1", "kind": "ArtifactGenerator",
        "metadata": {"name": name, "namespace": "apps"}, "spec": spec,
    })
}

fn external(name: &str) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "ExternalArtifact",
        "metadata": {"name": name, "namespace": "apps"},
    })
}

fn sources() -> Value {
    json!([{"alias": "repo", "kind": "GitRepository", "name": "platform"}])
}

fn output(name: &str, from: &str) -> Value {
    json!({"name": name, "copy": [{"from": from, "to": "@artifact/"}]})
}

async fn ground() -> Ground {
    let mut ground = Ground::idle().await;
    ground.settings().external_artifacts = true;
    ground.start();
    ground.apply(namespace()).await;
    ground
}

#[tokio::test(start_paused = true)]
async fn parts_of_a_source_become_artifacts_that_are_applied() {
    let ground = ground().await;
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    ground
        .commit("two apps", &[("apps/a/a.yaml", &a), ("apps/b/b.yaml", &b), ("apps/b/x.md", "x")]);
    ground.apply(repository()).await;
    let mut with_revision = output("one", "@repo/apps/a/**");
    with_revision["revision"] = json!("@repo");
    with_revision["originRevision"] = json!("@repo");
    let mut without = output("two", "@repo/apps/b/**");
    without["copy"][0]["exclude"] = json!(["*.md"]);
    let object = generator(
        "split",
        &json!({
            "sources": sources(), "artifacts": [with_revision, without],
            "commonMetadata": {"labels": {"team": "x"}, "annotations": {"note": "y"}},
        }),
    );
    ground.apply(object.clone()).await;
    let done = "True Succeeded: reconciliation succeeded, generated 2 artifact(s)";
    let ready = ground.until_ready_says(&object, done).await;
    assert_eq!(said(&ready, "Reconciling"), "");
    assert_eq!(ready["status"]["inventory"].as_array().unwrap().len(), 2);
    assert!(ready["status"]["observedSourcesDigest"].as_str().unwrap().starts_with("sha256:"));
    let one = ground.get(&external("one")).await.unwrap();
    let two = ground.get(&external("two")).await.unwrap();
    let revision =
        ground.get(&repository()).await.unwrap()["status"]["artifact"]["revision"].clone();
    assert_eq!(one["status"]["artifact"]["revision"], revision);
    assert_eq!(
        one["status"]["artifact"]["metadata"]["org.opencontainers.image.revision"],
        revision
    );
    let digest = two["status"]["artifact"]["digest"].as_str().unwrap();
    assert_eq!(two["status"]["artifact"]["revision"], format!("latest@{digest}"));
    assert_eq!(said(&two, "Ready"), "True Succeeded: Artifact is ready");
    let labels = &one["metadata"]["labels"];
    assert_eq!(
        (&labels["team"], &labels["app.kubernetes.io/managed-by"]),
        (&json!("x"), &json!("source-watcher"))
    );
    assert_eq!(labels["source.extensions.fluxcd.io/generator"], ready["metadata"]["uid"]);
    assert_eq!(one["metadata"]["annotations"]["note"], "y");
    assert_eq!(one["spec"]["sourceRef"]["kind"], "ArtifactGenerator");
    let told = ground.events("split").await;
    assert!(
        told.iter()
            .any(|it| it
                .starts_with("Normal Ready: external artifacts reconciled: apps/one (sha256:")),
        "{told:?}"
    );

    let source = json!({"sourceRef": {"kind": "ExternalArtifact", "name": "two"}});
    let applied = kustomization("all", "./", source);
    ground.apply(applied.clone()).await;
    ground
        .until(&applied, |it| said(it, "Ready").starts_with("True ReconciliationSucceeded"))
        .await;
    assert!(ground.get(&config_map("b")).await.is_some());

    // A commit to one part leaves the artifact of the other as it is.
    let a = config_map_file("a", "2");
    ground
        .commit("a changes", &[("apps/a/a.yaml", &a), ("apps/b/b.yaml", &b), ("apps/b/x.md", "x")]);
    ground
        .until(&external("one"), |it| {
            it["status"]["artifact"]["digest"] != one["status"]["artifact"]["digest"]
        })
        .await;
    let same = ground.get(&external("two")).await.unwrap();
    assert_eq!(same["status"]["artifact"]["digest"], digest);
    tokio::time::sleep(Duration::from_mins(3)).await;

    // Nothing is written while nothing changes, and what is broken is made anew.
    let before = ground.get(&object).await.unwrap();
    tokio::time::sleep(Duration::from_hours(3)).await;
    let after = ground.get(&object).await.unwrap();
    assert_eq!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"]);
    let place = ArtifactPath::of_path(two["status"]["artifact"]["path"].as_str().unwrap()).unwrap();
    ground.sandbox.artifacts.put(&place, "something else".into()).await.unwrap();
    ground.delete(&external("one")).await;
    tokio::time::sleep(Duration::from_hours(2)).await;
    let digest = digest.parse().unwrap();
    assert!(ground.sandbox.artifacts.get(&place.path(), &digest).await.is_ok(), "made anew");
    assert!(ground.get(&external("one")).await.is_some(), "told anew");

    // What is no longer asked for goes, and everything goes with the object.
    let fewer = generator(
        "split",
        &json!({"sources": sources(), "artifacts": [output("one", "@repo/apps/a/**")]}),
    );
    ground.apply(fewer).await;
    ground
        .until_ready_says(
            &object,
            "True Succeeded: reconciliation succeeded, generated 1 artifact(s)",
        )
        .await;
    assert!(ground.get(&external("two")).await.is_none());
    ground.delete(&object).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(ground.get(&object).await.is_none());
    assert!(ground.get(&external("one")).await.is_none());
    assert!(
        !ground.sandbox.artifacts.paths().iter().any(|path| path.starts_with("externalartifact/"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_pattern_makes_an_artifact_of_every_directory() {
    let ground = ground().await;
    let file = config_map_file("a", "1");
    ground.commit("apps", &[("apps/Web/a.yaml", &file), ("apps/api/a.yaml", &file)]);
    ground.apply(repository()).await;
    let object = generator(
        "each",
        &json!({
            "sources": sources(), "pathPattern": "@repo/apps/{app}",
            "artifacts": [output("app-{app}", "@repo/apps/{app}/**")],
        }),
    );
    ground.apply(object.clone()).await;
    ground.until(&object, |it| said(it, "Ready").ends_with("generated 2 artifact(s)")).await;
    let web = ground.get(&external("app-web")).await.unwrap();
    assert_eq!(web["metadata"]["labels"]["app"], "web");
    ground.commit("fewer", &[("apps/api/a.yaml", &file)]);
    ground.until(&object, |it| said(it, "Ready").ends_with("generated 1 artifact(s)")).await;
    assert!(ground.get(&external("app-web")).await.is_none());
    let wrong = generator(
        "each",
        &json!({
            "sources": sources(), "pathPattern": "@repo/apps/{app", "artifacts": [output("app", "@repo/")],
        }),
    );
    ground.apply(wrong.clone()).await;
    let words = "True BuildFailed: failed to expand path pattern: pathPattern \"@repo/apps/{app\": invalid capture starting at offset 5: missing closing brace";
    ground.until(&wrong, |it| said(it, "Stalled") == words).await;
}

#[tokio::test(start_paused = true)]
async fn failures_have_their_reason_and_pass() {
    let mut ground = Ground::idle().await;
    ground.settings().external_artifacts = true;
    ground.settings().no_cross_namespace_refs = true;
    ground.start();
    ground.apply(namespace()).await;
    let object =
        generator("g", &json!({"sources": sources(), "artifacts": [output("o", "@repo/none")]}));
    ground.apply(object.clone()).await;
    let missing = "False SourceFetchFailed: get sources failed: gitrepositories.source.toolkit.fluxcd.io \"platform\" not found";
    ground.until_ready_says(&object, missing).await;
    ground.apply(repository()).await;
    let not_ready = "False SourceFetchFailed: get sources failed: source 'GitRepository/apps/platform' is not ready";
    ground.until_ready_says(&object, not_ready).await;
    ground.commit("one", &[("a.yaml", "x")]);
    let built = "False BuildFailed: o build failed: failed to apply copy operations: failed to apply copy operation from '@repo/none' to '@artifact/': source 'none' does not exist";
    let failed = ground.until_ready_says(&object, built).await;
    assert_eq!(
        said(&failed, "Reconciling"),
        "True ProgressingWithRetry: Reconciliation in progress"
    );
    ground.commit("two", &[("none/a.yaml", "x")]);
    ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;

    let twice = json!([sources()[0], sources()[0]]);
    let mut unknown = output("o", "@repo/");
    unknown["revision"] = json!("@other");
    let elsewhere =
        json!([{"alias": "repo", "kind": "GitRepository", "name": "x", "namespace": "other"}]);
    for (spec, words) in [
        (
            json!({"sources": twice, "artifacts": [output("o", "@repo/")]}),
            "ValidationFailed: duplicate source alias 'repo' found",
        ),
        (
            json!({"sources": sources(), "artifacts": [output("o", "@repo/"), output("o", "@repo/")]}),
            "ValidationFailed: duplicate artifact name 'o' found",
        ),
        (
            json!({"sources": sources(), "artifacts": [unknown]}),
            "ValidationFailed: artifact o revision source alias 'other' not found",
        ),
        (
            json!({"sources": elsewhere, "artifacts": [output("o", "@repo/")]}),
            "AccessDenied: cross-namespace reference to source GitRepository/other/x is not allowed",
        ),
    ] {
        let wrong = generator("g", &spec);
        ground.apply(wrong.clone()).await;
        let stalled =
            ground.until(&wrong, |it| said(it, "Stalled") == format!("True {words}")).await;
        assert_eq!(said(&stalled, "Ready"), format!("False {words}"));
        assert_eq!(said(&stalled, "Reconciling"), "");
    }
    ground.apply(object.clone()).await;
    ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;

    let mut off =
        generator("off", &json!({"sources": sources(), "artifacts": [output("p", "@repo/")]}));
    off["metadata"]["annotations"] = json!({"source.extensions.fluxcd.io/reconcile": "disabled"});
    ground.apply(off.clone()).await;
    let words = "True ReconciliationDisabled: Initialized with reconciliation suspended";
    ground.until_ready_says(&off, words).await;
    assert!(ground.get(&external("p")).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn artifacts_of_others_are_taken_only_from_hosts_on_the_list() {
    let ground = ground().await;
    let object = external("foreign");
    ground.apply(object.clone()).await;
    let source = json!({"sourceRef": {"kind": "ExternalArtifact", "name": "foreign"}});
    let applied = kustomization("all", "./", source);
    ground.apply(applied.clone()).await;
    let digest = format!("sha256:{}", "0".repeat(64));
    let tell = |url: &str, revision: &str| {
        json!({"conditions": [], "artifact": {
            "url": url, "path": "x", "revision": revision, "digest": digest,
            "lastUpdateTime": "2026-01-01T00:00:00Z",
        }})
    };
    ground.set_status(&object, tell("http://169.254.169.254/x", "one")).await;
    let words = "can't access 'ExternalArtifact/apps/foreign', host '169.254.169.254' of its artifact is not in --external-artifact-hosts";
    ground.until(&applied, |it| said(it, "Ready").ends_with(words)).await;
    ground
        .set_status(&object, tell("http://source.test/externalartifact/apps/foreign/x", "two"))
        .await;
    ground.until(&applied, |it| said(it, "Ready").contains("ArtifactFailed")).await;

    let mut closed = Ground::idle().await;
    closed.start();
    closed.apply(namespace()).await;
    closed.apply(applied.clone()).await;
    let words =
        "can't access 'ExternalArtifact/apps/foreign', ExternalArtifact feature gate is disabled";
    closed.until(&applied, |it| said(it, "Ready").ends_with(words)).await;
}
