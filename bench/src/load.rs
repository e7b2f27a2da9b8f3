//! Loads a Kubernetes API server with a bounded number of requests and says how fast it answered.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::{Error, client};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How to reach the server.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// The processes whose memory counts.
    #[arg(long = "pid")]
    pids: Vec<u32>,
    /// How many objects.
    #[arg(long, default_value_t = 10_000)]
    objects: usize,
    /// How many requests are under way at once.
    #[arg(long, default_value_t = 16)]
    at_once: usize,
}

/// Requests per second, the time of a list, and memory.
pub(crate) async fn run(arguments: &Arguments) -> Result<Value, Error> {
    let client = client(&arguments.kubeconfig).await?;
    let before = memory(&arguments.pids);
    let name = "bench";
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    let api: Api<ConfigMap> = Api::namespaced(client, name);
    let load = Load { api: &api, count: arguments.objects, at_once: arguments.at_once };
    let create = load.run(|api, index| async move { create(&api, index).await }).await?;
    let after = memory(&arguments.pids);
    let get = load.run(|api, index| async move { get(&api, index).await }).await?;
    let apply = load.run(|api, index| async move { apply(&api, index).await }).await?;
    let lists = 20;
    let listing = Load { count: lists, ..load };
    let list = listing.run(|api, _| async move { list(&api).await }).await?;
    namespaces.delete(name, &DeleteParams::default()).await?;
    Ok(json!({
        "objects": arguments.objects,
        "create per second": per_second(arguments.objects, create),
        "get per second": per_second(arguments.objects, get),
        "apply per second": per_second(arguments.objects, apply),
        "list of all, ms": list.as_millis() / lists as u128,
        "memory before, MB": before,
        "memory with objects, MB": after,
    }))
}

#[derive(Clone, Copy)]
struct Load<'a> {
    api: &'a Api<ConfigMap>,
    count: usize,
    at_once: usize,
}

impl Load<'_> {
    /// The time that all requests took together.
    async fn run<F, R>(&self, request: F) -> Result<Duration, Error>
    where
        F: Fn(Api<ConfigMap>, usize) -> R,
        R: Future<Output = Result<(), kube::Error>>,
    {
        let started = Instant::now();
        stream::iter((0..self.count).map(|index| request(self.api.clone(), index)))
            .buffer_unordered(self.at_once)
            .try_collect::<Vec<()>>()
            .await?;
        Ok(started.elapsed())
    }
}

fn name(index: usize) -> String {
    format!("object-{index:06}")
}

async fn create(api: &Api<ConfigMap>, index: usize) -> Result<(), kube::Error> {
    let object = json!({
        "metadata": {"name": name(index), "labels": {"app": "bench", "part": format!("{}", index % 10)}},
        "data": {"key": "v".repeat(200), "index": index.to_string()},
    });
    let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
    api.create(&PostParams::default(), &object).await.map(|_| ())
}

async fn get(api: &Api<ConfigMap>, index: usize) -> Result<(), kube::Error> {
    api.get(&name(index)).await.map(|_| ())
}

async fn apply(api: &Api<ConfigMap>, index: usize) -> Result<(), kube::Error> {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name(index)},
        "data": {"applied": "yes"},
    });
    api.patch(&name(index), &PatchParams::apply("bench"), &Patch::Apply(&object)).await.map(|_| ())
}

async fn list(api: &Api<ConfigMap>) -> Result<(), kube::Error> {
    api.list(&ListParams::default()).await.map(|_| ())
}

fn per_second(count: usize, time: Duration) -> u64 {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
    u64::try_from(count).unwrap_or_default() * 1000 / millis
}

/// The resident memory of processes in megabytes.
fn memory(pids: &[u32]) -> u64 {
    let kilobytes = |pid: &u32| -> Option<u64> {
        let status =
            std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"));
        let status = status.ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    pids.iter().filter_map(kilobytes).sum::<u64>() / 1024
}
