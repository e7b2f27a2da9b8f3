//! What a Helm release has made, read from Helm's own storage.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::discovery::ApiResource;
use serde_json::Value;
use sluice_ssa::{ObjectId, ObjectKey};
use sluice_yaml::Duplicates;

use crate::kinds::{self, text_at};
use crate::outcome::Failure;
use crate::session::{Session, namespaced};

/// The maximum size of an unpacked manifest; Helm's secrets hold a packed megabyte.
const MOST: u64 = 256 << 20;

/// The objects of a HelmRelease; none if it has no storage object here.
pub(super) async fn inventory(session: &Session, id: &ObjectId) -> Result<Vec<ObjectId>, Failure> {
    let Some(kind) = kinds::named("HelmRelease") else { return Ok(Vec::new()) };
    let release = session.get(kind, &id.namespace, &id.name).await?;
    let storage = text_at(&release, "/status/storageNamespace");
    let Some(latest) = latest(&release) else { return Ok(Vec::new()) };
    if release.pointer("/spec/kubeConfig").is_some() || storage.is_empty() {
        return Ok(Vec::new());
    }
    let version = latest.get("version").and_then(Value::as_i64).unwrap_or_default();
    let name = format!("sh.helm.release.v1.{}.v{version}", text_at(latest, "/name"));
    let secrets = ApiResource::erase::<Secret>(&());
    let whose = format!("HelmRelease '{}/{}'", id.namespace, id.name);
    let secret = match session.get_resource(&secrets, Some(storage), &name).await {
        Ok(secret) => secret,
        Err(failure) if failure.is_not_found() => return Ok(Vec::new()),
        Err(failure) => {
            return Err(Failure::flux(format!(
                "failed to find the Helm storage object for {whose}: {failure}"
            )));
        }
    };
    let undecoded =
        || Failure::flux(format!("failed to decode the Helm storage object for {whose}"));
    let manifest = manifest(text_at(&secret, "/data/release")).ok_or_else(undecoded)?;
    let objects = sluice_yaml::documents_to_json(manifest.as_bytes(), Duplicates::LastWins)
        .map_err(|error| {
            Failure::flux(format!("failed to read the Helm storage object for {whose}: {error}"))
        })?;
    let mut made = Vec::new();
    for object in objects.iter().filter(|object| object.is_object()) {
        let key = ObjectKey::of(object);
        let mut id = key.id.clone();
        if id.namespace.is_empty() && namespaced(session, &key.api_version(), &id.kind).await {
            text_at(latest, "/namespace").clone_into(&mut id.namespace);
        }
        made.push(id);
    }
    made.extend(definitions(session, &release, &made).await);
    Ok(made)
}

/// The snapshot with the highest version.
fn latest(release: &Value) -> Option<&Value> {
    let history = release.pointer("/status/history")?.as_array()?;
    history.iter().max_by_key(|one| one.get("version").and_then(Value::as_i64))
}

/// Base64 for the API, base64 of Helm, perhaps gzip, JSON.
fn manifest(data: &str) -> Option<String> {
    let text = STANDARD.decode(data).ok()?;
    let mut stored = STANDARD.decode(text).ok()?;
    if stored.starts_with(&[0x1f, 0x8b, 0x08]) {
        let mut unpacked = Vec::new();
        let reader = flate2::read::GzDecoder::new(stored.as_slice());
        reader.take(MOST).read_to_end(&mut unpacked).ok()?;
        stored = unpacked;
    }
    let release: Value = serde_json::from_slice(&stored).ok()?;
    Some(text_at(&release, "/manifest").to_owned())
}

/// The CRDs of the chart; Helm does not store them, but they have labels.
async fn definitions(session: &Session, release: &Value, made: &[ObjectId]) -> Vec<ObjectId> {
    let policies = [text_at(release, "/spec/install/crds"), text_at(release, "/spec/upgrade/crds")];
    if policies.iter().all(|policy| policy.is_empty() || *policy == "Skip") {
        return Vec::new();
    }
    let labels = format!(
        "helm.toolkit.fluxcd.io/name={},helm.toolkit.fluxcd.io/namespace={}",
        text_at(release, "/metadata/name"),
        text_at(release, "/metadata/namespace")
    );
    let resource = ApiResource::erase::<CustomResourceDefinition>(&());
    let listed =
        session.list_resource(&resource, None, &ListParams::default().labels(&labels)).await;
    let all = listed.unwrap_or_default().into_iter().map(|one| ObjectId {
        namespace: String::new(),
        name: text_at(&one, "/metadata/name").to_owned(),
        group: "apiextensions.k8s.io".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
    });
    all.filter(|one| !made.iter().any(|other| other.name == one.name && other.kind == one.kind))
        .collect()
}
