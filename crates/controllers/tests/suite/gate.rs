//! A gate that holds stops a pass of every kind: before the fetch, and before the first write.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sluice_runtime::gate::{Gate, GateRequest, Hold, Moment, SharedGate, Verdict};
use sluice_runtime::queue::Next;
use sluice_source::bucket::MemoryBucket;

use crate::ground::{
    Ground, config_map, config_map_file, kustomization, namespace, repository, said, source_with,
};
use crate::oci;

const WHY: &str = "layer services: gateway is not usable";

/// Holds one kind at one moment, and remembers what it was asked.
#[derive(Debug, Default)]
struct Barrier {
    holds: Mutex<Option<(&'static str, Moment)>>,
    asked: Mutex<Vec<(&'static str, Moment)>>,
}

impl Barrier {
    fn hold(&self, held: Option<(&'static str, Moment)>) {
        *self.holds.lock().unwrap() = held;
        self.asked.lock().unwrap().clear();
    }

    fn was_asked(&self, kind: &'static str, moment: Moment) -> bool {
        self.asked.lock().unwrap().contains(&(kind, moment))
    }
}

impl Gate for Barrier {
    fn ask(&self, request: &GateRequest<'_>) -> Verdict {
        let question = (request.definition.kind, request.moment);
        self.asked.lock().unwrap().push(question);
        if *self.holds.lock().unwrap() == Some(question) {
            let next = Next::After(Duration::from_secs(10));
            return Verdict::Held(Hold { message: WHY.to_owned(), next });
        }
        Verdict::Open
    }
}

const KINDS: [&str; 5] =
    ["GitRepository", "OCIRepository", "Bucket", "Kustomization", "ArtifactGenerator"];

/// An object of a kind.
fn object(kind: &str) -> Value {
    match kind {
        "GitRepository" => repository(),
        "OCIRepository" => {
            source_with(kind, "app", &json!({"interval": "1m", "url": "oci://r.test/org/app"}))
        }
        "Bucket" => {
            let spec = json!({"interval": "1m", "bucketName": "things", "endpoint": "s3.test"});
            source_with(kind, "things", &spec)
        }
        "Kustomization" => kustomization("all", "./", json!({})),
        _ => json!({
            "apiVersion": "source.extensions.fluxcd.io/v1beta1", "kind": kind,
            "metadata": {"name": "parts", "namespace": "apps"},
            "spec": {
                "sources": [{"alias": "repo", "kind": "GitRepository", "name": "platform"}],
                "artifacts": [{"name": "part", "copy": [{"from": "@repo/**", "to": "@artifact/"}]}],
            },
        }),
    }
}

/// New content in every place that sources are fetched from.
fn publish(ground: &Ground, value: &str) {
    let file = config_map_file("a", value);
    ground.commit(value, &[("a.yaml", &file)]);
    oci::push(ground, "latest", &[("a.yaml", &file)]);
    ground.sandbox.buckets.insert("things", MemoryBucket::of(&[("a.yaml", &file)]));
}

/// What an object has brought into effect; null where nothing.
async fn effect(ground: &Ground, kind: &str) -> Value {
    let (of, pointer) = match kind {
        "Kustomization" => (config_map("a"), "/data/value"),
        "ArtifactGenerator" => {
            (source_with("ExternalArtifact", "part", &json!({})), "/status/artifact/digest")
        }
        _ => (object(kind), "/status/artifact/digest"),
    };
    let found = ground.get(&of).await.unwrap_or_default();
    found.pointer(pointer).cloned().unwrap_or_default()
}

async fn until_converged(ground: &Ground, kind: &'static str) -> Value {
    let is_over = |it: &Value| {
        said(it, "Ready").starts_with("True ")
            && said(it, "Held").is_empty()
            && said(it, "Reconciling").is_empty()
    };
    ground.until(&object(kind), is_over).await
}

async fn story(kind: &'static str, moment: Moment) {
    let barrier = Arc::new(Barrier::default());
    let mut ground = Ground::idle().await;
    ground.settings().external_artifacts = true;
    ground.operation().gate = SharedGate(barrier.clone());
    barrier.hold(Some((kind, moment)));
    publish(&ground, "1");
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground.apply(object(kind)).await;
    ground.start();

    // Never installed: it waits, and no error is reported.
    let held = format!("Unknown LayerHeld: {WHY}");
    let waiting = ground.until_ready_says(&object(kind), &held).await;
    assert_eq!(said(&waiting, "Held"), "", "{kind} {moment:?}");
    assert_eq!(said(&waiting, "Reconciling"), "", "{kind} {moment:?}");
    assert_eq!(effect(&ground, kind).await, Value::Null, "{kind} {moment:?}");
    if moment == Moment::BeforeFetch {
        assert!(!barrier.was_asked(kind, Moment::BeforeWrite), "{kind} went on");
        let attempted = &waiting["status"]["lastAttemptedRevision"];
        assert_eq!(*attempted, Value::Null, "it was fetched");
        if kind == "OCIRepository" {
            assert_eq!(ground.sandbox.registries.requests(), Vec::<String>::new());
        }
        if kind == "Bucket" {
            assert_eq!(ground.sandbox.buckets.change("things", |it| it.reads), Some(0));
        }
    }
    let name = waiting["metadata"]["name"].as_str().unwrap();
    // A generator may have looked before its source was there.
    let is_other = |it: &String| it.starts_with("Warning") && !it.ends_with("is not ready");
    let warnings = ground.events(name).await.into_iter().filter(is_other);
    assert_eq!(warnings.collect::<Vec<_>>(), Vec::<String>::new(), "{kind} {moment:?}");

    // Released: it is installed.
    barrier.hold(None);
    let ready = until_converged(&ground, kind).await;
    assert!(barrier.was_asked(kind, Moment::BeforeFetch), "{kind}");
    assert!(barrier.was_asked(kind, Moment::BeforeWrite), "{kind}");
    let first = effect(&ground, kind).await;
    assert_ne!(first, Value::Null, "{kind} {moment:?}");

    // Running: it keeps what it has, and Ready; the new revision is held.
    barrier.hold(Some((kind, moment)));
    tokio::time::sleep(Duration::from_mins(2)).await;
    publish(&ground, "2");
    let held = format!("True LayerHeld: {WHY}");
    let running = ground.until(&object(kind), |it| said(it, "Held") == held).await;
    assert_eq!(said(&running, "Ready"), said(&ready, "Ready"), "{kind} {moment:?}");
    assert_eq!(effect(&ground, kind).await, first, "{kind} {moment:?}");

    barrier.hold(None);
    ground
        .until(&object(kind), |it| {
            said(it, "Held").is_empty() && said(it, "Ready").starts_with("True ")
        })
        .await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    until_converged(&ground, kind).await;
    assert_ne!(effect(&ground, kind).await, first, "{kind} {moment:?}");
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_holds_stops_every_kind_before_the_fetch() {
    for kind in KINDS {
        story(kind, Moment::BeforeFetch).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_holds_stops_every_kind_before_the_first_write() {
    for kind in KINDS {
        story(kind, Moment::BeforeWrite).await;
    }
}
