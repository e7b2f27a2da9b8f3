//! A sandbox on loopback ports, with the definitions of Flux and the objects of a file in it.

use std::path::PathBuf;
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::pinned_kind;
use serde_json::{Value, json};
use sluice_base::duration::GoDuration;
use sluice_cluster::Cluster;
use sluice_sandbox::Sandbox;
use sluice_yaml::Duplicates;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::controller;

/// What is in a cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct What {
    /// The objects of this file, and the definitions of Flux.
    pub(crate) cluster: Option<String>,
    /// Something answers requests for reconciliation.
    pub(crate) controller: bool,
    /// `sluice install` was run on it; nodes run pods.
    pub(crate) installed: bool,
}

/// A cluster that serves as long as this lives.
pub(crate) struct World {
    home: TempDir,
    client: Client,
    runtime: Runtime,
}

impl World {
    pub(crate) fn start(what: &What) -> Self {
        let home = TempDir::new().expect("a directory for the kubeconfig");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let kubeconfig = home.path().join("kubeconfig");
        let client = runtime.block_on(async {
            let builder = Cluster::builder().seed(7).epoch(Timestamp::now()).speed(50.0);
            let mut sandbox = Sandbox::on(builder.workloads(what.installed).build());
            let client = sandbox.client();
            if let Some(name) = &what.cluster {
                fill(&client, name).await;
            }
            if what.controller {
                tokio::spawn(controller::run(client.clone()));
            }
            let ports = sandbox.listen().await.expect("free ports");
            std::fs::write(&kubeconfig, sluice_yaml::from_json(ports.kubeconfig()))
                .expect("the kubeconfig can be written");
            tokio::spawn(ports.run());
            client
        });
        let world = Self { home, client, runtime };
        if what.installed {
            let install = Command::new(env!("CARGO_BIN_EXE_sluice"))
                .arg("install")
                .env("KUBECONFIG", world.kubeconfig())
                .output()
                .expect("sluice starts");
            assert!(install.status.success(), "{}", String::from_utf8_lossy(&install.stderr));
        }
        world
    }

    /// Does something in the cluster.
    pub(crate) fn run<T>(&self, work: impl AsyncFnOnce(&Client) -> T) -> T {
        self.runtime.block_on(work(&self.client))
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.home.path().join("kubeconfig")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.home.path().to_owned()
    }
}

async fn fill(client: &Client, name: &str) {
    for definition in sluice_api::crds() {
        create(client, &definition).await;
    }
    let path = crate::directory("clusters").join(format!("{name}.yaml"));
    let text = std::fs::read_to_string(&path).expect("the cluster's objects can be read");
    let objects = sluice_yaml::documents_to_json(with_ages(&text).as_bytes(), Duplicates::Reject);
    for object in objects.expect("the cluster's objects are YAML").iter().filter(|o| o.is_object())
    {
        let mut object = object.clone();
        if object.pointer("/involvedObject/uid") == Some(&json!("?")) {
            object["involvedObject"]["uid"] = uid(client, &object["involvedObject"]).await;
        }
        create(client, &object).await;
    }
}

/// The uid of an object that an event is about.
async fn uid(client: &Client, about: &Value) -> Value {
    let text = |field: &str| about[field].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let kind = GroupVersionKind::gvk(group, version, text("kind"));
    let (resource, _) = pinned_kind(client, &kind).await.expect("its kind is served");
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), text("namespace"), &resource);
    json!(api.get(text("name")).await.expect("it was made before").metadata.uid)
}

/// `{{ago 26h}}` is that long ago, so that ages in tables do not depend on the day.
fn with_ages(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{ago ") {
        let (span, after) = after.split_once("}}").expect("an age ends");
        let span = GoDuration::parse(span).expect("an age is a duration").to_std();
        let span = SignedDuration::try_from(span).expect("ages are short");
        out.push_str(before);
        out.push_str(&sluice_base::time::format_seconds(Timestamp::now() - span));
        rest = after;
    }
    out + rest
}

/// Makes an object, and gives it the status that it is written with.
pub(crate) async fn create(client: &Client, object: &Value) {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
    let kind = GroupVersionKind::gvk(group, version, text("/kind"));
    let (resource, _) = loop {
        // A definition is served a moment after it was made.
        match pinned_kind(client, &kind).await {
            Ok(found) => break found,
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    };
    let api: Api<DynamicObject> = match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let made: DynamicObject = serde_json::from_value(object.clone()).expect("it is an object");
    api.create(&PostParams::default(), &made)
        .await
        .unwrap_or_else(|error| panic!("{} {}: {error}", text("/kind"), text("/metadata/name")));
    if let Some(status) = object.get("status") {
        let patch = Patch::Merge(json!({"status": status}));
        let patched =
            api.patch_status(text("/metadata/name"), &PatchParams::default(), &patch).await;
        patched.unwrap_or_else(|error| {
            panic!("{} {}: {error}", text("/kind"), text("/metadata/name"))
        });
    }
}
