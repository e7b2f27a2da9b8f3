//! Namespace.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind, NameRule};
use crate::status::Status;
use crate::validation::{Errors, named, names};
use crate::value::{at, fill, list, present, restore, set, slot, text, texts};

/// The hooks of Namespace.
pub(super) struct Namespace;

impl Kind for Namespace {
    fn default(&self, object: &mut Value) {
        let name = text(object, "metadata.name").to_owned();
        if !name.is_empty()
            && let Some(labels) = slot(object, "metadata.labels")
        {
            if labels.is_null() {
                *labels = Value::Object(Map::new());
            }
            if let Some(labels) = labels.as_object_mut() {
                labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
            }
        }
        fill(object, "status.phase", "Active");
    }

    fn prepare_create(&self, _context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        set(object, "status", json!({"phase": "Active"}));
        if !texts(object, "spec.finalizers").contains(&"kubernetes") {
            let mut finalizers = list(object, "spec.finalizers").to_vec();
            finalizers.push("kubernetes".into());
            set(object, "spec.finalizers", finalizers);
        }
        Ok(())
    }

    fn prepare_update(
        &self,
        context: &Context<'_>,
        object: &mut Value,
        old: &Value,
    ) -> Result<(), Status> {
        if context.subresource == "finalize" {
            restore(object, old, "status");
        } else {
            restore(object, old, "spec.finalizers");
        }
        Ok(())
    }

    fn prepare_delete(&self, _context: &Context<'_>, object: &mut Value) {
        set(object, "status.phase", "Terminating");
    }

    fn removable(&self, object: &Value) -> bool {
        list(object, "spec.finalizers").is_empty()
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec").child("finalizers");
        let mut errors = Vec::new();
        for name in texts(object, "spec.finalizers") {
            errors.extend(named(names::qualified_name, name, &path));
            let standard = ["kubernetes", "orphan", "foregroundDeletion"].contains(&name);
            if !name.contains('/') && !standard {
                let detail = "name is neither a standard finalizer name nor is it fully qualified";
                errors.push(FieldError::invalid(&path, name, detail));
            }
        }
        errors
    }

    fn validate_update(&self, _context: &Context<'_>, _object: &Value, _old: &Value) -> Errors {
        Vec::new()
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        _old: &Value,
    ) -> Errors {
        let path = Path::new("status").child("Phase");
        let (phase, detail) = if present(object, "metadata.deletionTimestamp") {
            ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty")
        } else {
            ("Active", "may only be 'Active' if `deletionTimestamp` is empty")
        };
        let found = at(object, "status.phase");
        if found.as_str() == Some(phase) {
            return Vec::new();
        }
        vec![FieldError::invalid(&path, found.clone(), detail)]
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn has_status(&self) -> bool {
        true
    }

    fn selectable_fields(&self, object: &Value) -> Vec<(Cow<'static, str>, String)> {
        vec![("status.phase".into(), text(object, "status.phase").to_owned())]
    }
}
