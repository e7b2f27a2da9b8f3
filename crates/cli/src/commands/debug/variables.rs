//! `sluice debug kustomization --show-vars`: the variables of post-build substitution.

use serde_json::Value;
use sluice_api::Kustomization;
use sluice_controllers::variables;

use crate::outcome::Failure;
use crate::session::Session;
use crate::tell;

/// Prints the variables as the controller reads them, one a line, by name.
pub(super) async fn show(session: &Session, object: &Value) -> Result<(), Failure> {
    let typed: Kustomization =
        serde_json::from_value(object.clone()).map_err(|error| Failure::flux(error.to_string()))?;
    let post_build = typed.spec.post_build.as_ref();
    let post_build =
        post_build.ok_or_else(|| Failure::flux("no post build substitutions found"))?;
    let read = variables::read(&session.client, &session.namespace, post_build).await;
    let variables = read.map_err(|error| Failure::flux(error.to_string()))?;
    let lines = variables
        .iter()
        .map(|(name, value)| format!("{name}={}\n", String::from_utf8_lossy(value)));
    tell::data(&lines.collect::<Vec<_>>().concat())
}
