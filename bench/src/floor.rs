//! The floor: the dry runs and applies that N Kustomizations cannot do without, sent side by side by a bare client.
//!
//! No controller on this API server can be faster than this, so the distance to it is what the controllers themselves cost.

use std::path::{Path, PathBuf};
use std::time::Instant;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, TypeMeta};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::{Error, client};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How to reach the server.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// A directory for each Kustomization, with its objects as JSON documents.
    #[arg(long)]
    directory: PathBuf,
    /// How many of the directories.
    #[arg(long)]
    count: usize,
    /// How many Kustomizations are worked on at once.
    #[arg(long, default_value_t = 10)]
    at_once: usize,
}

/// Seconds and requests until everything is applied.
pub(crate) async fn run(arguments: &Arguments) -> Result<Value, Error> {
    let client = client(&arguments.kubeconfig).await?;
    let mut directories = std::fs::read_dir(&arguments.directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    directories.sort();
    directories.truncate(arguments.count);
    let sets = directories.iter().map(|it| objects(it)).collect::<Result<Vec<_>, _>>()?;
    let started = Instant::now();
    let sent = stream::iter(sets.iter().map(|set| reconcile(&client, set)))
        .buffer_unordered(arguments.at_once)
        .try_fold(0, |sum, sent| async move { Ok(sum + sent) })
        .await?;
    let seconds = (started.elapsed().as_secs_f64() * 100.0).round() / 100.0;
    Ok(json!({"seconds": seconds, "requests": sent}))
}

fn objects(directory: &Path) -> Result<Vec<DynamicObject>, Error> {
    let text = std::fs::read_to_string(directory.join("objects.yaml"))?;
    let documents = text.split("---\n").map(serde_json::from_str);
    Ok(documents.collect::<Result<_, _>>()?)
}

/// What one pass sends at least: a dry run of each object, then its apply.
async fn reconcile(client: &Client, objects: &[DynamicObject]) -> Result<usize, Error> {
    let params = PatchParams::apply("floor").force();
    for params in [params.clone().dry_run(), params] {
        for object in objects {
            let kind = object
                .types
                .clone()
                .unwrap_or_else(|| TypeMeta { api_version: String::new(), kind: String::new() });
            let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&kind)?);
            let namespace = object.namespace().unwrap_or_default();
            let api: Api<DynamicObject> =
                Api::namespaced_with(client.clone(), &namespace, &resource);
            api.patch(&object.name_any(), &params, &Patch::Apply(object)).await?;
        }
    }
    Ok(2 * objects.len())
}
