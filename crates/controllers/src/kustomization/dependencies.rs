//! Whether what a Kustomization depends on is ready.

use std::collections::{BTreeMap, VecDeque};
use std::sync::PoisonError;

use kube::api::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;
use sluice_api::kustomize::GROUP;
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
use sluice_runtime::watches::{Topic, Wanted};
use sluice_source::artifact::Revision;
use tracing::warn;

use super::drifting::served;
use super::{Kustomizations, references};
use crate::context::Context;
use crate::dependency::Dependency;

/// Why a Kustomization has to wait.
#[derive(Debug)]
pub(super) enum NotReady {
    /// An expression that is wrong: no waiting mends it.
    Expression(String),
    /// An object that the operator's flags keep out of reach.
    Denied(String),
    /// An object that is not ready yet; in Flux's words.
    Object(String),
}

/// Who wants watches for what it depends on.
pub(super) fn watcher(key: &Key) -> String {
    format!("depends-on {key}")
}

impl Kustomizations {
    /// Checks all dependencies, those of the spec as Flux does, then those of any kind.
    pub(super) async fn dependencies(
        &self,
        object: &Kustomization,
        artifact: &Artifact,
    ) -> Result<(), NotReady> {
        let named = |why: NotReady| match (why, cycle(&self.core.store, object)) {
            (NotReady::Object(why), Some(cycle)) => NotReady::Object(format!("{why}: {cycle}")),
            (why, _) => why,
        };
        required(&self.context, &self.core.store, object, artifact).map_err(named)?;
        let wanted = by_annotation(object).map_err(NotReady::Expression)?;
        for dependency in &wanted {
            reachable(&self.context, object, &dependency.kind, &dependency.key)?;
        }
        let key = Key::of(&object.metadata);
        let waiting = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted.is_empty() {
            self.watches.want(&watcher(&key), Vec::new());
            return Ok(());
        }
        // Whatever becomes of them from here on asks for another pass.
        waiting().insert(key.clone());
        self.watch_dependencies(&key, &wanted).await;
        // An expression tells much about an object; so it is looked at by whoever applies.
        let client = self.local_client(object).map_err(NotReady::Object)?;
        for dependency in &wanted {
            check_any(&self.context, &client, object, dependency).await.map_err(named)?;
        }
        waiting().remove(&key);
        Ok(())
    }

    /// Watches the kinds that somebody depends on; what is told of them wakes those that wait.
    async fn watch_dependencies(&self, key: &Key, wanted: &[Dependency]) {
        let mut watches = Vec::new();
        for dependency in wanted {
            let object = dependency.object();
            // These are watched in any case.
            let is_watched = match object.id.group.as_str() {
                "" => matches!(object.id.kind.as_str(), "ConfigMap" | "Secret"),
                group => group == GROUP && object.id.kind == "Kustomization",
            };
            if is_watched {
                continue;
            }
            let (client, discovery) = (&self.context.client, &self.context.discovery);
            if let Some(resource) = served(discovery, client, &object).await {
                let topic = Topic {
                    cluster: String::new(),
                    group: object.id.group,
                    kind: object.id.kind,
                    labels: String::new(),
                };
                watches.push(Wanted { topic, resource, client: client.clone() });
            }
        }
        for refused in self.watches.want(&watcher(key), watches) {
            warn!(object = %key, kind = refused.kind, "too many kinds to watch; it is asked for instead");
        }
    }
}

/// The dependencies that the annotation names.
fn by_annotation(object: &Kustomization) -> Result<Vec<Dependency>, String> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let annotations = object.metadata.annotations.as_ref();
    let Some(text) = annotations.and_then(|annotations| annotations.get(DEPENDS_ON)) else {
        return Ok(Vec::new());
    };
    Dependency::parse_all(text, &namespace).map_err(|error| error.to_string())
}

/// The Kustomizations that one depends on.
fn successors(object: &Kustomization) -> Vec<Key> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let required = object.spec.depends_on.iter().flatten().map(|wanted| {
        Key::new(wanted.namespace.clone().unwrap_or_else(|| namespace.clone()), wanted.name.clone())
    });
    let annotated = by_annotation(object).unwrap_or_default().into_iter();
    let annotated = annotated.filter(|it| it.group() == GROUP && it.kind == "Kustomization");
    required.chain(annotated.map(|it| it.key)).collect()
}

/// The way from a Kustomization back to itself, in words, if there is one. Of other namespaces only those are
/// named that it names itself.
fn cycle(store: &Store<Kustomization>, object: &Kustomization) -> Option<String> {
    let start = Key::of(&object.metadata);
    // By each Kustomization that is reached: the one that leads to it.
    let mut reached: BTreeMap<Key, Key> = BTreeMap::new();
    let named = successors(object);
    let shown = |key: &Key| {
        let is_known = key.namespace == start.namespace || named.contains(key);
        if is_known { key.to_string() } else { "(another namespace)".to_owned() }
    };
    let mut open: VecDeque<(Key, Vec<Key>)> = VecDeque::from([(start.clone(), named.clone())]);
    while let Some((from, next)) = open.pop_front() {
        for to in next {
            if to == start {
                let mut way = vec![shown(&start), shown(&from)];
                let mut at = &from;
                while let Some(before) = reached.get(at) {
                    way.push(shown(before));
                    at = before;
                }
                way.reverse();
                return Some(format!("a cycle of dependencies: {}", way.join(" -> ")));
            }
            if reached.contains_key(&to) {
                continue;
            }
            let Some(dependency) = store.get(&to) else { continue };
            reached.insert(to.clone(), from.clone());
            open.push_back((to, successors(&dependency)));
        }
    }
    None
}

/// Refuses what lies in another namespace, where the operator does not want that.
fn reachable(
    context: &Context,
    object: &Kustomization,
    kind: &str,
    key: &Key,
) -> Result<(), NotReady> {
    let is_own = object.metadata.namespace.as_deref() == Some(&key.namespace);
    if is_own || !context.settings.no_cross_namespace_refs {
        return Ok(());
    }
    Err(NotReady::Denied(format!(
        "can't access '{kind}/{key}', cross-namespace references have been blocked"
    )))
}

/// Those of the spec, as Flux checks them. Flux lets expressions see objects of all namespaces; here they see
/// no more than other references do.
fn required(
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
            reachable(context, object, "Kustomization", &key)?;
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
            NotReady::Expression(format!(
                "terminal error: failed to evaluate dependency {name}: {error}"
            ))
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
    client: &kube::Client,
    object: &Kustomization,
    wanted: &Dependency,
) -> Result<(), NotReady> {
    let name = format!("{}/{}", wanted.kind, wanted.key);
    let waits = |why: &str| NotReady::Object(format!("dependency '{name}' {why}"));
    let key = wanted.object();
    let kind = GroupVersionKind::gvk(&key.id.group, &key.version, &key.id.kind);
    let resource = context
        .discovery
        .resolve(&context.client, &key)
        .await
        .map_err(|error| waits(&format!("cannot be looked at: {error}")))?;
    let plural = ApiResource::from_gvk_with_plural(&kind, &resource.plural);
    let api: Api<DynamicObject> = if resource.namespaced {
        Api::namespaced_with(client.clone(), &wanted.key.namespace, &plural)
    } else {
        Api::all_with(client.clone(), &plural)
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
