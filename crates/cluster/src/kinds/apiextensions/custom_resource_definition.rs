//! CustomResourceDefinition.

use serde_json::{Value, json};
use sluice_base::go::quote;
use sluice_base::time;
use sluice_schema::field::FieldError;
use sluice_schema::structural::definition::{self, Condition};

use crate::crd::CLEANUP_FINALIZER;
use crate::crd::rules::Cel;
use crate::kind::{Context, Kind};
use crate::metadata;

pub(super) struct CustomResourceDefinition;

impl Kind for CustomResourceDefinition {
    fn default(&self, object: &mut Value) {
        definition::default(object);
    }

    fn prepare_create(
        &self,
        _: &Context<'_>,
        object: &mut Value,
    ) -> Result<(), crate::status::Status> {
        definition::prepare_create(object);
        Ok(())
    }

    fn prepare_update(
        &self,
        _: &Context<'_>,
        object: &mut Value,
        _: &Value,
    ) -> Result<(), crate::status::Status> {
        definition::note_storage_version(object);
        Ok(())
    }

    fn validate(&self, _: &Context<'_>, object: &Value) -> Vec<FieldError> {
        definition::validate(object, &Cel)
    }

    fn validate_update(&self, _: &Context<'_>, object: &Value, old: &Value) -> Vec<FieldError> {
        definition::validate_update(object, old, &Cel)
    }

    fn validate_status_update(
        &self,
        _: &Context<'_>,
        object: &Value,
        _: &Value,
    ) -> Vec<FieldError> {
        definition::validate_status_update(object)
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let before = old.map(definition::unrecognized_formats).unwrap_or_default();
        definition::unrecognized_formats(object)
            .into_iter()
            .filter(|format| !before.contains(format))
            .map(|format| format!("unrecognized format {}", quote(&format)))
            .collect()
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    /// A definition stays until its controller has deleted all objects, even if it has none.
    fn removable(&self, object: &Value) -> bool {
        metadata::is_terminating(object)
    }

    fn prepare_delete(&self, context: &Context<'_>, object: &mut Value) {
        if metadata::finalizers(object).any(|name| name == CLEANUP_FINALIZER) {
            return;
        }
        // Upstream marks the definition itself, without a grace period, a new generation or the
        // finalizers of a propagation policy.
        let finalizers: Vec<&str> = metadata::finalizers(object)
            .filter(|name| !matches!(*name, "foregroundDeletion" | "orphan"))
            .chain([CLEANUP_FINALIZER])
            .collect();
        let finalizers = json!(finalizers);
        metadata::set(object, "finalizers", finalizers);
        metadata::set(object, "deletionGracePeriodSeconds", Value::Null);
        if let Some(generation) = metadata::of(object).get("generation").and_then(Value::as_i64) {
            metadata::set(object, "generation", generation - 1);
        }
        let condition = Condition::new(
            "Terminating",
            "True",
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        );
        definition::set_condition(object, &condition, &time::format_seconds(context.now));
    }
}
