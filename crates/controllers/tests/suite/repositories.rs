//! What becomes of GitRepositories.

use std::time::Duration;

use serde_json::json;

use crate::ground::{Ground, config_map_file, namespace, repository, repository_with, said};

#[tokio::test(start_paused = true)]
async fn a_commit_becomes_an_artifact_and_old_ones_go() {
    let ground = Ground::new().await;
    let file = config_map_file("a", "1");
    let first = ground.commit("add the first thing", &[("a.yaml", &file)]);
    ground.apply(namespace()).await;
    let object = repository();
    ground.apply(object.clone()).await;
    let stored =
        |revision: &str| format!("True Succeeded: stored artifact for revision '{revision}'");
    let ready = ground.until_ready_says(&object, &stored(&first)).await;
    assert_eq!(said(&ready, "ArtifactInStorage"), stored(&first));
    assert_eq!(ready["status"]["observedGeneration"], 1);
    assert_eq!(ready["status"]["artifact"]["revision"], first);
    let hash = first.rsplit(':').next().unwrap();
    let url = format!("http://source.test/gitrepository/apps/platform/{hash}.tar.gz");
    assert_eq!(ready["status"]["artifact"]["url"], url);
    assert!(ground.events("platform").await.iter().any(|event| {
        event == "Normal NewArtifact: stored artifact for commit 'add the first thing'"
    }));
    tokio::time::sleep(Duration::from_mins(5)).await;
    let still = ground.get(&object).await.unwrap();
    assert_eq!(still["metadata"]["resourceVersion"], ready["metadata"]["resourceVersion"], "no-op");
    for count in 2..7 {
        let file = config_map_file("a", &count.to_string());
        let next = ground.commit("another", &[("a.yaml", &file)]);
        ground.until_ready_says(&object, &stored(&next)).await;
    }
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!(ground.sandbox.artifacts.paths().len() <= 2, "{:?}", ground.sandbox.artifacts.paths());
    ground.delete(&object).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(ground.get(&object).await.is_none());
    assert_eq!(ground.sandbox.artifacts.paths(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn failures_have_their_reason_and_pass() {
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    let object = repository();
    ground.apply(object.clone()).await;
    let empty = "False EmptyGitRepository: git repository is empty";
    let failed = ground.until_ready_says(&object, empty).await;
    assert_eq!(said(&failed, "FetchFailed"), empty.replace("False", "True"));
    assert!(said(&failed, "Reconciling").starts_with("True ProgressingWithRetry: "));
    let file = config_map_file("a", "1");
    ground.commit("at last", &[("a.yaml", &file)]);
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
    assert_eq!(said(&ready, "FetchFailed"), "");

    let wrong = repository_with("wrong", json!({"url": "https://git.test/nowhere"}));
    ground.apply(wrong.clone()).await;
    let failed =
        ground.until(&wrong, |it| said(it, "Ready").starts_with("False GitOperationFailed")).await;
    let words = "failed to checkout and determine revision: unable to ";
    assert!(said(&failed, "Ready").contains(words), "{}", said(&failed, "Ready"));
    let secret =
        repository_with("secret", json!({"url": crate::ground::URL, "secretRef": {"name": "s"}}));
    ground.apply(secret.clone()).await;
    let expected = "False AuthenticationFailed: failed to get secret 'apps/s': failed to get secret 'apps/s': secrets \"s\" not found";
    ground.until_ready_says(&secret, expected).await;
    ground
        .apply(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "apps"},
            "stringData": {"username": "u", "password": "p"}}))
        .await;
    ground.until(&secret, |it| said(it, "Ready").starts_with("True Succeeded")).await;
    let unsigned = repository_with(
        "unsigned",
        json!({"url": crate::ground::URL, "verify": {"mode": "Tag", "secretRef": {"name": "s"}}}),
    );
    ground.apply(unsigned.clone()).await;
    let expected = "False InvalidVerificationMode: cannot verify tag object's signature if a tag reference is not specified";
    let stalled = ground.until_ready_says(&unsigned, expected).await;
    assert!(said(&stalled, "Stalled").starts_with("True InvalidVerificationMode"));
    assert_eq!(stalled["status"]["observedGeneration"], 1);
}

#[tokio::test(start_paused = true)]
async fn includes_ignores_and_requests() {
    let ground = Ground::new().await;
    let file = config_map_file("a", "1");
    ground.commit("one", &[("a.yaml", &file), ("notes/skip.md", "no")]);
    let other = "https://git.test/other";
    ground.commit_to(other, "two", &[("deep/b.yaml", &file)]);
    ground.apply(namespace()).await;
    let include =
        json!([{"repository": {"name": "other"}, "fromPath": "deep", "toPath": "vendor"}]);
    let spec = json!({"url": crate::ground::URL, "ignore": "notes/", "include": include});
    let object = repository_with("platform", spec);
    ground.apply(object.clone()).await;
    let words = "False NotFound: could not get resource for include 'other': GitRepository.source.toolkit.fluxcd.io \"other\" not found";
    ground.until_ready_says(&object, words).await;
    ground.apply(repository_with("other", json!({"url": other}))).await;
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
    assert_eq!(ready["status"]["includedArtifacts"].as_array().unwrap().len(), 1);
    assert_eq!(ready["status"]["observedIgnore"], "notes/");
    let packed = ground.packed(&ready).await;
    let limits = sluice_source::archive::ArchiveLimits::default();
    let tree = sluice_source::archive::unpack(&packed, limits).unwrap();
    assert!(tree.get("vendor/b.yaml").is_some());
    assert!(tree.get("notes/skip.md").is_none());
    let mut asked = object.clone();
    asked["metadata"]["annotations"] = json!({"reconcile.fluxcd.io/requestedAt": "now"});
    ground.apply(asked).await;
    ground.until(&object, |it| it["status"]["lastHandledReconcileAt"] == "now").await;
}
