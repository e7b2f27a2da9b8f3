//! A running installation on an embedded cluster, with an object of each kind.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use http_body_util::Full;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use sluice_cluster::Cluster;
use sluice_cluster::audit::{Event, Recorder};
use sluice_controllers::artifacts::{ArtifactError, Local, Packed};
use sluice_controllers::run::ControllerConfig;
use sluice_controllers::sources::SourceArtifact;
use sluice_sandbox::Sandbox;
use sluice_source::archive::{Modes, pack_with};
use sluice_source::bucket::MemoryBucket;
use sluice_source::oci::{Manifest, media};
use sluice_source::tree::SourceTree;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::commands::serve::endpoints::Endpoints;
use crate::commands::serve::{self, Arguments};
use crate::commands::{self, Command, install};

pub(super) const NAMESPACE: &str = "flux-system";
const URL: &str = "https://git.test/platform";

/// The host of artifact URLs, which is the Service in the manifests.
struct OfService {
    hosts: Vec<String>,
    store: Local,
}

impl Packed for OfService {
    fn fetch<'a>(
        &'a self,
        artifact: &'a SourceArtifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
        let host = artifact.url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let is_known = host.is_some_and(|host| self.hosts.iter().any(|it| it == host));
        assert!(is_known, "no Service answers at {}", artifact.url);
        self.store.fetch(artifact)
    }
}

/// A running installation.
pub(super) struct Installation {
    sandbox: Sandbox,
    recorder: Recorder,
    flags: Vec<String>,
    stop: CancellationToken,
    running: Vec<JoinHandle<()>>,
}

impl Installation {
    /// Applies the manifests of `sluice install` with these flags, and runs the Deployments' commands.
    pub(super) async fn start(flags: &[&str]) -> Self {
        let recorder = Recorder::bounded(1_000_000);
        let cluster = Cluster::builder().seed(1).audit(Arc::new(recorder.clone())).build();
        let mut installation = Self {
            sandbox: Sandbox::on(cluster),
            recorder,
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            stop: CancellationToken::new(),
            running: Vec::new(),
        };
        let manifests = manifests(flags);
        for object in &manifests {
            installation.apply(object).await;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}});
        installation.apply(&namespace).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let hosts: Vec<String> = manifests
            .iter()
            .filter(|object| object["kind"] == "Service")
            .map(|service| {
                let text =
                    |pointer: &str| service.pointer(pointer).and_then(Value::as_str).unwrap();
                format!(
                    "{}.{}.svc.cluster.local.",
                    text("/metadata/name"),
                    text("/metadata/namespace")
                )
            })
            .collect();
        for deployment in manifests.iter().filter(|object| object["kind"] == "Deployment") {
            installation.run(deployment, &hosts).await;
        }
        installation
    }

    /// Runs the container of a Deployment with its service account.
    async fn run(&mut self, deployment: &Value, hosts: &[String]) {
        let pod = &deployment["spec"]["template"]["spec"];
        let wanted = arguments(&pod["containers"][0]);
        let client = self.client_of(pod["serviceAccountName"].as_str().unwrap()).await;
        let (operation, election) = serve::operation(&wanted, NAMESPACE, &Endpoints::default())
            .map_err(|it| it.message().to_owned())
            .unwrap();
        let controllers =
            serve::controllers(&wanted.controllers).map_err(|it| it.message().to_owned()).unwrap();
        let mut backends = self.sandbox.backends();
        backends.advertised = wanted.storage_adv_addr.clone().unwrap_or_default();
        backends.digests = wanted.artifact_digest_algo;
        let store = Local(Arc::clone(&backends.artifacts));
        let config = ControllerConfig {
            packed: Arc::new(OfService { hosts: hosts.to_vec(), store }),
            concurrent: wanted.concurrent,
            settings: serve::settings(wanted, NAMESPACE)
                .map_err(|it| it.message().to_owned())
                .unwrap(),
            controllers,
            operation,
            ..ControllerConfig::new(client, self.sandbox.clock(), backends)
        };
        let (election, stop) = (election.expect("leases are asked for"), self.stop.clone());
        self.running.push(tokio::spawn(async move {
            let led = Box::pin(election.run(config, stop)).await;
            led.map_err(|it| it.message().to_owned()).unwrap();
        }));
    }

    /// A client with a token of a service account.
    async fn client_of(&self, account: &str) -> Client {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token");
        let (_, answer) =
            self.send(None, "POST", &path, &json!({"spec": {"expirationSeconds": 86400}})).await;
        let token = answer["status"]["token"].as_str().expect("a token");
        let bearer = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
        let inner = self.sandbox.cluster.service();
        let service = tower::service_fn(move |mut request: Request<Body>| {
            request.headers_mut().insert(AUTHORIZATION, bearer.clone());
            inner.clone().oneshot(request)
        });
        Client::new(service, "default")
    }

    async fn send(
        &self,
        user: Option<&str>,
        method: &str,
        path: &str,
        body: &Value,
    ) -> (u16, Value) {
        let patch = if path.contains("fieldManager") {
            "application/apply-patch+yaml"
        } else {
            "application/merge-patch+json"
        };
        let content_type = if method == "PATCH" { patch } else { "application/json" };
        let mut request =
            Request::builder().method(method).uri(path).header("content-type", content_type);
        if let Some(user) = user {
            request = request.header("impersonate-user", user);
        }
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = request.body(Full::<bytes::Bytes>::new(bytes.into())).unwrap();
        let response = self.sandbox.cluster.service().oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes =
            http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Sends a request as a user, or as administrator without a name; returns the status code.
    pub(super) async fn send_as(&self, user: &str, method: &str, path: &str, body: &Value) -> u16 {
        self.send(Some(user).filter(|user| !user.is_empty()), method, path, body).await.0
    }

    /// Applies an object as administrator.
    pub(super) async fn apply(&self, object: &Value) {
        let path = format!("{}?fieldManager=admin&force=true", path(object));
        let (code, answer) = self.send(None, "PATCH", &path, object).await;
        assert!(code < 300, "{path}: {answer}");
    }

    pub(super) async fn delete(&self, object: &Value) {
        let (code, answer) = self.send(None, "DELETE", &path(object), &Value::Null).await;
        assert!(code < 300, "{answer}");
    }

    pub(super) async fn get(&self, object: &Value) -> Option<Value> {
        let (code, answer) = self.send(None, "GET", &path(object), &Value::Null).await;
        (code == 200).then_some(answer)
    }

    /// Waits until an object satisfies a condition.
    pub(super) async fn until(&self, object: &Value, is: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..3000 {
            if let Some(found) = self.get(object).await.filter(|found| is(found)) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let last = self.get(object).await.map(|last| last["status"].clone());
        panic!(
            "{:?}: {} is still not as it should be: {last:#?}; {:#?}",
            self.flags,
            path(object),
            self.refused()
        );
    }

    /// Commits files to the repository.
    pub(super) fn commit(&self, files: &[(&str, &str)]) {
        self.sandbox.commit(URL, "files", &tree(files));
    }

    /// The requests of the controllers' service accounts so far.
    pub(super) fn events(&self) -> Vec<Event> {
        assert_eq!(self.recorder.dropped(), 0);
        let account = format!("system:serviceaccount:{NAMESPACE}:");
        let events = self.recorder.events().into_iter();
        events.filter(|event| event.user.name.starts_with(&account)).collect()
    }

    /// The denied requests of the controllers' service accounts, each once.
    pub(super) fn refused(&self) -> std::collections::BTreeSet<String> {
        let refused = self.events().into_iter().filter(|event| event.is_allowed() == Some(false));
        let own = refused.filter(|event| event.impersonated_user.is_none());
        own.map(|event| format!("{} {} {}", event.user.name, event.verb, event.request_uri))
            .collect()
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|it| it == flag)
    }

    /// Creates an object of each kind, waits until all are ready, breaks and repairs one, and deletes them.
    pub(super) async fn drive(&self) {
        // In a namespace that is watched.
        let here = if self.has("--watch-all-namespaces=false") { NAMESPACE } else { "apps" };
        let place = |mut object: Value| {
            object["metadata"]["namespace"] = here.into();
            object
        };
        for (role, account) in [("admin", "tenant"), ("admin", "default")] {
            let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account},
                "imagePullSecrets": [{"name": "registry"}]});
            let name = account["metadata"]["name"].clone();
            self.apply(&place(account)).await;
            self.apply(&place(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": here}],
            }))).await;
        }
        let password =
            json!({"username": "u", "password": "p", "accesskey": "a", "secretkey": "s"});
        self.apply(&place(secret("git", &password, "Opaque"))).await;
        let login = json!({".dockerconfigjson": "{\"auths\":{\"r.test\":{\"username\":\"u\",\"password\":\"p\"}}}"});
        self.apply(&place(secret("registry", &login, "kubernetes.io/dockerconfigjson"))).await;
        self.apply(&place(secret(
            "sops",
            &json!({"one.agekey": golden("keys/one.agekey")}),
            "Opaque",
        )))
        .await;
        self.apply(&place(secret("more", &json!({"b": "2"}), "Opaque"))).await;
        self.apply(&place(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "values"}, "data": {"a": "1"}}))).await;

        let web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: web:1}]}\n";
        let encrypted = golden("sops-3.13.3/secret/encrypted.yaml");
        self.commit(&[
            ("plain/a.yaml", &config_map("plain")),
            ("tenant/a.yaml", &config_map("tenant")),
            ("tenant/web.yaml", web),
            ("secret/s.yaml", &encrypted),
            ("values/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: substituted}\ndata: {v: \"x${a}${b}\"}\n"),
            ("part/a.yaml", &config_map("composed")),
            ("broken/a.yaml", "apiVersion: v1\nkind: NoSuchKind\nmetadata: {name: x}\n"),
        ]);
        let layer = self.sandbox.registries.put_blob(
            "org/app",
            media::FLUX_CONTENT,
            packed(&[("a.yaml", &config_map("oci"))]),
        );
        let config = self.sandbox.registries.put_blob("org/app", media::FLUX_CONFIG, "{}");
        let manifest = Manifest { config, layers: vec![layer], ..Manifest::default() };
        self.sandbox.registries.put_manifest("org/app", Some("latest"), &manifest);
        self.sandbox
            .buckets
            .insert("things", MemoryBucket::of(&[("a.yaml", &config_map("bucket"))]));

        let source = |kind: &str, name: &str, spec: Value| {
            place(
                json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}),
            )
        };
        let mut repository = place(repository());
        repository["spec"]["secretRef"] = json!({"name": "git"});
        let oci = source(
            "OCIRepository",
            "app",
            json!({"interval": "1m", "url": "oci://r.test/org/app", "serviceAccountName": "tenant"}),
        );
        let bucket = source(
            "Bucket",
            "things",
            json!({"interval": "1m", "bucketName": "things", "endpoint": "s3.test", "secretRef": {"name": "git"}}),
        );
        let mut objects = vec![repository, oci, bucket];
        // Whatever is in a file goes where the Kustomization is.
        let built = |name: &str, path: &str, spec: Value| {
            let mut object = place(kustomization(name, path, spec));
            object["spec"]["targetNamespace"] = here.into();
            object
        };
        let from = |kind: &str, name: &str| json!({"sourceRef": {"kind": kind, "name": name}});
        let mut drifting =
            built("drifting", "./tenant", json!({"serviceAccountName": "tenant", "wait": true}));
        drifting["metadata"]["annotations"] = json!({"sluice.dev/drift": "repair"});
        objects.extend([
            built("plain", "./plain", json!({})),
            drifting,
            built(
                "secret",
                "./secret",
                json!({"decryption": {"provider": "sops", "secretRef": {"name": "sops"}}}),
            ),
            built(
                "values",
                "./values",
                json!({"postBuild": {"substituteFrom": [
                {"kind": "ConfigMap", "name": "values"}, {"kind": "Secret", "name": "more"}]},
                "dependsOn": [{"name": "plain"}]}),
            ),
            built("of-oci", "./", from("OCIRepository", "app")),
            built("of-bucket", "./", from("Bucket", "things")),
        ]);
        if self.has("--components-extra=source-watcher") {
            objects.push(place(json!({
                "apiVersion": "source.extensions.fluxcd.io/v1beta1", "kind": "ArtifactGenerator",
                "metadata": {"name": "split"},
                "spec": {
                    "sources": [{"alias": "repo", "kind": "GitRepository", "name": "platform"}],
                    "artifacts": [{"name": "part", "copy": [{"from": "@repo/part/**", "to": "@artifact/"}]}],
                },
            })));
            objects.push(built("composed", "./", from("ExternalArtifact", "part")));
        }
        for object in &objects {
            self.apply(object).await;
        }
        for object in &objects {
            self.until(object, |it| ready(it).starts_with("True")).await;
        }
        // A failure that comes again is an event that is counted.
        let broken = built("broken", "./broken", json!({"retryInterval": "10s"}));
        self.apply(&broken).await;
        self.until(&broken, |it| ready(it).starts_with("False")).await;
        tokio::time::sleep(Duration::from_mins(3)).await;
        objects.push(broken);
        // Leases are renewed, intervals come around.
        tokio::time::sleep(Duration::from_mins(6)).await;
        for object in objects.iter().rev() {
            self.delete(object).await;
        }
        for object in &objects {
            let mut is_gone = false;
            for _ in 0..600 {
                is_gone = self.get(object).await.is_none();
                if is_gone {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            assert!(is_gone, "{} is still there: {:#?}", path(object), self.refused());
        }
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        self.stop.cancel();
        for task in &self.running {
            task.abort();
        }
    }
}

/// What `sluice install` writes with these flags.
pub(super) fn manifests(flags: &[&str]) -> Vec<Value> {
    let line = ["sluice", "install", "--export"].iter().chain(flags);
    let Command::Install(wanted) = commands::Arguments::parse_from(line).command else {
        panic!("install is install");
    };
    let plan = install::plan(&wanted, NAMESPACE.to_owned()).map_err(|it| it.message().to_owned());
    install::manifests(&plan.unwrap())
}

/// The flags of a container, with its variables filled in as the kubelet does.
fn arguments(container: &Value) -> Arguments {
    let words = [&container["command"], &container["args"]];
    let words = words.into_iter().flat_map(|list| list.as_array().unwrap());
    let words = words.map(|word| word.as_str().unwrap().replace("$(RUNTIME_NAMESPACE)", NAMESPACE));
    match commands::Arguments::try_parse_from(words).unwrap().command {
        Command::Serve(arguments) => *arguments,
        other => panic!("the container runs {other:?}"),
    }
}

/// The path of an object in the API.
fn path(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let (version, kind) = (text("/apiVersion").unwrap(), text("/kind").unwrap().to_lowercase());
    let plural = match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    };
    let root = if version.contains('/') { "/apis/" } else { "/api/" };
    let place =
        text("/metadata/namespace").map_or_else(String::new, |it| format!("/namespaces/{it}"));
    format!("{root}{version}{place}/{plural}/{}", text("/metadata/name").unwrap())
}

/// Status, reason and message of Ready.
pub(super) fn ready(object: &Value) -> String {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|it| it["type"] == "Ready");
    let text = |field: &str| found.and_then(|it| it[field].as_str()).unwrap_or_default();
    if found.is_none() {
        return String::new();
    }
    format!("{} {}: {}", text("status"), text("reason"), text("message"))
}

pub(super) fn repository() -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "platform", "namespace": "apps"},
        "spec": {"interval": "1m", "url": URL, "ref": {"branch": "main"}},
    })
}

pub(super) fn kustomization(name: &str, path: &str, spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": name, "namespace": "apps"},
        "spec": {
            "interval": "5m", "prune": true, "path": path,
            "sourceRef": {"kind": "GitRepository", "name": "platform"},
        },
    });
    if let (Value::Object(into), Value::Object(more)) = (&mut object["spec"], spec) {
        into.extend(more);
    }
    object
}

fn secret(name: &str, data: &Value, kind: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": kind, "stringData": data})
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: b}}\n")
}

fn tree(files: &[(&str, &str)]) -> SourceTree {
    let mut tree = SourceTree::default();
    for (path, content) in files {
        tree.insert_file(path, content.as_bytes().to_vec()).unwrap();
    }
    tree
}

fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    pack_with(&tree(files), |_, _| false, Modes::PUSHED).unwrap().to_vec()
}

/// Keys and documents of the real sops.
fn golden(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../secrets/tests/goldens");
    std::fs::read_to_string(root.join(path)).unwrap()
}
