//! Migrates API versions in a cluster's storage: writes every object once, in the current storage version.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::discovery::ApiResource;
use serde_json::json;

use crate::commands::version::PART_OF_FLUX;
use crate::kinds::text_at;
use crate::outcome::Failure;
use crate::session::Session;
use crate::tell;

/// Migrates all kinds of Flux that the cluster has.
pub(super) async fn run(session: &Session) -> Result<(), Failure> {
    tell::action("starting migration of custom resources");
    let definitions: Api<CustomResourceDefinition> = Api::all(session.client.clone());
    let listed = definitions.list(&ListParams::default().labels(PART_OF_FLUX)).await;
    let listed = listed.map_err(|error| Failure::flux(format!("failed to list CRDs: {error}")))?;
    for definition in listed {
        migrate(session, &definitions, &definition).await?;
    }
    tell::success("custom resources migrated successfully");
    Ok(())
}

async fn migrate(
    session: &Session,
    definitions: &Api<CustomResourceDefinition>,
    definition: &CustomResourceDefinition,
) -> Result<(), Failure> {
    let name = definition.metadata.name.clone().unwrap_or_default();
    let spec = &definition.spec;
    let stored = spec.versions.iter().find(|version| version.storage);
    let version = stored
        .map(|version| version.name.clone())
        .ok_or_else(|| Failure::flux(format!("no storage version found for CRD {name}")))?;
    let resource = ApiResource {
        group: spec.group.clone(),
        version: version.clone(),
        api_version: format!("{}/{version}", spec.group),
        kind: spec.names.kind.clone(),
        plural: spec.names.plural.clone(),
    };
    let failed =
        |why: String| Failure::flux(format!("failed to migrate resources for CRD {name}: {why}"));
    let objects = session.list_resource(&resource, None, &ListParams::default()).await;
    for object in objects.map_err(|error| failed(error.to_string()))? {
        let text = |path| text_at(&object, path);
        let (namespace, own) = (text("/metadata/namespace"), text("/metadata/name"));
        let shown = format!("{}/{namespace}/{own}", resource.kind);
        let api = session.api(&resource, Some(namespace));
        match api.patch(own, &PatchParams::default(), &Patch::Merge(json!({}))).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(failed(format!(" {shown} failed to migrate: {error}"))),
        }
        tell::success(&format!("{shown} migrated to version {version}"));
    }
    let before = definition.status.as_ref().and_then(|status| status.stored_versions.clone());
    if before.is_some_and(|before| before != [version.clone()]) {
        let patch = Patch::Merge(json!({"status": {"storedVersions": [version]}}));
        let written = definitions.patch_status(&name, &PatchParams::default(), &patch).await;
        written.map_err(|error| {
            Failure::flux(format!("failed to update CRD {name} status: {error}"))
        })?;
        tell::success(&format!("{name} migrated to storage version {version}"));
    }
    Ok(())
}
