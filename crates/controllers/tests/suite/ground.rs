//! A sandbox with the controllers running on it, and a log of their requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::client::Body;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use sluice_base::clock::Clock;
use sluice_base::fault::{Fault, Rule, Scope};
use sluice_cloud::Environment;
use sluice_cluster::Cluster;
use sluice_controllers::artifacts::{Packed, Served};
use sluice_controllers::context::Settings;
use sluice_controllers::egress::{Clusters, Egress};
use sluice_controllers::operation::Operation;
use sluice_controllers::run::{ControllerConfig, run};
use sluice_controllers::sourcing::SourceBackends;
use sluice_sandbox::{BRANCH, Sandbox};
use sluice_source::git::Repository;
use sluice_source::http::HttpOptions;
use sluice_source::network::{Network, Purpose};
use sluice_source::store::{ArtifactStore as _, MemoryStore};
use sluice_source::tree::SourceTree;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// The repository of all tests.
pub(crate) const URL: &str = "https://git.test/platform";

/// The user agent of the controllers.
pub(crate) const AGENT: &str = "controllers";

/// Other clusters by address, and the identities of the requests to them.
#[derive(Clone, Default)]
pub(crate) struct Neighbours(Arc<Mutex<BTreeMap<String, Cluster>>>, Arc<Mutex<BTreeSet<String>>>);

impl Neighbours {
    /// Another cluster.
    pub(crate) fn put(&self, address: &str) -> Client {
        let cluster = Cluster::builder().seed(2).build();
        let client = Client::new(cluster.service(), "default");
        self.0.lock().unwrap().insert(address.to_owned(), cluster);
        client
    }

    /// The token and the impersonated user of each request.
    pub(crate) fn guests(&self) -> BTreeSet<String> {
        self.1.lock().unwrap().clone()
    }
}

impl Clusters for Neighbours {
    fn connect(&self, config: kube::Config) -> Result<Client, String> {
        let address = config.cluster_url.to_string();
        let clusters = self.0.lock().unwrap();
        let cluster = clusters.get(&address).ok_or(format!("{address}: no such host"))?;
        let (inner, guests) = (cluster.service(), Arc::clone(&self.1));
        let own = config.auth_info.username;
        let service = tower::service_fn(move |mut request: http::Request<Body>| {
            let text = |name: &str| {
                let value = request.headers().get(name)?;
                value.to_str().ok().map(str::to_owned)
            };
            let token = text("authorization").or_else(|| own.clone()).unwrap_or_default();
            let user = text("impersonate-user").unwrap_or_default();
            guests.lock().unwrap().insert(format!("{token} {user}"));
            // Whether the token is good is not what these clusters are for.
            request.headers_mut().remove("authorization");
            inner.clone().oneshot(request)
        });
        Ok(Client::new(service, "default"))
    }
}

/// A sandbox and the controllers.
pub(crate) struct Ground {
    pub(crate) sandbox: Sandbox,
    client: Client,
    pub(crate) neighbours: Neighbours,
    config: ControllerConfig,
    requests: Arc<Mutex<Vec<String>>>,
    /// A method whose requests are no longer made in the name of an account.
    tampered: Arc<Mutex<Option<&'static str>>>,
    running: Option<(CancellationToken, JoinHandle<()>)>,
}

impl Ground {
    /// Everything, running.
    pub(crate) async fn new() -> Self {
        let mut ground = Self::idle().await;
        ground.start();
        ground
    }

    /// Everything but the controllers.
    pub(crate) async fn idle() -> Self {
        Self::on(Cluster::builder().seed(1).build()).await
    }

    /// The same on a cluster that was made differently.
    pub(crate) async fn on(cluster: Cluster) -> Self {
        let tampered: Arc<Mutex<Option<&'static str>>> = Arc::default();
        let tampering = Arc::clone(&tampered);
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (log, inner) = (Arc::clone(&requests), cluster.service());
        let service = tower::service_fn(move |mut request: http::Request<Body>| {
            log.lock().unwrap().push(format!("{} {}", request.method(), request.uri()));
            let agent = http::HeaderValue::from_static(AGENT);
            request.headers_mut().insert(http::header::USER_AGENT, agent);
            if *tampering.lock().unwrap() == Some(request.method().as_str()) {
                request.headers_mut().remove("impersonate-user");
            }
            let inner = inner.clone();
            async move {
                // So that a crash can come between any two requests.
                tokio::task::yield_now().await;
                inner.oneshot(request).await
            }
        });
        let sandbox = Sandbox::on(cluster);
        sandbox.git.insert(URL, Repository::new(BRANCH));
        let neighbours = Neighbours::default();
        let endpoints = Arc::new(sandbox.endpoints.clone());
        let client = Client::new(service, "default");
        let config = ControllerConfig {
            egress: Egress {
                git: Arc::new(sandbox.git.clone()),
                web: endpoints.clone(),
                content: endpoints,
                environment: Environment::default(),
                clusters: Arc::new(neighbours.clone()),
            },
            ..ControllerConfig::new(client, sandbox.clock(), sandbox.backends())
        };
        let objects = sandbox.objects("user");
        let groups = [
            "source.toolkit.fluxcd.io",
            "source.extensions.fluxcd.io",
            "kustomize.toolkit.fluxcd.io",
        ];
        objects.install_definitions(|group| groups.contains(&group)).await.unwrap();
        let client = sandbox.client();
        let ground =
            Self { sandbox, client, neighbours, config, requests, tampered, running: None };
        tokio::time::sleep(Duration::from_secs(5)).await;
        ground
    }

    /// The client of the controllers.
    pub(crate) fn controllers_client(&self) -> Client {
        self.config.client.clone()
    }

    /// Removes impersonation from the requests of a method.
    pub(crate) fn forget_account_of(&self, method: &'static str) {
        *self.tampered.lock().unwrap() = Some(method);
    }

    /// The time.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.config.clock)
    }

    /// A client of the cluster, as a user has it.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Starts the controllers.
    pub(crate) fn start(&mut self) {
        let stop = CancellationToken::new();
        let task = tokio::spawn(run(self.config.clone(), stop.clone()));
        self.running = Some((stop, task));
    }

    /// Ends the controllers in the middle of whatever they do, when they have sent so many writes.
    pub(crate) async fn crash_after(&mut self, writes: usize) {
        for turn in 0..100_000 {
            if self.sent() >= writes {
                break;
            }
            match turn % 1000 {
                999 => tokio::time::sleep(Duration::from_millis(100)).await,
                _ => tokio::task::yield_now().await,
            }
        }
        let (_, task) = self.running.take().unwrap();
        task.abort();
        let _ = task.await;
    }

    /// Ends the controllers in the middle of whatever they do.
    pub(crate) async fn crash(&mut self) {
        let (_, task) = self.running.take().unwrap();
        task.abort();
        let _ = task.await;
    }

    /// Artifacts are served at an address, and fetched as `sluice serve` does it.
    pub(crate) fn by_address(&mut self, address: &str) {
        address.clone_into(&mut self.config.backends.advertised);
        let client = Network::new().client(Purpose::Spec, &HttpOptions::default()).unwrap();
        self.config.packed = Arc::new(Served { local: self.sandbox.artifacts.clone(), client });
    }

    /// The store is empty from here on, as on another machine.
    pub(crate) fn lose_store(&mut self) {
        self.sandbox.artifacts = Arc::new(MemoryStore::new(self.sandbox.clock()));
        self.config.backends.artifacts = self.sandbox.artifacts.clone();
        let address = self.config.backends.advertised.clone();
        self.by_address(&address);
    }

    /// Artifacts are fetched in another way.
    pub(crate) fn fetch_by(&mut self, packed: Arc<dyn Packed>) {
        self.config.packed = packed;
    }

    /// How many writes were sent.
    pub(crate) fn sent(&self) -> usize {
        let log = self.requests.lock().unwrap();
        log.iter().filter(|line| !line.starts_with("GET")).count()
    }

    /// Ends the controllers politely.
    pub(crate) async fn stop(&mut self) {
        let (stop, task) = self.running.take().unwrap();
        stop.cancel();
        task.await.unwrap();
    }

    /// A cluster with a namespace, the repository and these files in it, and controllers with settings.
    pub(crate) async fn with(files: &[(&str, &str)], change: impl FnOnce(&mut Settings)) -> Self {
        let mut ground = Self::idle().await;
        change(ground.settings());
        ground.commit("files", files);
        ground.apply(namespace()).await;
        ground.apply(repository()).await;
        ground.start();
        ground
    }

    /// Changes where sources come from and artifacts go.
    pub(crate) fn backends(&mut self) -> &mut SourceBackends {
        &mut self.config.backends
    }

    /// Changes the settings that the controllers are started with.
    pub(crate) fn settings(&mut self) -> &mut Settings {
        &mut self.config.settings
    }

    /// Everything outside of the cluster, to be changed while the controllers do not run.
    pub(crate) fn egress(&mut self) -> &mut Egress {
        &mut self.config.egress
    }

    /// Changes how the controllers are operated that are started next.
    pub(crate) fn operation(&mut self) -> &mut Operation {
        &mut self.config.operation
    }

    /// Lets all requests to the repository at an address meet a fault for a while.
    pub(crate) fn fail_git(&self, url: &str, fault: Fault, time: Duration) {
        let rule = Rule::new(Scope::default().address(url), fault);
        self.sandbox.git.faults().install_for(rule, time).unwrap();
    }

    /// Commits these files, and nothing else, to the branch `main`; gives the revision.
    pub(crate) fn commit(&self, message: &str, files: &[(&str, &str)]) -> String {
        self.commit_to(URL, message, files)
    }

    /// Commits to the repository at an address.
    pub(crate) fn commit_to(&self, url: &str, message: &str, files: &[(&str, &str)]) -> String {
        let mut tree = SourceTree::default();
        for (path, content) in files {
            tree.insert_file(path, content.as_bytes().to_vec()).unwrap();
        }
        self.sandbox.commit(url, message, &tree)
    }

    pub(crate) fn api(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        self.sandbox.objects("user").kind(api_version, kind, namespace)
    }

    fn api_of(&self, object: &Value) -> (Api<DynamicObject>, String) {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        (self.sandbox.objects("user").api(object), name)
    }

    /// Applies an object as a user would.
    pub(crate) async fn apply(&self, object: Value) {
        self.sandbox.objects("user").apply(&object).await.unwrap();
    }

    /// Writes the status of an object as its controller would.
    pub(crate) async fn set_status(&self, object: &Value, status: Value) {
        let (api, name) = self.api_of(object);
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(&name, &PatchParams::apply("other"), &patch).await.unwrap();
    }

    /// The packed artifact of a source.
    pub(crate) async fn packed(&self, source: &Value) -> bytes::Bytes {
        let text = |field: &str| source["status"]["artifact"][field].as_str().unwrap();
        self.sandbox.artifacts.get(text("path"), &text("digest").parse().unwrap()).await.unwrap()
    }

    /// Deletes an object.
    pub(crate) async fn delete(&self, object: &Value) {
        self.sandbox.objects("user").delete(object).await.unwrap();
    }

    /// An object, if it is there.
    pub(crate) async fn get(&self, object: &Value) -> Option<Value> {
        self.sandbox.objects("user").get(object).await.unwrap()
    }

    /// Waits until an object is as it should be; says how it is if that takes ten minutes.
    pub(crate) async fn until(&self, object: &Value, is: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..6000 {
            if let Some(found) = self.get(object).await.filter(|found| is(found)) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let last = self.get(object).await.map(|last| last["status"].clone());
        panic!("still not as it should be: {last:#?}");
    }

    /// Waits until Ready says this.
    pub(crate) async fn until_ready_says(&self, object: &Value, expected: &str) -> Value {
        self.until(object, |found| said(found, "Ready") == expected).await
    }

    /// The requests since the last call that write to anything but Flux's objects and events.
    pub(crate) fn writes(&self) -> Vec<String> {
        let log = std::mem::take(&mut *self.requests.lock().unwrap());
        let is_write = |line: &String| {
            !line.starts_with("GET")
                && !line.contains("toolkit.fluxcd.io")
                && !line.contains("/events")
                && !line.contains("dryRun=All")
        };
        log.into_iter().filter(is_write).collect()
    }

    /// How many requests so far had a text in them.
    pub(crate) fn asked(&self, text: &str) -> usize {
        let log = self.requests.lock().unwrap();
        log.iter().filter(|line| line.contains(text)).count()
    }

    /// The events about an object: reason and message.
    pub(crate) async fn events(&self, name: &str) -> Vec<String> {
        let api = self.api("v1", "Event", Some("apps"));
        let list = api.list(&kube::api::ListParams::default()).await.unwrap();
        let about = list.items.iter().filter(|it| it.data["involvedObject"]["name"] == name);
        let mut lines: BTreeMap<String, String> = BTreeMap::new();
        for event in about {
            let text = |field: &str| event.data[field].as_str().unwrap_or_default().to_owned();
            let at = event.metadata.name.clone().unwrap_or_default();
            lines.insert(at, format!("{} {}: {}", text("type"), text("reason"), text("message")));
        }
        lines.into_values().collect()
    }

    /// Reasons of the events about an object that say whose job it is, and what they say; in their order.
    pub(crate) async fn classes(&self, name: &str) -> Vec<(String, String)> {
        let api = self.api("v1", "Event", Some("apps"));
        let list = api.list(&kube::api::ListParams::default()).await.unwrap();
        let about = list.items.into_iter().filter(|it| it.data["involvedObject"]["name"] == name);
        let mut found: BTreeMap<String, (String, String)> = BTreeMap::new();
        for event in about {
            let annotations = event.metadata.annotations.unwrap_or_default();
            if let Some(class) = annotations.get("sluice.dev/error-class") {
                let reason = event.data["reason"].as_str().unwrap_or_default().to_owned();
                found.insert(event.metadata.name.unwrap(), (reason, class.clone()));
            }
        }
        found.into_values().collect()
    }

    /// All that Ready says about an object from here on, in its order.
    pub(crate) fn listen(&self, object: &Value) -> Arc<Mutex<Vec<String>>> {
        let (api, name) = self.api_of(object);
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&heard);
        tokio::spawn(async move {
            let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
            let mut events = std::pin::pin!(watcher::watcher(api, only).applied_objects());
            while let Some(Ok(found)) = events.next().await {
                log.lock().unwrap().push(said(&serde_json::to_value(found).unwrap(), "Ready"));
            }
        });
        heard
    }
}

/// Status, reason and message of a condition in one line.
pub(crate) fn said(object: &Value, kind: &str) -> String {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|it| it["type"] == kind);
    let text = |field: &str| found.map(|it| it[field].as_str().unwrap_or_default().to_owned());
    match (text("status"), text("reason"), text("message")) {
        (Some(status), Some(reason), Some(message)) => format!("{status} {reason}: {message}"),
        _ => String::new(),
    }
}

/// The namespace of all tests.
pub(crate) fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}})
}

/// The repository of all tests.
pub(crate) fn repository() -> Value {
    repository_with("platform", json!({"url": URL}))
}

/// A GitRepository with more in its spec.
pub(crate) fn repository_with(name: &str, spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": name, "namespace": "apps"},
        "spec": {"interval": "1m", "ref": {"branch": "main"}},
    });
    merge(&mut object["spec"], spec);
    object
}

/// A source of some kind.
pub(crate) fn source_with(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": kind,
        "metadata": {"name": name, "namespace": "apps"}, "spec": spec,
    })
}

/// A certificate that vouches for nobody who is met.
pub(crate) fn certificate() -> String {
    rcgen::generate_simple_self_signed(["ca.test".to_owned()]).unwrap().cert.pem()
}

/// A Secret.
pub(crate) fn secret(name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "namespace": "apps"}, "stringData": data,
    })
}

/// A Kustomization of a directory, with more in its spec.
pub(crate) fn kustomization(name: &str, path: &str, spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "apps"},
        "spec": {
            "interval": "10m", "prune": true, "path": path,
            "sourceRef": {"kind": "GitRepository", "name": "platform"},
        },
    });
    merge(&mut object["spec"], spec);
    object
}

/// Puts more fields into an object.
pub(crate) fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

/// A ConfigMap as a file.
pub(crate) fn config_map_file(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: apps\ndata:\n  value: \"{value}\"\n"
    )
}

/// A ConfigMap to look for.
pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "apps"}})
}
