//! From the files of an artifact to the objects to apply.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::kustomize::kustomization::{Kustomization, PostBuild, SubstituteStrategy};
use sluice_api::names::sluice::PRUNE_GUARD;
use sluice_kustomize::flux::{
    Missing, Mode, Overrides, SecureTree, Strategy, Substitution, Variables, generate,
    secure_build, substitute,
};
use sluice_kustomize::{Build, Diagnostic, Failure};
use sluice_source::artifact::{Digest, DigestAlgorithm};
use sluice_source::tree::SourceTree;
use sluice_ssa::{Desired, Inventory, Owner, normalise, set_metadata, still_encrypted};

use super::reconcile::{Stop, build_failed};
use super::variables::{self, VariablesError};
use crate::artifacts::{ArtifactTree, inside};
use crate::context::Context;
use sluice_api::names::reasons::RECONCILIATION_FAILED;

/// What was built.
pub(super) struct Built {
    /// The objects, in the form in which they are applied.
    pub(super) objects: Vec<Desired>,
    /// The digest of the built text, which tells revisions apart that build the same.
    pub(super) digest: String,
}

/// Builds a Kustomization from the files of an artifact.
pub(super) async fn build(
    context: &Context,
    object: &Arc<Kustomization>,
    files: Arc<SourceTree>,
) -> Result<Built, Stop> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let variables = match &object.spec.post_build {
        Some(post_build) => variables::read(&context.client, &namespace, post_build).await,
        None => Ok(Variables::default()),
    };
    let (object, strict) = (Arc::clone(object), context.settings.strict_substitutions);
    context
        .compute
        .run(move || {
            let built = kustomize(&object, files)?;
            let digest_of =
                |text: &str| Digest::of(DigestAlgorithm::Sha256, text.as_bytes()).to_string();
            let plain = object.spec.post_build.is_none().then(|| digest_of(&built.to_yaml()));
            let values = built.into_objects();
            values.iter().try_for_each(check)?;
            if let Some(refusal) = undecrypted(&object, &values) {
                return Err(build_failed(refusal));
            }
            let (values, digest) = match (&object.spec.post_build, plain) {
                (Some(post_build), _) => {
                    let values = substituted(&object, values, post_build, variables, strict)?;
                    let texts: Vec<String> = values.iter().map(sluice_yaml::from_json).collect();
                    (values, digest_of(&texts.join("---\n")))
                }
                (None, digest) => (values, digest.unwrap_or_default()),
            };
            Ok(Built { objects: dressed(&object, values)?, digest })
        })
        .await
}

/// Why the path of the spec cannot be built: it is not in the artifact.
pub(super) fn path_refusal(object: &Kustomization, files: &SourceTree) -> Option<String> {
    let path = inside(object.spec.path.as_deref().unwrap_or_default());
    let is_there = path.is_empty() || files.get(&path).is_some();
    (!is_there)
        .then(|| format!("kustomization path not found: stat /{path}: no such file or directory"))
}

/// The build alone.
fn kustomize(object: &Kustomization, files: Arc<SourceTree>) -> Result<Build, Stop> {
    let tree = ArtifactTree::new(files);
    let directory = format!("/{}", inside(object.spec.path.as_deref().unwrap_or_default()));
    let secure = SecureTree::new(&tree, "/").map_err(|error| build_failed(error.to_string()))?;
    let generated = generate(&secure, &directory, &overrides(object), None)
        .map_err(|failure| build_failed(words(&failure)))?;
    let overlay = generated.over(&secure);
    secure_build(&overlay, &directory, None)
        .map_err(|failure| build_failed(format!("kustomize build failed: {}", words(&failure))))
}

/// All causes of a failure, each in the words that users of Flux know.
fn words(failure: &Failure) -> String {
    let causes: Vec<String> = failure.diagnostics().map(Diagnostic::original_message).collect();
    causes.join("\n")
}

/// The objects with the values of variables in them. A missing source of variables fails it before anything
/// is applied.
fn substituted(
    object: &Kustomization,
    mut values: Vec<Value>,
    post_build: &PostBuild,
    variables: Result<Variables, VariablesError>,
    strict: bool,
) -> Result<Vec<Value>, Stop> {
    let failed = |value: &Value, why: &dyn std::fmt::Display| {
        build_failed(format!("post build failed for '{}': {why}", resource_name(value)))
    };
    let mode = mode(object)?;
    let variables = match (variables, values.first()) {
        (Ok(variables), _) => variables,
        (Err(error), Some(first)) => return Err(failed(first, &error)),
        (Err(_), None) => Variables::default(),
    };
    let how = Substitution {
        variables: &variables,
        missing: if strict { Missing::Error } else { Missing::Empty },
        strategy: match post_build.substitute_strategy {
            Some(SubstituteStrategy::Always) => Strategy::Always,
            _ => Strategy::WithVariables,
        },
        mode,
    };
    for value in &mut values {
        let changed = substitute(value, &how).map_err(|failure| failed(value, &words(&failure)))?;
        if let Some(changed) = changed {
            *value = changed;
        }
    }
    Ok(values)
}

/// The objects as they are applied: marked as ours, normalised, with what all of them are to bear.
fn dressed(object: &Kustomization, values: Vec<Value>) -> Result<Vec<Desired>, Stop> {
    let name = object.metadata.name.clone().unwrap_or_default();
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let labels = Owner::kustomize().labels(&name, &namespace);
    let common = object.spec.common_metadata.clone().unwrap_or_default();
    let (common_labels, common_annotations) =
        (common.labels.unwrap_or_default(), common.annotations.unwrap_or_default());
    let mut objects = Vec::with_capacity(values.len());
    for mut value in values {
        set_metadata(&mut value, &labels, &BTreeMap::new());
        normalise(&mut value);
        set_metadata(&mut value, &common_labels, &common_annotations);
        if let Some(refusal) = still_encrypted(&value) {
            return Err(Stop::failed(RECONCILIATION_FAILED, refusal.to_string()));
        }
        objects.push(Desired::from(value));
    }
    Ok(objects)
}

/// Why nothing is applied where decryption is asked for: this controller has none yet, and what is encrypted
/// must not reach the cluster as it is.
fn undecrypted(object: &Kustomization, values: &[Value]) -> Option<String> {
    object.spec.decryption.as_ref()?;
    let encrypted = values.iter().find(|value| value.pointer("/sops/mac").is_some())?;
    let name = resource_name(encrypted);
    Some(format!("decryption failed for '{name}': decryption is not supported"))
}

/// Kind, version, group and name, as kustomize writes them.
fn resource_name(value: &Value) -> String {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("[noGrp]", api_version));
    format!("{}.{version}.{group}/{}", text("/kind"), text("/metadata/name"))
}

/// How objects that do not say so themselves are substituted in.
fn mode(object: &Kustomization) -> Result<Mode, Stop> {
    let own = serde_json::json!({"metadata": {"annotations": object.metadata.annotations}});
    let mode = Mode::of(&own).map_err(|failure| build_failed(words(&failure)))?;
    Ok(mode.unwrap_or_default())
}

/// Every object needs a kind, a version and a name.
fn check(value: &Value) -> Result<(), Stop> {
    let has = |pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).is_some_and(|it| !it.is_empty())
    };
    if has("/metadata/name") && has("/kind") && has("/apiVersion") {
        return Ok(());
    }
    Err(build_failed(format!(
        "failed to decode Kubernetes apiVersion, kind and name from: {value}"
    )))
}

/// What the spec says about the kustomization file.
fn overrides(object: &Kustomization) -> Overrides {
    let spec = &object.spec;
    Overrides {
        target_namespace: spec.target_namespace.clone(),
        name_prefix: spec.name_prefix.clone(),
        name_suffix: spec.name_suffix.clone(),
        patches: spec.patches.clone().unwrap_or_default(),
        images: spec.images.clone().unwrap_or_default(),
        components: spec.components.clone().unwrap_or_default(),
        ignore_missing_components: spec.ignore_missing_components.unwrap_or(false),
        build_metadata: spec
            .build_metadata
            .iter()
            .flatten()
            .map(|wanted| wanted.as_str().to_owned())
            .collect(),
    }
}

/// Why objects are not pruned although they are gone from the source: a build of nothing, or more of them
/// than the guard allows. Whoever means it says so.
pub(super) fn prune_refusal(
    object: &Kustomization,
    old: &Inventory,
    new: &Inventory,
    stale: usize,
) -> Option<String> {
    let annotations = object.metadata.annotations.as_ref();
    let guard =
        annotations.and_then(|annotations| annotations.get(PRUNE_GUARD)).map(String::as_str);
    let percent = match guard {
        Some("off") => return None,
        Some(text) => match text.trim_end_matches('%').parse::<usize>() {
            Ok(percent) => percent.min(100),
            Err(_) => {
                return Some(format!(
                    "annotation {PRUNE_GUARD}: \"{text}\" is neither a share such as 20% nor off"
                ));
            }
        },
        None => 100,
    };
    if new.is_empty() {
        return Some(format!(
            "nothing was built, and {stale} objects were applied before: none is deleted. Set the annotation {PRUNE_GUARD}: \"off\" if they are to go"
        ));
    }
    (stale * 100 > old.len() * percent).then(|| {
        format!(
            "{stale} of {} objects would be deleted, and {PRUNE_GUARD} allows {percent}%: none is deleted",
            old.len()
        )
    })
}
