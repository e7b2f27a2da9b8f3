//! A cluster to apply to, with a log of requests.

use std::sync::{Arc, Mutex};

use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use sluice_base::clock::Frozen;
use sluice_cluster::Cluster;
use sluice_ssa::{
    Applier, ApplyError, ApplyOptions, ChangeSet, Desired, Discovery, HealthChecks, Owner,
    normalise, set_metadata,
};
use tower::ServiceExt as _;

/// A cluster and an applier for it.
pub(crate) struct Ground {
    pub(crate) cluster: Cluster,
    pub(crate) applier: Applier,
    /// Everybody else.
    others: Client,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Ground {
    /// A cluster in which only namespaces and definitions are looked after.
    pub(crate) fn still() -> Self {
        Self::on(Cluster::builder().seed(1).rollouts(false).workloads(false).build())
    }

    /// A cluster in which everything runs.
    pub(crate) fn running() -> Self {
        Self::on(Cluster::builder().seed(1).build())
    }

    /// The same cluster for another owner.
    pub(crate) fn impersonating(self, name: &str) -> Self {
        let name = http::HeaderValue::from_str(name).unwrap();
        Self::with(self.cluster, Some(name), Arc::default())
    }

    /// The same cluster, which turns away so many requests before it takes one.
    pub(crate) fn busy(self, times: usize) -> Self {
        Self::with(self.cluster, None, Arc::new(Mutex::new(times)))
    }

    fn on(cluster: Cluster) -> Self {
        Self::with(cluster, None, Arc::default())
    }

    fn with(
        cluster: Cluster,
        user: Option<http::HeaderValue>,
        refusals: Arc<Mutex<usize>>,
    ) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = requests.clone();
        let inner = cluster.service();
        let service = tower::service_fn(move |mut request: http::Request<Body>| {
            log.lock().unwrap().push(format!("{} {}", request.method(), request.uri()));
            if let Some(user) = &user {
                request.headers_mut().insert("impersonate-user", user.clone());
            }
            let mut left = refusals.lock().unwrap();
            let refused = *left > 0;
            *left = left.saturating_sub(1);
            let inner = inner.clone();
            async move {
                if refused {
                    let text = "Too many requests, please try again later.".to_owned();
                    let body = text.map_err(tower::BoxError::from).boxed_unsync();
                    return Ok(http::Response::builder().status(429).body(body).unwrap());
                }
                let answer = inner.oneshot(request).await;
                answer.map(|answer| {
                    answer.map(|body| body.map_err(tower::BoxError::from).boxed_unsync())
                })
            }
        });
        let client = Client::new(service, "default");
        let clock = Arc::new(Frozen(Timestamp::constant(1_790_000_000, 0)));
        let applier = Applier::new(client, Discovery::new(), Owner::kustomize(), clock);
        let others = Client::new(cluster.service(), "default");
        Self { cluster, applier, others, requests }
    }

    /// A real cluster; the embedded one stands idle.
    pub(crate) async fn real(kubeconfig: &str) -> Self {
        let config = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
        let choice = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(config, &choice).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let clock = Arc::new(Frozen(Timestamp::constant(1_790_000_000, 0)));
        let owner = Owner::kustomize();
        let applier = Applier::new(client.clone(), Discovery::new(), owner, clock);
        Self { applier, others: client, ..Self::still() }
    }

    pub(crate) fn with_health_checks(mut self, checks: HealthChecks) -> Self {
        self.applier = self.applier.with_health_checks(checks);
        self
    }

    /// What was asked since the last time, without reading.
    pub(crate) fn writes(&self) -> Vec<String> {
        let requests = std::mem::take(&mut *self.requests.lock().unwrap());
        requests
            .into_iter()
            .filter(|request| !request.starts_with("GET") && !request.contains("dryRun=All"))
            .collect()
    }

    /// How many requests were made since the last time.
    pub(crate) fn asked(&self) -> usize {
        std::mem::take(&mut *self.requests.lock().unwrap()).len()
    }

    /// A request of another client.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Value {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(body.to_string().into_bytes())
            .unwrap();
        self.others.request(request).await.unwrap()
    }

    /// The status code of another client's request.
    pub(crate) async fn code(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> u16 {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(Body::from(body.to_string().into_bytes()))
            .unwrap();
        self.others.send(request).await.unwrap().status().as_u16()
    }

    pub(crate) async fn get(&self, path: &str) -> Option<Value> {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        match self.others.request(request).await {
            Ok(object) => Some(object),
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn apply(&self, objects: Vec<Value>) -> Result<ChangeSet, ApplyError> {
        self.applier.apply(owned(objects), &options()).await
    }
}

/// Flux's options.
pub(crate) fn options() -> ApplyOptions {
    ApplyOptions::kustomize(&Owner::kustomize(), &[])
}

/// Objects as the Kustomization `apps` in `flux-system` applies them.
pub(crate) fn owned(objects: Vec<Value>) -> Vec<Desired> {
    let labels = Owner::kustomize().labels("apps", "flux-system");
    objects
        .into_iter()
        .map(|mut object| {
            set_metadata(&mut object, &labels, &std::collections::BTreeMap::new());
            normalise(&mut object);
            Desired::from(object)
        })
        .collect()
}

pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"}, "data": {"key": value},
    })
}

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub(crate) fn deployment(name: &str, replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "web", "image": "web:1", "ports": [{"containerPort": 80}],
                }]},
            },
        },
    })
}

pub(crate) fn widget_definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    })
}

pub(crate) fn widget(name: &str, size: i64) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"}, "spec": {"size": size},
    })
}
