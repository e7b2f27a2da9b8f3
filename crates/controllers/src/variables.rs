//! The variables of post-build substitution, from ConfigMaps, Secrets and the spec.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use sluice_api::kustomize::kustomization::PostBuild;
use sluice_api::shared::reference::ValuesReferenceKind;
use sluice_kustomize::flux::Variables;
use sluice_ssa::{ApiError, ErrorClass};

/// Why the variables could not be read; the message names the object.
#[derive(Debug, thiserror::Error)]
pub enum VariablesError {
    /// An object that is needed is not there, or may not be read.
    #[error("substitute from '{kind}/{name}' error: {reason}")]
    Source {
        /// ConfigMap or Secret.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What the API server said.
        reason: ApiError,
    },
}

impl VariablesError {
    /// The class of the error: most often something is not there yet.
    pub fn class(&self) -> ErrorClass {
        let Self::Source { reason, .. } = self;
        reason.class()
    }
}

/// Reads the variables: references in their order, later ones win, inline ones win over all.
pub async fn read(
    client: &kube::Client,
    namespace: &str,
    post_build: &PostBuild,
) -> Result<Variables, VariablesError> {
    let mut variables = Variables::default();
    for from in post_build.substitute_from.iter().flatten() {
        let optional = from.optional.unwrap_or(false);
        let (kind, found) = if from.kind == ValuesReferenceKind::ConfigMap {
            let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
            let found = api.get(&from.name).await.map(|object| {
                for (name, value) in object.data.unwrap_or_default() {
                    variables.insert(name, value);
                }
            });
            ("ConfigMap", found)
        } else {
            let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
            let found = api.get(&from.name).await.map(|object| {
                for (name, value) in object.data.unwrap_or_default() {
                    variables.insert(name, &value.0);
                }
            });
            ("Secret", found)
        };
        match found {
            Ok(()) => {}
            Err(kube::Error::Api(status)) if status.code == 404 && optional => {}
            Err(error) => {
                let (name, reason) = (from.name.clone(), ApiError::from(error));
                return Err(VariablesError::Source { kind, name, reason });
            }
        }
    }
    add_inline(&mut variables, post_build);
    Ok(variables)
}

/// The variables of the spec alone, where no cluster is asked.
pub fn inline(post_build: &PostBuild) -> Variables {
    let mut variables = Variables::default();
    add_inline(&mut variables, post_build);
    variables
}

fn add_inline(variables: &mut Variables, post_build: &PostBuild) {
    for (name, value) in post_build.substitute.iter().flatten() {
        variables.insert(name.clone(), value);
    }
}
