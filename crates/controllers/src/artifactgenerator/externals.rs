//! What is made: artifacts in the store, and the ExternalArtifacts that tell of them.

use std::collections::BTreeSet;

use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::json;
use sluice_api::crd::CustomResource as _;
use sluice_api::extensions::artifactgenerator::{ArtifactGenerator, ExternalArtifactReference};
use sluice_api::names::conditions::READY;
use sluice_api::names::labels;
use sluice_api::names::reasons::SUCCEEDED;
use sluice_api::shared::artifact::Artifact;
use sluice_api::source::externalartifact::ExternalArtifact;
use sluice_base::names::dns1123_subdomain;
use sluice_base::time::Time;
use sluice_runtime::error::ApiError;
use sluice_source::archive;
use sluice_source::artifact::{ArtifactPath, Revision};
use sluice_source::compose::{ComposeError, Sources, compose, content_hash};
use sluice_source::ignore::Rules;
use tracing::{error, info};

use super::outputs::Output;
use super::{ArtifactGenerators, MANAGER, Pass};

const KIND: &str = "ExternalArtifact";

impl ArtifactGenerators {
    /// Copies, packs and stores one artifact.
    pub(super) async fn build(
        &self,
        pass: &Pass<'_>,
        output: &Output,
        sources: &Sources,
    ) -> Result<Artifact, String> {
        let (steps, name, sources) =
            (output.steps(), output.artifact.name.clone(), sources.clone());
        let made = self.context.compute.run(move || {
            let files = compose(&steps, &sources)?;
            let hash = content_hash(&files, &name)?;
            let rules = Rules::with_defaults(Vec::new());
            let packed =
                archive::pack(&files, |path, is_directory| rules.excludes(path, is_directory));
            Ok::<_, ComposeError>((hash, packed))
        });
        let (hash, packed) = made.await.map_err(|error| error.to_string())?;
        let failed = |error: &dyn std::fmt::Display| format!("failed to create artifact: {error}");
        let packed = packed.map_err(|error| failed(&error))?;
        let file = format!("{hash}.tar.gz");
        let place = ArtifactPath::new(KIND, &pass.key.namespace, &output.artifact.name, &file)
            .map_err(|error| failed(&error))?;
        let kept = self.backends.artifacts.put(&place, packed).await;
        let kept = kept.map_err(|error| failed(&error))?;
        let revision = Revision::new(format!("latest@{}", kept.digest));
        let now = Time(self.context.clock.now());
        let advertised = &self.backends.advertised;
        Ok(place.artifact(advertised, &revision, &kept.digest, kept.size, now))
    }

    /// Tells of an artifact in an ExternalArtifact of its name.
    pub(super) async fn publish(
        &self,
        pass: &Pass<'_>,
        output: &Output,
        artifact: &Artifact,
    ) -> Result<ExternalArtifactReference, String> {
        let (namespace, name) = (&pass.key.namespace, &output.artifact.name);
        let common = pass.object.spec.common_metadata.clone().unwrap_or_default();
        let mut labels = common.labels.unwrap_or_default();
        labels.extend(output.labels.clone());
        labels.insert("app.kubernetes.io/managed-by".to_owned(), MANAGER.to_owned());
        let uid = pass.object.metadata.uid.clone().unwrap_or_default();
        labels.insert(labels::GENERATOR.to_owned(), uid);
        let mut metadata = json!({"name": name, "namespace": namespace, "labels": labels});
        if let Some(annotations) = common.annotations.filter(|it| !it.is_empty()) {
            metadata["annotations"] = json!(annotations);
        }
        let api_version = ExternalArtifact::DEFINITION.api_version();
        let object = json!({
            "apiVersion": api_version,
            "kind": KIND,
            "metadata": metadata,
            "spec": {"sourceRef": {
                "apiVersion": ArtifactGenerator::DEFINITION.api_version(),
                "kind": ArtifactGenerator::DEFINITION.kind,
                "name": pass.key.name,
                "namespace": namespace,
            }},
        });
        let api = self.externals(namespace);
        let parameters = PatchParams::apply(MANAGER).force();
        let applied = api.patch(name, &parameters, &Patch::Apply(&object)).await;
        let applied = applied
            .map_err(|error| format!("failed to apply ExternalArtifact: {}", words(error)))?;
        let condition = json!({
            "type": READY, "status": "True", "reason": SUCCEEDED, "message": "Artifact is ready",
            "observedGeneration": applied.metadata.generation.unwrap_or_default(),
            "lastTransitionTime": artifact.last_update_time,
        });
        let status = json!({
            "apiVersion": api_version,
            "kind": KIND,
            "metadata": {"name": name, "namespace": namespace},
            "status": {"artifact": artifact, "conditions": [condition]},
        });
        let told = api.patch_status(name, &parameters, &Patch::Apply(&status)).await;
        told.map_err(|error| {
            format!("failed to patchStatus ExternalArtifact status: {}", words(error))
        })?;
        let file = artifact.path.rsplit('/').next().unwrap_or_default();
        Ok(ExternalArtifactReference {
            digest: artifact.digest.clone(),
            filename: file.to_owned(),
            name: name.clone(),
            namespace: namespace.clone(),
            ..ExternalArtifactReference::default()
        })
    }

    /// The names of everything that a generator made, as the cluster says it.
    pub(super) async fn all_own(&self, pass: &Pass<'_>) -> Result<Vec<String>, ApiError> {
        let Some(uid) = &pass.object.metadata.uid else { return Ok(Vec::new()) };
        let only = ListParams::default().labels(&format!("{}={uid}", labels::GENERATOR));
        match self.externals(&pass.key.namespace).list(&only).await {
            Ok(listed) => Ok(listed.iter().map(ResourceExt::name_any).collect()),
            // The kind is not installed.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            Err(error) => {
                let of = ArtifactGenerator::DEFINITION.kind;
                Err(ApiError::new("list the ExternalArtifacts of", of, &pass.key, error))
            }
        }
    }

    /// Deletes ExternalArtifacts of the generator's namespace, and their artifacts from the store. The names come
    /// from a status: what does not bear the generator's label, or is another object by now, is left alone.
    pub(super) async fn discard(&self, pass: &Pass<'_>, names: &BTreeSet<String>) {
        for name in names {
            // What is no name of an object would be another path of the API.
            if !dns1123_subdomain(name).is_empty() {
                continue;
            }
            match self.discard_object(pass, name).await {
                Ok(true) => {}
                Ok(false) => {
                    info!(object = %pass.key, "{KIND}/{}/{name} is not of this generator", pass.key.namespace);
                    continue;
                }
                Err(error) => {
                    error!(object = %pass.key, %error, "ExternalArtifact not deleted");
                    continue;
                }
            }
            if let Ok(place) = ArtifactPath::new(KIND, &pass.key.namespace, name, "artifact")
                && let Err(error) = self.backends.artifacts.remove(&place).await
            {
                error!(object = %pass.key, %error, "artifact not deleted from storage");
            }
        }
    }

    /// Deletes an ExternalArtifact if it is the generator's; says whether its files are nobody else's.
    async fn discard_object(&self, pass: &Pass<'_>, name: &str) -> Result<bool, kube::Error> {
        let namespace = &pass.key.namespace;
        let api = self.externals(namespace);
        let Some(found) = api.get_opt(name).await? else { return Ok(true) };
        let uid = pass.object.metadata.uid.as_ref();
        if uid.is_none() || found.labels().get(labels::GENERATOR) != uid {
            return Ok(false);
        }
        let only = Preconditions { uid: found.metadata.uid.clone(), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(only), ..DeleteParams::default() };
        match api.delete(name, &parameters).await {
            Ok(_) => {
                info!(object = %pass.key, "{KIND}/{namespace}/{name} deleted from cluster");
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
            // Another one took its name since.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes old artifacts out of the store.
    pub(super) async fn collect(&self, made: &[ExternalArtifactReference]) {
        for it in made {
            let Ok(place) = ArtifactPath::new(KIND, &it.namespace, &it.name, &it.filename) else {
                continue;
            };
            if let Err(error) =
                self.backends.artifacts.collect(&place, self.backends.retention).await
            {
                error!(%error, path = place.path(), "old artifacts not collected");
            }
        }
    }

    fn externals(&self, namespace: &str) -> Api<ExternalArtifact> {
        Api::namespaced(self.context.client.clone(), namespace)
    }
}

fn words(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
