//! DaemonSet.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::workload;
use crate::kind::{Context, Kind};
use crate::kinds::{internal, pod_spec};
use crate::status::Status;
use crate::validation::{Errors, invalid_raw, labels, non_negative_fields};
use crate::value::{at, entries, fill, present, same, slot, text};

/// The count of template changes; upstream's internal field is an annotation in v1.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The hooks of DaemonSet.
pub(super) struct DaemonSet;

fn template_generation(object: &Value) -> i64 {
    entries(object, "metadata.annotations")
        .get(TEMPLATE_GENERATION)
        .and_then(Value::as_str)
        .and_then(|count| count.parse().ok())
        .unwrap_or_default()
}

/// Fails if the annotation is not a number: upstream converts it while decoding.
fn readable_generation(object: &Value) -> Result<(), Status> {
    let given = entries(object, "metadata.annotations").get(TEMPLATE_GENERATION);
    match given.and_then(Value::as_str) {
        Some(count) if count.parse::<i64>().is_err() => Err(Status::bad_request(format!(
            "DaemonSet in version \"v1\" cannot be handled as a DaemonSet: strconv.ParseInt: parsing {count:?}: invalid syntax"
        ))),
        _ => Ok(()),
    }
}

fn set_template_generation(object: &mut Value, count: i64) {
    if let Some(annotations) = slot(object, "metadata.annotations") {
        if annotations.is_null() {
            *annotations = Value::Object(serde_json::Map::new());
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(TEMPLATE_GENERATION.to_owned(), count.to_string().into());
        }
    }
}

impl Kind for DaemonSet {
    fn default(&self, object: &mut Value) {
        // The internal field is always set, so the creator of a DaemonSet owns the annotation.
        if !entries(object, "metadata.annotations").contains_key(TEMPLATE_GENERATION) {
            set_template_generation(object, 0);
        }
        let Some(spec) = slot(object, "spec") else { return };
        fill(spec, "updateStrategy.type", "RollingUpdate");
        if text(spec, "updateStrategy.type") == "RollingUpdate" {
            fill(spec, "updateStrategy.rollingUpdate.maxUnavailable", 1);
            fill(spec, "updateStrategy.rollingUpdate.maxSurge", 0);
        }
        fill(spec, "revisionHistoryLimit", 10);
        if let Some(template) = slot(spec, "template") {
            pod_spec::template_defaults(template);
        }
    }

    fn prepare_create(&self, _context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        readable_generation(object)?;
        let count = template_generation(object).max(1);
        set_template_generation(object, count);
        Ok(())
    }

    fn prepare_update(
        &self,
        _context: &Context<'_>,
        object: &mut Value,
        old: &Value,
    ) -> Result<(), Status> {
        readable_generation(object)?;
        let changed = !same(at(object, "spec.template"), at(old, "spec.template"));
        set_template_generation(object, template_generation(old) + i64::from(changed));
        Ok(())
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let (spec, selector) = (at(object, "spec"), at(object, "spec.selector"));
        let place = path.child("template");
        let mut errors = labels::selector(selector, &path.child("selector"));
        if workload::selects_template(spec) == Some(false) {
            errors
                .push(workload::labels_do_not_match(at(spec, "template.metadata.labels"), &place));
        }
        if present(spec, "selector") && labels::is_empty(selector) {
            let detail = "empty selector is invalid for daemonset";
            errors.push(invalid_raw(&path.child("selector"), &labels::print(selector), detail));
        }
        let template = at(spec, "template");
        errors.extend(pod_spec::validate_template(template, &place));
        errors.extend(workload::long_running(template, "DaemonSet", &place));
        errors.extend(non_negative_fields(spec, &["minReadySeconds"], &path));
        errors.extend(strategy(at(spec, "updateStrategy"), &path.child("updateStrategy")));
        errors.extend(non_negative_fields(spec, &["revisionHistoryLimit"], &path));
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = workload::immutable_selector(object, old);
        errors.extend(self.validate(context, object));
        errors
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        old: &Value,
    ) -> Errors {
        let counts = [
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ];
        let mut errors = non_negative_fields(at(object, "status"), &counts, &Path::new("status"));
        errors.extend(workload::collision_count(object, old));
        errors
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        match old {
            Some(old) if same(at(object, "spec.template"), at(old, "spec.template")) => Vec::new(),
            _ => pod_spec::template_warnings(
                at(object, "spec.template"),
                &Path::new("spec").child("template"),
            ),
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }
}

fn strategy(strategy: &Value, path: &Path) -> Errors {
    match text(strategy, "type") {
        "OnDelete" => Vec::new(),
        "RollingUpdate" => {
            rolling_update(at(strategy, "rollingUpdate"), &path.child("rollingUpdate"))
        }
        _ => {
            let mut error =
                FieldError::not_supported(path, Value::Null, &["RollingUpdate", "OnDelete"]);
            error.value = None;
            error.detail = format!(
                "{}: {}",
                internal::print("DaemonSetUpdateStrategy", strategy),
                error.detail
            );
            vec![error]
        }
    }
}

fn rolling_update(update: &Value, path: &Path) -> Errors {
    let (unavailable, surge) = (at(update, "maxUnavailable"), at(update, "maxSurge"));
    let (unavailable_path, surge_path) = (path.child("maxUnavailable"), path.child("maxSurge"));
    let mut errors = workload::number_or_percent(unavailable, &unavailable_path);
    errors.extend(workload::number_or_percent(surge, &surge_path));
    errors.extend(workload::at_most_all(unavailable, &unavailable_path));
    errors.extend(workload::at_most_all(surge, &surge_path));
    match (workload::plain_number(unavailable) != 0, workload::plain_number(surge) != 0) {
        (true, true) => errors.push(FieldError::invalid(
            &surge_path,
            surge.clone(),
            "may not be set when maxUnavailable is non-zero",
        )),
        (false, false) => {
            errors.push(FieldError::required(&unavailable_path, "cannot be 0 when maxSurge is 0"));
        }
        _ => {}
    }
    errors
}
