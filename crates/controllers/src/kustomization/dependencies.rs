//! Whether what a Kustomization depends on is ready.

use std::collections::BTreeMap;

use kube::api::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::conditions::READY;
use sluice_api::names::sluice::DEPENDS_ON;
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::ConditionStatus;
use sluice_expr::Type;
use sluice_expr::flux::Expression;
use sluice_kstatus::{Status, assess};
use sluice_runtime::key::Key;
use sluice_runtime::store::Store;
use sluice_source::artifact::Revision;

use super::references;
use crate::context::Context;
use crate::dependency::Dependency;

/// Why a Kustomization has to wait.
#[derive(Debug)]
pub(super) enum NotReady {
    /// An expression that is wrong: no waiting mends it.
    Expression(String),
    /// An object that is not ready yet; in Flux's words.
    Object(String),
}

/// Checks all dependencies, those of the spec as Flux does, then those of any kind.
pub(super) async fn check(
    context: &Context,
    store: &Store<Kustomization>,
    object: &Kustomization,
    artifact: &Artifact,
) -> Result<(), NotReady> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    for wanted in object.spec.depends_on.iter().flatten() {
        let namespace = wanted.namespace.clone().unwrap_or_else(|| namespace.clone());
        let key = Key::new(namespace, wanted.name.clone());
        let Some(dependency) = store.get(&key) else {
            return Err(NotReady::Object(format!(
                "dependency '{key}' not found: kustomizations.kustomize.toolkit.fluxcd.io \"{}\" not found",
                key.name
            )));
        };
        if let Some(text) = wanted.ready_expr.as_deref().filter(|text| !text.is_empty()) {
            let ready = evaluate(&key.name, text, object, &*dependency)?;
            if !ready {
                return Err(NotReady::Object(format!(
                    "dependency '{key}' is not ready according to readyExpr eval"
                )));
            }
            if !context.settings.additive_cel_dependency_check {
                continue;
            }
        }
        if !is_ready(&dependency) {
            return Err(NotReady::Object(format!("dependency '{key}' is not ready")));
        }
        let applied = dependency.status.as_ref().and_then(|it| it.last_applied_revision.clone());
        if references::source(&dependency) == references::source(object)
            && !Revision::new(applied.unwrap_or_default())
                .is_same(&Revision::new(artifact.revision.clone()))
        {
            return Err(NotReady::Object(format!("dependency '{key}' revision is not up to date")));
        }
    }
    let annotations = object.metadata.annotations.as_ref();
    if let Some(text) = annotations.and_then(|annotations| annotations.get(DEPENDS_ON)) {
        let dependencies = Dependency::parse_all(text, &namespace)
            .map_err(|error| NotReady::Expression(error.to_string()))?;
        for dependency in dependencies {
            check_any(context, object, &dependency).await?;
        }
    }
    Ok(())
}

fn is_ready(dependency: &Kustomization) -> bool {
    let Some(status) = &dependency.status else { return false };
    let mut conditions = status.conditions.iter().flatten();
    status.observed_generation == dependency.metadata.generation
        && conditions.any(|it| it.r#type == READY && it.status == ConditionStatus::True)
}

/// What an expression says about a dependency. One that cannot be read stays so; one that fails on what is
/// there now may succeed later.
fn evaluate(
    name: &str,
    text: &str,
    own: &Kustomization,
    dependency: &impl serde::Serialize,
) -> Result<bool, NotReady> {
    let expression =
        Expression::compile(text, &["self", "dep"], Some(&Type::Bool)).map_err(|error| {
            NotReady::Expression(format!("failed to evaluate dependency {name}: {error}"))
        })?;
    let failed = |error: String| NotReady::Object(error);
    let own = serde_json::to_value(own).map_err(|error| failed(error.to_string()))?;
    let dependency = serde_json::to_value(dependency).map_err(|error| failed(error.to_string()))?;
    let variables: BTreeMap<&str, &Value> = BTreeMap::from([("self", &own), ("dep", &dependency)]);
    expression.is_true_with(&variables).map_err(|error| failed(error.to_string()))
}

/// A dependency of any kind: its expression decides, or else its status.
async fn check_any(
    context: &Context,
    object: &Kustomization,
    wanted: &Dependency,
) -> Result<(), NotReady> {
    let name = format!("{}/{}", wanted.kind, wanted.key);
    let waits = |why: &str| NotReady::Object(format!("dependency '{name}' {why}"));
    let (group, version) = wanted.api_version.split_once('/').unwrap_or(("", &wanted.api_version));
    let kind = GroupVersionKind::gvk(group, version, &wanted.kind);
    let key = sluice_ssa::ObjectKey::of(&serde_json::json!({
        "apiVersion": wanted.api_version,
        "kind": wanted.kind,
        "metadata": {"name": wanted.key.name, "namespace": wanted.key.namespace},
    }));
    let resource = context
        .discovery
        .resolve(&context.client, &key)
        .await
        .map_err(|error| waits(&format!("cannot be looked at: {error}")))?;
    let plural = ApiResource::from_gvk_with_plural(&kind, &resource.plural);
    let api: Api<DynamicObject> = if resource.namespaced {
        Api::namespaced_with(context.client.clone(), &wanted.key.namespace, &plural)
    } else {
        Api::all_with(context.client.clone(), &plural)
    };
    let found = api.get_opt(&wanted.key.name).await;
    let found = found.map_err(|error| waits(&format!("cannot be looked at: {error}")))?;
    let Some(found) = found else { return Err(waits("not found")) };
    if let Some(text) = &wanted.ready_expr {
        let ready = evaluate(&name, text, object, &found)?;
        return if ready { Ok(()) } else { Err(waits("is not ready according to readyExpr eval")) };
    }
    let value = serde_json::to_value(&found).unwrap_or(Value::Null);
    match assess(&value, context.clock.now()) {
        Ok(assessment) if assessment.status == Status::Current => Ok(()),
        _ => Err(waits("is not ready")),
    }
}
