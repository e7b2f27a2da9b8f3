//! Every failure names the file and the line that it comes from, in the event and in the log; Ready keeps Flux's text.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span;

use crate::ground::{Ground, kustomization, said};

/// A base, a component that asks for more than any node has, and an overlay for each way to fail.
const FILES: &[(&str, &str)] = &[
    (
        "base/deploy.yaml",
        "# The web server.\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: apps}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: c, image: registry.test/web}]}\n",
    ),
    ("base/kustomization.yaml", "resources: [deploy.yaml]\n"),
    (
        "components/large/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: requests.yaml\n",
    ),
    (
        "components/large/requests.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: apps}\nspec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: '4000'}}}]}}}\n",
    ),
    (
        "invalid/kustomization.yaml",
        "resources: [../base]\nnamePrefix: invalid-\npatches: [{path: replicas.yaml}]\n",
    ),
    (
        "invalid/replicas.yaml",
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: apps}\nspec: {replicas: -1}\n",
    ),
    (
        "refused/kustomization.yaml",
        "resources: [../base]\nnamePrefix: refused-\npatches:\n- target: {kind: Deployment}\n  patch: |\n    - op: replace\n      path: /metadata/namespace\n      value: nowhere\n",
    ),
    (
        "unhealthy/kustomization.yaml",
        "resources: [../base]\nnamePrefix: unhealthy-\ncomponents: [../components/large]\n",
    ),
    ("broken/kustomization.yaml", "resources:\n- ../base\npatches:\n- path: none.yaml\n"),
];

/// The log of a test, an event in a line.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::ERROR
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// An annotation of the newest event about a Kustomization.
async fn annotation(ground: &Ground, name: &str, wanted: &str) -> Option<String> {
    let api = ground.api("v1", "Event", Some("apps"));
    let list = api.list(&kube::api::ListParams::default()).await.unwrap();
    let mut events = list.items.into_iter().rev();
    let newest = events.find(|it| it.data["involvedObject"]["name"] == name);
    newest.and_then(|event| event.metadata.annotations?.get(wanted).cloned())
}

#[tokio::test(start_paused = true)]
async fn failures_name_file_line_and_patch_in_event_and_log() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let ground = Ground::with(FILES, |_| {}).await;
    let wait = json!({"wait": true, "timeout": "1m"});
    for (name, spec, words, place_of) in [
        (
            "invalid",
            json!({}),
            "False ReconciliationFailed: Deployment/apps/invalid-web dry-run failed (Invalid): ",
            "Deployment/apps/invalid-web: base/deploy.yaml:2, patched by invalid/replicas.yaml:2",
        ),
        (
            "refused",
            json!({}),
            "False ReconciliationFailed: Deployment/nowhere/refused-web not found: ",
            "Deployment/nowhere/refused-web: base/deploy.yaml:2, patched by refused/kustomization.yaml:4",
        ),
        (
            "unhealthy",
            wait,
            "False HealthCheckFailed: health check failed after 1m",
            "Deployment/apps/unhealthy-web: base/deploy.yaml:2, patched by components/large/requests.yaml:1",
        ),
        (
            "broken",
            json!({}),
            "False BuildFailed: kustomize build failed: ",
            "broken/kustomization.yaml:4",
        ),
    ] {
        let mut app: Value = kustomization(name, name, spec);
        app["spec"]["retryInterval"] = "1h".into();
        ground.apply(app.clone()).await;
        let failed = ground.until(&app, |it| said(it, "Ready").starts_with(words)).await;
        let ready = said(&failed, "Ready");
        let place = annotation(&ground, name, "sluice.dev/place").await;
        assert_eq!(place.as_deref(), Some(place_of), "{name}");
        let lines = log.0.lock().unwrap().clone();
        let in_log = place_of.split_once(": ").map_or(place_of, |(_, place)| place);
        assert!(!ready.contains(in_log), "Ready has Flux's own text: {ready}");
        assert!(lines.iter().any(|line| line.contains(in_log)), "{name}: {lines:#?}");
    }
}

/// A bad image is named with its pod and reason, in the event and in the log.
#[tokio::test(start_paused = true)]
async fn a_bad_image_is_named_with_its_pod_and_reason() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let (path, deploy) = FILES[0];
    let deploy = deploy.replace(
        "metadata: {labels: {app: web}}",
        "metadata: {labels: {app: web}, annotations: {sluice.dev/simulate: image-pull-error}}",
    );
    let ground = Ground::with(&[(path, &deploy)], |_| {}).await;
    let app = kustomization("app", "base", json!({"wait": true, "timeout": "1m"}));
    ground.apply(app.clone()).await;
    let words = "False HealthCheckFailed: health check failed after 1m";
    let failed = ground.until(&app, |it| said(it, "Ready").starts_with(words)).await;
    assert!(!said(&failed, "Ready").contains("Pod/"), "Ready has Flux's own text");
    let cause = annotation(&ground, "app", "sluice.dev/cause").await.unwrap_or_default();
    assert!(cause.starts_with("Deployment/apps/web: Pod/apps/web-"), "{cause}");
    assert!(cause.contains("Image") && cause.contains("registry.test/web"), "{cause}");
    let lines = log.0.lock().unwrap().clone();
    assert!(lines.iter().any(|line| line.contains("Pod/apps/web-")), "{lines:#?}");
}
