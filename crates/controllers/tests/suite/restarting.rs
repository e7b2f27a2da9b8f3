//! A restart is the normal case: another process, another address, an empty store, another leader.
//!
//! In virtual time only waiting takes time: what has had a pass within two seconds waited for nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use sluice_controllers::artifacts::{ArtifactError, Local, Packed};
use sluice_controllers::sources::SourceArtifact;
use sluice_runtime::queue::Backoff;
use sluice_source::artifact::{ArtifactPath, Digest};
use sluice_source::store::{
    ArtifactStore, MemoryStore, Retention, Served as StoredFile, StoreError, Stored,
};
use tokio::time::{Instant, sleep};

use crate::ground::{
    Ground, URL, config_map, config_map_file, kustomization, namespace, repository, said,
};

const COUNT: usize = 100;

/// How long every Kustomization may wait after a restart.
const LIMIT: Duration = Duration::from_secs(2);

fn app(number: usize) -> Value {
    kustomization(
        &format!("app-{number:03}"),
        &format!("app-{number:03}"),
        json!({"interval": "1h"}),
    )
}

/// A hundred Kustomizations of one repository, all of them ready.
async fn settled() -> (Ground, String) {
    let mut ground = Ground::idle().await;
    let files: Vec<(String, String)> = (0..COUNT)
        .map(|number| {
            let name = format!("app-{number:03}");
            (format!("{name}/map.yaml"), config_map_file(&name, "1"))
        })
        .collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, content)| (path.as_str(), content.as_str())).collect();
    let revision = ground.commit("all", &files);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    for number in 0..COUNT {
        ground.apply(app(number)).await;
    }
    ground.by_address("first.test:1");
    ground.start();
    wait_for_passes(&mut ground, &revision).await;
    (ground, revision)
}

/// Waits until each Kustomization had a pass of this process and is ready; says how long that took.
async fn wait_for_passes(ground: &mut Ground, revision: &str) -> Duration {
    let (started, expected) = (Instant::now(), format!("Applied revision: {revision}"));
    for number in 0..COUNT {
        let name = format!("name=\"app-{number:03}\"");
        loop {
            let counted = ground.operation().metrics.render();
            let is_pass = |line: &str| {
                line.starts_with("gotk_reconcile_duration_seconds_count") && line.contains(&name)
            };
            let ready = said(&ground.get(&app(number)).await.unwrap(), "Ready");
            if counted.lines().any(is_pass)
                && ready.starts_with("True")
                && ready.ends_with(&expected)
            {
                break;
            }
            assert!(started.elapsed() < Duration::from_mins(10), "app-{number:03}: {ready}");
            sleep(Duration::from_millis(50)).await;
        }
    }
    started.elapsed()
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_every_kustomization_has_a_pass_within_two_seconds() {
    let (mut ground, revision) = settled().await;
    for (what, empty, address) in [
        ("the same store, another port", false, "second.test:2"),
        ("an empty store, the same port", true, "second.test:2"),
        ("an empty store, another port", true, "third.test:3"),
    ] {
        ground.crash().await;
        if empty {
            ground.lose_store();
        }
        ground.by_address(address);
        ground.operation().metrics = Arc::default();
        ground.start();
        let took = wait_for_passes(&mut ground, &revision).await;
        assert!(took <= LIMIT, "{what}: {took:?}");
        let source = ground.get(&repository()).await.unwrap();
        let url = source["status"]["artifact"]["url"].as_str().unwrap().to_owned();
        assert!(
            url.starts_with(&format!("http://{address}/gitrepository/apps/platform/")),
            "{url}"
        );
    }
}

/// What was lost is stored again at the same revision: those that found nothing are due at once, whatever their
/// retries are.
#[tokio::test(start_paused = true)]
async fn what_is_stored_again_wakes_those_that_missed_it() {
    let mut ground = Ground::idle().await;
    let file = config_map_file("a", "1");
    ground.commit("a", &[("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let one = kustomization("app", "app", json!({"interval": "1h"}));
    ground.apply(one.clone()).await;
    let never = Duration::from_hours(10);
    ground.operation().backoff = Backoff { least: never, most: never };
    ground.settings().requeue_dependency = never;
    ground.by_address("first.test:1");
    ground.start();
    let ready = ground.until(&one, |it| said(it, "Ready").starts_with("True")).await;
    ground.crash().await;
    ground.lose_store();
    // The repository cannot be reached for a while.
    let kept = ground.sandbox.git.get(URL).unwrap();
    ground.sandbox.git.insert(URL, sluice_source::git::Repository::new("main"));
    ground.start();
    let words =
        "False ArtifactFailed: Source is not ready, artifact not found, retrying in 10h0m0s";
    let started = Instant::now();
    ground.until_ready_says(&one, words).await;
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    ground.sandbox.git.insert(URL, kept);
    let mut asked = repository();
    asked["metadata"]["annotations"] = json!({"reconcile.fluxcd.io/requestedAt": "now"});
    ground.apply(asked).await;
    let started = Instant::now();
    let again = ground.until(&one, |it| said(it, "Ready").starts_with("True")).await;
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
    let applied = |it: &Value| it["status"]["lastAppliedRevision"].clone();
    assert_eq!(applied(&ready), applied(&again), "the same revision");
}

/// A server that never answers for the first artifact that it is asked for.
struct Tarpit(Local, std::sync::Mutex<Option<String>>);

impl Packed for Tarpit {
    fn fetch<'a>(
        &'a self,
        artifact: &'a SourceArtifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
        let mut first = self.1.lock().unwrap();
        if first.get_or_insert_with(|| artifact.digest.clone()) == &artifact.digest {
            return std::future::pending().boxed();
        }
        drop(first);
        self.0.fetch(artifact)
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_artifact_ends_the_wait_for_the_old_one() {
    let mut ground = Ground::idle().await;
    let file = config_map_file("a", "1");
    ground.commit("a", &[("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let one = kustomization("app", "app", json!({"interval": "1h"}));
    ground.apply(one.clone()).await;
    let tarpit = Tarpit(Local(ground.sandbox.artifacts.clone()), std::sync::Mutex::default());
    ground.fetch_by(Arc::new(tarpit));
    ground.start();
    sleep(Duration::from_mins(10)).await;
    assert!(ground.get(&config_map("a")).await.is_none());
    let file = config_map_file("a", "2");
    let revision = ground.commit("b", &[("app/a.yaml", &file)]);
    let moved = |it: &Value| it["status"]["artifact"]["revision"] == revision.as_str();
    ground.until(&repository(), moved).await;
    let started = Instant::now();
    let expected = format!("True ReconciliationSucceeded: Applied revision: {revision}");
    ground.until_ready_says(&one, &expected).await;
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
}

/// A file in the store is changed behind the controllers' backs: the source makes it anew.
#[tokio::test(start_paused = true)]
async fn a_corrupt_file_in_the_store_is_made_anew() {
    let ground = Ground::new().await;
    let file = config_map_file("a", "1");
    ground.commit("a", &[("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let ready = ground.until(&repository(), |it| said(it, "Ready").starts_with("True")).await;
    let text = |field: &str| ready["status"]["artifact"][field].as_str().unwrap().to_owned();
    let place = ArtifactPath::of_path(&text("path")).unwrap();
    ground.sandbox.artifacts.put(&place, "something else".into()).await.unwrap();
    sleep(Duration::from_mins(2)).await;
    let digest = text("digest").parse().unwrap();
    assert!(ground.sandbox.artifacts.get(&place.path(), &digest).await.is_ok(), "made anew");
    let told = ground.events("platform").await;
    assert!(told.iter().any(|it| it.contains("ArtifactVerificationFailed")), "{told:#?}");
}

/// A store on a disk that is full until there is room again.
struct Full(Arc<MemoryStore>, Arc<AtomicBool>);

impl ArtifactStore for Full {
    fn put<'a>(
        &'a self,
        place: &'a ArtifactPath,
        content: bytes::Bytes,
    ) -> BoxFuture<'a, Result<Stored, StoreError>> {
        if self.1.load(Ordering::Relaxed) {
            let source = std::io::ErrorKind::StorageFull.into();
            let failed = Err(StoreError::Io { verb: "write", path: place.path(), source });
            return futures::future::ready(failed).boxed();
        }
        self.0.put(place, content)
    }

    fn alias<'a>(
        &'a self,
        place: &'a ArtifactPath,
        target: &'a ArtifactPath,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.alias(place, target)
    }

    fn get<'a>(
        &'a self,
        path: &'a str,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<bytes::Bytes, StoreError>> {
        self.0.get(path, digest)
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<StoredFile, StoreError>> {
        self.0.open(path)
    }

    fn collect<'a>(
        &'a self,
        current: &'a ArtifactPath,
        retention: Retention,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        self.0.collect(current, retention)
    }

    fn remove<'a>(&'a self, place: &'a ArtifactPath) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.remove(place)
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_is_said_and_the_last_artifact_stays() {
    let mut ground = Ground::idle().await;
    let is_full = Arc::new(AtomicBool::new(false));
    ground.backends().artifacts =
        Arc::new(Full(ground.sandbox.artifacts.clone(), Arc::clone(&is_full)));
    ground.commit("a", &[("app/a.yaml", &config_map_file("a", "1"))]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let one = kustomization("app", "app", json!({"interval": "1m"}));
    ground.apply(one.clone()).await;
    ground.start();
    ground.until(&one, |it| said(it, "Ready").starts_with("True")).await;
    is_full.store(true, Ordering::Relaxed);
    let revision = ground.commit("b", &[("app/a.yaml", &config_map_file("a", "2"))]);
    let words = "False ArchiveOperationFailed: unable to archive artifact to storage: cannot write";
    let told = |it: &Value| {
        let ready = said(it, "Ready");
        ready.starts_with(words) && ready.ends_with("no storage space")
    };
    ground.until(&repository(), told).await;
    sleep(Duration::from_mins(5)).await;
    let ready = said(&ground.get(&one).await.unwrap(), "Ready");
    assert!(ready.starts_with("True"), "the last artifact is still applied: {ready}");
    is_full.store(false, Ordering::Relaxed);
    let expected = format!("True ReconciliationSucceeded: Applied revision: {revision}");
    ground.until_ready_says(&one, &expected).await;
}

/// Stopping takes two seconds at most, however long passes would like to wait, and nothing is lost by it.
#[tokio::test(start_paused = true)]
async fn stopping_takes_two_seconds_however_busy_they_are() {
    const NEVER: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: apps}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: 'web:1', resources: {requests: {cpu: '4000'}}}]}\n";
    let mut ground = Ground::new().await;
    ground.commit("too large", &[("app/web.yaml", NEVER)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let one = kustomization("app", "app", json!({"wait": true, "timeout": "1h", "interval": "2h"}));
    ground.apply(one.clone()).await;
    let waits = |it: &Value| said(it, "Healthy").starts_with("Unknown Progressing");
    ground.until(&one, waits).await;
    let started = Instant::now();
    ground.stop().await;
    assert!(started.elapsed() <= LIMIT, "{:?}", started.elapsed());
    let left = ground.get(&one).await.unwrap();
    assert_eq!(left["status"]["inventory"]["entries"].as_array().unwrap().len(), 1);
    // The next process goes on where this one was.
    let file = config_map_file("a", "1");
    ground.commit("small", &[("app/a.yaml", &file)]);
    ground.start();
    ground.until(&one, |it| said(it, "Ready").starts_with("True")).await;
    let gone = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "apps"}});
    assert!(ground.get(&gone).await.is_none(), "what the first one applied is not orphaned");
}
