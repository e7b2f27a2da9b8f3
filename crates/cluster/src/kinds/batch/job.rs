//! Job.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use sluice_schema::field::{FieldError, Path};

use super::{job_spec, job_status};
use crate::kind::{Context, Kind};
use crate::kinds::apps::workload;
use crate::kinds::internal;
use crate::status::Status;
use crate::validation::{Errors, IMMUTABLE, immutable, invalid_raw, labels, names};
use crate::value::{
    at, entries, flag, int, is_zero, number, remove, restore, same, set, slot, text,
};

/// The hooks of Job.
pub(super) struct Job;

const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

impl Kind for Job {
    fn default(&self, object: &mut Value) {
        let labels = at(object, "spec.template.metadata.labels").clone();
        if !labels.is_null() && is_zero(at(object, "metadata.labels")) {
            set(object, "metadata.labels", labels);
        }
        if let Some(spec) = slot(object, "spec") {
            job_spec::defaults(spec);
            job_spec::job_defaults(spec);
        }
    }

    fn defaults_on_read(&self) -> bool {
        true
    }

    fn prepare_create(&self, _context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        if !flag(object, "spec.manualSelector") {
            // Labels that came from the template are the same Go map upstream, so they get the generated
            // ones too. A Job without labels takes the template's when it is read.
            let labels = at(object, "metadata.labels");
            let shared =
                !is_zero(labels) && same(labels, at(object, "spec.template.metadata.labels"));
            generate_selector(object);
            if shared {
                let labels = at(object, "spec.template.metadata.labels").clone();
                set(object, "metadata.labels", labels);
            }
        }
        Ok(())
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = generated_selector(object, true);
        errors.extend(specification(at(object, "spec")));
        errors.extend(longest_name(object));
        errors
    }

    fn validate_update(&self, _context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let path = Path::new("spec");
        let (spec, before) = (at(object, "spec"), at(old, "spec"));
        // Jobs from before the prefixed labels may lack them.
        let labels = entries(old, "spec.template.metadata.labels");
        let prefixed = labels.contains_key(NAME_LABELS[1]) && labels.contains_key(UID_LABELS[1]);
        // Upstream validates the whole object, then the specification once more.
        let mut errors = generated_selector(object, prefixed);
        errors.extend(specification(spec));
        errors.extend(longest_name(object));
        errors.extend(specification(spec));
        errors.extend(completions(spec, before, &path.child("completions")));
        errors.extend(workload::immutable_selector(object, old));
        errors.extend(template(object, old));
        let fixed = |name: &str| immutable(at(spec, name), at(before, name), &path.child(name));
        errors.extend(fixed("completionMode"));
        errors.extend(fixed_policy(spec, before, "podFailurePolicy", "PodFailurePolicy", &path));
        errors.extend(fixed("backoffLimitPerIndex"));
        errors.extend(fixed("managedBy"));
        errors.extend(fixed_policy(spec, before, "successPolicy", "SuccessPolicy", &path));
        errors
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        old: &Value,
    ) -> Errors {
        job_status::validate(object, old)
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        match old {
            Some(old) if !self.changes_generation(object, old) => return warnings,
            Some(_) => {}
            None => warnings.extend(workload::name_warning(object)),
        }
        warnings.extend(job_spec::warnings(at(object, "spec"), &Path::new("spec")));
        warnings
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn selectable_fields(&self, object: &Value) -> Vec<(Cow<'static, str>, String)> {
        vec![("status.successful".into(), number(object, "status.succeeded").to_string())]
    }

    fn unsupported_field(&self, field: &str) -> String {
        format!("field label {} not supported for Job", sluice_base::go::quote(field))
    }
}

/// Validates the length of the name: the pods of an indexed Job are named after it.
fn longest_name(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let completions = number(object, "spec.completions");
    if text(object, "spec.completionMode") == "Indexed" && completions > 0 {
        let name = text(object, "metadata.name");
        let longest = format!("{name}-{}", completions - 1);
        if !names::dns_label(&longest).is_empty() {
            errors.push(FieldError::invalid(
                &Path::new("metadata").child("name"),
                name,
                format!("will not able to create pod with invalid DNS label: {longest}"),
            ));
        }
    }
    errors
}

fn generate_selector(object: &mut Value) {
    let name = text(object, "metadata.name").to_owned();
    let uid = text(object, "metadata.uid").to_owned();
    let mut add = |path: &str, keys: &[&str], value: &str| {
        let Some(labels) = slot(object, path) else { return };
        if labels.is_null() {
            *labels = Value::Object(Map::new());
        }
        if let Some(labels) = labels.as_object_mut() {
            for key in keys {
                labels.entry(*key).or_insert_with(|| value.into());
            }
        }
    };
    add("spec.template.metadata.labels", &NAME_LABELS, &name);
    add("spec.template.metadata.labels", &UID_LABELS, &uid);
    add("spec.selector.matchLabels", &UID_LABELS[1..], &uid);
}

/// Validates the generated selector, unless `manualSelector` is set.
fn generated_selector(object: &Value, prefixed: bool) -> Errors {
    let mut errors = Vec::new();
    let selector = at(object, "spec.selector");
    if flag(object, "spec.manualSelector") || selector.is_null() {
        return errors;
    }
    let (name, uid) = (text(object, "metadata.name"), text(object, "metadata.uid"));
    let path = Path::new("spec").child("template").child("metadata").child("labels");
    let found = entries(object, "spec.template.metadata.labels");
    let expected = [
        (UID_LABELS[0], uid),
        (NAME_LABELS[0], name),
        (UID_LABELS[1], uid),
        (NAME_LABELS[1], name),
    ];
    let expected = if prefixed { &expected[..] } else { &expected[..2] };
    for &(key, value) in expected {
        match found.get(key).and_then(Value::as_str) {
            None => {
                let detail = format!("must be '{value}'");
                errors.push(FieldError::required(&path.key(key), detail));
            }
            Some(other) if other != value => {
                let labels = at(object, "spec.template.metadata.labels").clone();
                let detail = format!("must be '{value}'");
                errors.push(FieldError::invalid(&path.key(key), labels, detail));
            }
            Some(_) => {}
        }
    }
    let expected = json!(
        expected
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Value::from(*value)))
            .collect::<Map<_, _>>()
    );
    if !labels::selects(selector, &expected) {
        let path = Path::new("spec").child("selector");
        errors.push(invalid_raw(&path, &labels::print(selector), "`selector` not auto-generated"));
    }
    errors
}

fn specification(spec: &Value) -> Errors {
    let path = Path::new("spec");
    let mut errors = job_spec::validate(spec, &path);
    let selector = at(spec, "selector");
    let labels_of_template = at(spec, "template.metadata.labels");
    if selector.is_null() {
        errors.push(FieldError::required(&path.child("selector"), ""));
    }
    let wrong = labels::selector(selector, &path.child("selector"));
    let matches = !selector.is_null() && labels::selects(selector, labels_of_template);
    if wrong.is_empty() && !matches {
        errors.push(workload::labels_do_not_match(labels_of_template, &path.child("template")));
    }
    errors.extend(wrong);
    errors
}

fn completions(spec: &Value, old: &Value, path: &Path) -> Errors {
    let (now, before) = (at(spec, "completions"), at(old, "completions"));
    if text(spec, "completionMode") != "Indexed" {
        return immutable(now, before, path);
    }
    if same(now, before) || now.is_null() || int(spec, "completions") == int(spec, "parallelism") {
        return Vec::new();
    }
    let detail = "can only be modified in tandem with spec.parallelism";
    vec![FieldError::invalid(path, now.clone(), detail)]
}

fn fixed_policy(spec: &Value, old: &Value, name: &str, kind: &str, path: &Path) -> Errors {
    let now = at(spec, name);
    if same(now, at(old, name)) {
        return Vec::new();
    }
    let printed = if now.is_null() { "null".to_owned() } else { internal::print(kind, now) };
    vec![invalid_raw(&path.child(name), &printed, IMMUTABLE)]
}

/// Requires an unchanged template. While a Job is suspended and has never started, scheduling
/// directives and resources may change.
fn template(object: &Value, old: &Value) -> Errors {
    let path = Path::new("spec").child("template");
    let now = at(object, "spec.template");
    let mut before = at(old, "spec.template").clone();
    let suspended = flag(old, "spec.suspend");
    if suspended && at(old, "status.startTime").is_null() {
        for name in [
            "spec.nodeSelector",
            "spec.tolerations",
            "spec.schedulingGates",
            "metadata.annotations",
            "metadata.labels",
            "spec.affinity.nodeAffinity",
        ] {
            restore(&mut before, now, name);
        }
        if same(at(&before, "spec.affinity"), &Value::Null) {
            remove(&mut before, "spec.affinity");
        }
    }
    if same(now, &before) {
        return Vec::new();
    }
    vec![invalid_raw(&path, &internal::print("PodTemplateSpec", now), IMMUTABLE)]
}
