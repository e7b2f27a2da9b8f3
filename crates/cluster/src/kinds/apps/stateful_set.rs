//! StatefulSet.

use serde_json::{Value, json};
use sluice_schema::field::{FieldError, Path};

use super::workload;
use crate::kind::{Context, Kind, NameRule};
use crate::kinds::core::persistent_volume_claim;
use crate::kinds::{internal, pod_spec};
use crate::status::Status;
use crate::validation::{
    Errors, invalid_raw, labels, metadata, named, names, non_negative, non_negative_fields,
};
use crate::value::{
    at, fill, int, list, list_mut, number, present, remove, restore, same, set, slot, text,
};

const MAX_UNAVAILABLE: &str = "spec.updateStrategy.rollingUpdate.maxUnavailable";

/// The hooks of StatefulSet.
pub(super) struct StatefulSet;

impl Kind for StatefulSet {
    fn default(&self, object: &mut Value) {
        let Some(spec) = slot(object, "spec") else { return };
        fill(spec, "podManagementPolicy", "OrderedReady");
        let strategy = "updateStrategy.rollingUpdate";
        if text(spec, "updateStrategy.type").is_empty() {
            set(spec, "updateStrategy.type", "RollingUpdate");
            fill(spec, strategy, json!({}));
        }
        if text(spec, "updateStrategy.type") == "RollingUpdate" && present(spec, strategy) {
            fill(spec, "updateStrategy.rollingUpdate.partition", 0);
        }
        fill(spec, "persistentVolumeClaimRetentionPolicy.whenDeleted", "Retain");
        fill(spec, "persistentVolumeClaimRetentionPolicy.whenScaled", "Retain");
        fill(spec, "replicas", 1);
        fill(spec, "revisionHistoryLimit", 10);
        if let Some(template) = slot(spec, "template") {
            pod_spec::template_defaults(template);
        }
        for claim in list_mut(spec, "volumeClaimTemplates") {
            fill(claim, "kind", "PersistentVolumeClaim");
            fill(claim, "apiVersion", "v1");
            persistent_volume_claim::PersistentVolumeClaim.default(claim);
        }
    }

    fn prepare_create(&self, _context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        // Its feature gate is off by default.
        remove(object, MAX_UNAVAILABLE);
        Ok(())
    }

    fn prepare_update(
        &self,
        _context: &Context<'_>,
        object: &mut Value,
        old: &Value,
    ) -> Result<(), Status> {
        if !present(old, MAX_UNAVAILABLE) {
            remove(object, MAX_UNAVAILABLE);
        }
        Ok(())
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        specification(at(object, "spec"), true)
    }

    fn validate_update(&self, _context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = specification(at(object, "spec"), false);
        let mut new = at(object, "spec").clone();
        for field in [
            "replicas",
            "template",
            "updateStrategy",
            "minReadySeconds",
            "ordinals",
            "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
        ] {
            restore(&mut new, at(old, "spec"), field);
        }
        if !same(&new, at(old, "spec")) {
            errors.push(FieldError::forbidden(
                &Path::new("spec"),
                "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
            ));
        }
        errors
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        old: &Value,
    ) -> Errors {
        let mut errors = workload::replica_counts(
            object,
            &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
            &["observedGeneration", "collisionCount"],
            "status.readyReplicas",
        );
        errors.extend(workload::collision_count(object, old));
        errors
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = workload::warnings(self, object, old, false);
        if int(object, "spec.revisionHistoryLimit").is_some_and(|limit| limit < 0) {
            warnings.push("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended".to_owned());
        }
        warnings
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }
}

fn specification(spec: &Value, is_new: bool) -> Errors {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let policy = text(spec, "podManagementPolicy");
    if !["OrderedReady", "Parallel"].contains(&policy) {
        let detail = "must be 'OrderedReady' or 'Parallel'";
        errors.push(FieldError::invalid(&path.child("podManagementPolicy"), policy, detail));
    }
    errors.extend(strategy(at(spec, "updateStrategy"), &path.child("updateStrategy")));
    let retention = path.child("persistentVolumeClaimRetentionPolicy");
    for name in ["whenDeleted", "whenScaled"] {
        let policy = text(spec, &format!("persistentVolumeClaimRetentionPolicy.{name}"));
        if !["Retain", "Delete"].contains(&policy) {
            let path = retention.child(name);
            errors.push(FieldError::not_supported(&path, policy, &["Retain", "Delete"]));
        }
    }
    if is_new {
        for (index, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
            let path = path.child("volumeClaimTemplates").index(index).child("spec");
            errors.extend(persistent_volume_claim::validate_spec(at(claim, "spec"), &path));
        }
    }
    errors.extend(non_negative_fields(spec, &["replicas", "minReadySeconds"], &path));
    errors.extend(non_negative(number(spec, "ordinals.start"), &path.child("ordinals.start")));
    let service = text(spec, "serviceName");
    if is_new && !service.is_empty() {
        errors.extend(named(names::dns_label, service, &path.child("serviceName")));
    }
    errors.extend(workload::required_selector(spec, "statefulset", &path));
    let place = path.child("template");
    match workload::selects_template(spec) {
        None => {
            let printed = labels::print(at(spec, "selector"));
            let mut error = invalid_raw(&path.child("selector"), &printed, "");
            error.detail = printed;
            errors.push(error);
        }
        Some(selects) => {
            let template = with_claimed_volumes(spec);
            if !selects {
                errors
                    .push(workload::labels_do_not_match(at(&template, "metadata.labels"), &place));
            }
            errors.extend(pod_spec::validate_template(&template, &place));
            // Upstream validates these twice.
            errors.extend(labels::labels(at(&template, "metadata.labels"), &place.child("labels")));
            errors.extend(metadata::annotations(
                at(&template, "metadata.annotations"),
                &place.child("annotations"),
            ));
        }
    }
    errors.extend(workload::long_running(at(spec, "template"), "StatefulSet", &place));
    errors
}

/// The template as its pods will have it: without host names, with the volumes of claim templates.
fn with_claimed_volumes(spec: &Value) -> Value {
    let mut template = at(spec, "template").clone();
    remove(&mut template, "spec.subdomain");
    remove(&mut template, "spec.hostname");
    let claims = list(spec, "volumeClaimTemplates");
    if claims.is_empty() {
        return template;
    }
    let names: Vec<_> = claims.iter().map(|claim| text(claim, "metadata.name")).collect();
    let mut volumes: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
        .collect();
    let others = list(&template, "spec.volumes");
    volumes.extend(others.iter().filter(|other| !names.contains(&text(other, "name"))).cloned());
    set(&mut template, "spec.volumes", volumes);
    template
}

fn strategy(strategy: &Value, path: &Path) -> Errors {
    let place = path.child("rollingUpdate");
    let update = at(strategy, "rollingUpdate");
    match text(strategy, "type") {
        "OnDelete" | "RollingUpdate" if update.is_null() => Vec::new(),
        "OnDelete" => vec![invalid_raw(
            &place,
            &internal::print("RollingUpdateStatefulSetStrategy", update),
            "only allowed for updateStrategy 'RollingUpdate'",
        )],
        "RollingUpdate" => {
            let mut errors = non_negative_fields(update, &["partition"], &place);
            let unavailable = at(update, "maxUnavailable");
            let place = place.child("maxUnavailable");
            if !unavailable.is_null() {
                errors.extend(workload::number_or_percent(unavailable, &place));
                if workload::plain_number(unavailable) == 0 {
                    errors.push(FieldError::invalid(&place, unavailable.clone(), "cannot be 0"));
                }
                errors.extend(workload::at_most_all(unavailable, &place));
            }
            errors
        }
        _ => vec![invalid_raw(
            path,
            &internal::print("StatefulSetUpdateStrategy", strategy),
            "must be 'RollingUpdate' or 'OnDelete'",
        )],
    }
}
