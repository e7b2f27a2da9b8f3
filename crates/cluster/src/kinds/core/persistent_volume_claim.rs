//! PersistentVolumeClaim.

use serde_json::{Value, json};
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::kinds::pod_spec::quantity_value;
use crate::kinds::resource_list;
use crate::kinds::{internal, line_diff};
use crate::status::Status;
use crate::validation::{
    Errors, immutable, invalid_raw, labels, named, names, one_of_or_unset, quantity, required_text,
};
use crate::value::{
    at, entries, fill, fill_absent, present, remove, restore, same, set, text, texts,
};

const MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// The hooks of PersistentVolumeClaim.
pub(crate) struct PersistentVolumeClaim;

impl Kind for PersistentVolumeClaim {
    fn default(&self, object: &mut Value) {
        fill(object, "status.phase", "Pending");
        fill_absent(object, "spec.volumeMode", "Filesystem");
        fill(object, "spec.resources", json!({}));
        let lists = ["spec.resources.limits", "spec.resources.requests", "status.capacity"];
        resource_list::round_up(object, &lists);
    }

    fn defaults_on_read(&self) -> bool {
        true
    }

    fn prepare_create(&self, _context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        // The phase is set again by defaulting on read.
        set(object, "status", json!({}));
        drop_odd_sources(object);
        normalize_sources(object);
        Ok(())
    }

    fn prepare_update(
        &self,
        _context: &Context<'_>,
        object: &mut Value,
        old: &Value,
    ) -> Result<(), Status> {
        if !present(old, "spec.dataSource") && !present(old, "spec.dataSourceRef") {
            drop_odd_sources(object);
        }
        normalize_sources(object);
        Ok(())
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        validate_spec(at(object, "spec"), &Path::new("spec"))
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = self.validate(context, object);
        let (mut new_spec, mut old_spec) = (at(object, "spec").clone(), at(old, "spec").clone());
        if text(&old_spec, "volumeName").is_empty() {
            restore(&mut old_spec, &new_spec, "volumeName");
        }
        let class = |object: &Value| {
            let annotations = entries(object, "metadata.annotations");
            annotations.get(CLASS_ANNOTATION).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        if class(object) != class(old) {
            errors.push(FieldError::invalid(
                &Path::new("metadata").child("annotations").child(CLASS_ANNOTATION),
                class(object),
                crate::validation::IMMUTABLE,
            ));
        }
        // A claim without a class may get one, once.
        if class(old).is_empty() && !present(&old_spec, "storageClassName") {
            remove(&mut new_spec, "storageClassName");
        }
        if text(object, "status.phase") == "Bound" {
            restore(&mut new_spec, &old_spec, "resources.requests.storage");
            restore(&mut new_spec, &old_spec, "volumeAttributesClassName");
        }
        if !same(&new_spec, &old_spec) {
            let difference = line_diff::unified(
                &internal::print_lines("PersistentVolumeClaimSpec", &old_spec),
                &internal::print_lines("PersistentVolumeClaimSpec", &new_spec),
            );
            errors.push(FieldError::forbidden(
                &Path::new("spec"),
                format!(
                    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n{difference}"
                ),
            ));
        }
        let size = "spec.resources.requests.storage";
        if quantity::compare(at(object, size), at(old, size)).is_lt()
            && quantity::compare(at(object, size), at(old, "status.capacity.storage")).is_le()
        {
            let path = Path::new("spec").child("resources").child("requests").child("storage");
            errors.push(FieldError::forbidden(&path, "field can not be less than status.capacity"));
        }
        errors.extend(immutable(
            at(object, "spec.volumeMode"),
            at(old, "spec.volumeMode"),
            &Path::new("volumeMode"),
        ));
        errors
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        if entries(object, "metadata.annotations").contains_key(CLASS_ANNOTATION) {
            warnings.push(format!(
                "metadata.annotations[{CLASS_ANNOTATION}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
            ));
        }
        for list in ["requests", "limits"] {
            let amount = at(object, &format!("spec.resources.{list}.storage"));
            if !amount.is_null() && !quantity::is_whole(amount) {
                warnings.push(format!(
                    "spec.resources.{list}[storage]: fractional byte value {amount} is invalid, must be an integer"
                ));
            }
        }
        warnings
    }

    fn has_status(&self) -> bool {
        true
    }
}

/// Drops data sources that are ignored: local ones that are neither claims nor snapshots, and those in
/// other namespaces (their feature gate is off).
fn drop_odd_sources(object: &mut Value) {
    let source = at(object, "spec.dataSource");
    let known = matches!(
        (text(source, "apiGroup"), text(source, "kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    );
    if !text(object, "spec.dataSourceRef.namespace").is_empty() {
        remove(object, "spec.dataSourceRef");
    }
    if !known && !present(object, "spec.dataSourceRef") {
        remove(object, "spec.dataSource");
    }
}

/// `dataSource` and `dataSourceRef` mean the same; each fills in the other.
fn normalize_sources(object: &mut Value) {
    let (source, reference) = (at(object, "spec.dataSource"), at(object, "spec.dataSourceRef"));
    if !source.is_null() && reference.is_null() {
        let copy = source.clone();
        set(object, "spec.dataSourceRef", copy);
    } else if source.is_null() && !reference.is_null() && text(reference, "namespace").is_empty() {
        let mut copy = reference.clone();
        remove(&mut copy, "namespace");
        set(object, "spec.dataSource", copy);
    }
}

/// Validates the specification of a claim or of a claim template.
pub(crate) fn validate_spec(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    if texts(spec, "accessModes").is_empty() {
        let place = path.child("accessModes");
        errors.push(FieldError::required(&place, "at least 1 access mode is required"));
    }
    errors.extend(labels::selector(at(spec, "selector"), &path.child("selector")));
    errors.extend(access_modes(spec, path));
    let place = path.child("resources").key("storage");
    let amount = at(spec, "resources.requests.storage");
    match quantity::nanos(amount) {
        None => errors.push(FieldError::required(&place, "")),
        Some(size) if size <= 0 => {
            errors.push(FieldError::invalid(&place, amount.clone(), "must be greater than zero"));
        }
        Some(_) => errors.extend(quantity_value("storage", amount, &place)),
    }
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        errors.extend(named(names::dns_subdomain, class, &path.child("storageClassName")));
    }
    errors.extend(one_of_or_unset(spec, "volumeMode", &["Block", "Filesystem"], path));
    for name in ["dataSource", "dataSourceRef"] {
        if present(spec, name) {
            errors.extend(source(at(spec, name), &path.child(name)));
        }
    }
    let (source, reference) = (at(spec, "dataSource"), at(spec, "dataSourceRef"));
    if !source.is_null() && !reference.is_null() {
        if !text(reference, "namespace").is_empty() {
            let detail = "may not be specified when dataSourceRef.namespace is specified";
            errors.push(invalid_raw(path, "{}", detail));
        } else if !same(source, reference) {
            errors.push(invalid_raw(path, "{}", "must match dataSourceRef"));
        }
    }
    let class = text(spec, "volumeAttributesClassName");
    if !class.is_empty() {
        let path = path.child("volumeAttributesClassName");
        errors.extend(named(names::dns_subdomain, class, &path));
    }
    errors
}

/// Validates the access modes of a claim or volume.
pub(super) fn access_modes(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let place = path.child("accessModes");
    let modes = texts(spec, "accessModes");
    for mode in &modes {
        if !MODES.contains(mode) {
            errors.push(FieldError::not_supported(&place, *mode, MODES));
        }
    }
    let others = modes.iter().any(|mode| MODES.contains(mode) && *mode != "ReadWriteOncePod");
    if modes.contains(&"ReadWriteOncePod") && others {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(&place, detail));
    }
    errors
}

fn source(source: &Value, path: &Path) -> Errors {
    let mut errors = required_text(source, "name", path);
    errors.extend(required_text(source, "kind", path));
    let (group, kind) = (text(source, "apiGroup"), text(source, "kind"));
    if !group.is_empty() {
        errors.extend(named(names::dns_subdomain, group, &path.child("apiGroup")));
    } else if kind != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(FieldError::invalid(path, kind, detail));
    }
    let namespace = text(source, "namespace");
    if !namespace.is_empty() {
        errors.extend(named(names::dns_label, namespace, &path.child("namespace")));
    }
    errors
}
