//! The variables of post-build substitution, as the controller reads them.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::discovery::ApiResource;
use serde_json::Value;
use sluice_api::Kustomization;
use sluice_api::kustomize::kustomization::PostBuild;
use sluice_api::shared::reference::ValuesReferenceKind;
use sluice_kustomize::flux::Variables;

use crate::outcome::Failure;
use crate::session::Session;
use crate::tell;

/// Reads them: references in their order, then what is written in line. Without a session only the latter.
pub(crate) async fn read(
    session: Option<&Session>,
    namespace: &str,
    post_build: &PostBuild,
) -> Result<Variables, Failure> {
    let mut variables = Variables::default();
    let references = post_build.substitute_from.iter().flatten();
    for from in references.filter(|_| session.is_some()) {
        let Some(session) = session else { continue };
        let is_map = from.kind == ValuesReferenceKind::ConfigMap;
        let (word, resource) = if is_map {
            ("ConfigMap", ApiResource::erase::<ConfigMap>(&()))
        } else {
            ("Secret", ApiResource::erase::<Secret>(&()))
        };
        let failed = |why: String| {
            Failure::flux(format!("substitute from '{word}/{}' error: {why}", from.name))
        };
        match session.get_resource(&resource, Some(namespace), &from.name).await {
            Ok(object) if is_map => variables.add_config_map(&object),
            Ok(object) => {
                variables.add_secret(&object).map_err(|failure| failed(failure.to_string()))?;
            }
            Err(error) if error.is_not_found() && from.optional.unwrap_or_default() => {}
            Err(error) => return Err(failed(error.to_string())),
        }
    }
    for (name, value) in post_build.substitute.iter().flatten() {
        variables.insert(name.clone(), value);
    }
    Ok(variables)
}

/// Prints them, one a line, by name.
pub(super) async fn show(session: &Session, object: &Value) -> Result<(), Failure> {
    let typed: Kustomization =
        serde_json::from_value(object.clone()).map_err(|error| Failure::flux(error.to_string()))?;
    let post_build = typed.spec.post_build.as_ref();
    let post_build =
        post_build.ok_or_else(|| Failure::flux("no post build substitutions found"))?;
    let variables = read(Some(session), &session.namespace, post_build).await?;
    let lines = variables
        .iter()
        .map(|(name, value)| format!("{name}={}\n", String::from_utf8_lossy(value)));
    tell::data(&lines.collect::<Vec<_>>().concat())
}
