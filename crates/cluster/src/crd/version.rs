//! One served version of a custom kind: decoding, validation, storage.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_base::go::quote;
use sluice_base::gojson;
use sluice_base::names;
use sluice_expr::kubernetes::Rules;
use sluice_schema::field::{ErrorType, FieldError, Path};
use sluice_schema::gotypes::Document;
use sluice_schema::managed::CustomVersions;
use sluice_schema::patch::PatchError;
use sluice_schema::smd::{TypeRef, Versions};
use sluice_schema::structural::object_meta::{self, Malformed};
use sluice_schema::structural::validation::{self, Reading};
use sluice_schema::structural::{
    Root, Schema, coercion, defaulting, listtype, normalize_numbers, pruning,
};

use super::json_path::JsonPath;
use super::{is_true, rules};
use crate::duplicates;
use crate::kind::{Context, Kind};
use crate::resource::{Decoded, ScalePaths, Shape};
use crate::status::Status;

/// A version of a custom kind.
pub(crate) struct Version {
    group: String,
    plural: String,
    /// The `apiVersion` of requests and of storage.
    served_as: String,
    stored_as: String,
    /// All schemas of the definition by `apiVersion`; stored objects may be of another version.
    schemas: BTreeMap<String, Arc<Schema>>,
    schema: Arc<Schema>,
    rules: Rules,
    types: Arc<CustomVersions>,
    empty: Value,
    /// `preserveUnknownFields` of the whole definition.
    preserves: bool,
    has_status: bool,
    scale: Option<ScalePaths>,
    selectable: Vec<(String, JsonPath)>,
    terminating: bool,
    /// The revision of the definition. Objects stored later were stored by its schemas.
    definition: u64,
}

impl Version {
    pub(super) fn new(
        definition: &Value,
        version: &Value,
        storage: &str,
        schemas: &BTreeMap<String, Arc<Schema>>,
        types: Arc<CustomVersions>,
        revision: u64,
    ) -> Self {
        let text = |value: &Value, pointer: &str| {
            value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
        };
        let group = text(definition, "/spec/group").unwrap_or_default();
        let name = text(version, "/name").unwrap_or_default();
        let written = version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
        let scale = version.pointer("/subresources/scale").filter(|scale| !scale.is_null());
        let fields = version.get("selectableFields").and_then(Value::as_array);
        let selectable = fields.into_iter().flatten().filter_map(|field| {
            let path = field.get("jsonPath")?.as_str()?;
            Some((path.trim_start_matches('.').to_owned(), JsonPath::parse(path)?))
        });
        Self {
            served_as: format!("{group}/{name}"),
            stored_as: format!("{group}/{storage}"),
            schemas: schemas
                .iter()
                .map(|(name, schema)| (format!("{group}/{name}"), schema.clone()))
                .collect(),
            schema: schemas.get(&name).cloned().unwrap_or_default(),
            rules: Rules::new(written, true),
            types,
            empty: json!({
                "apiVersion": format!("{group}/{name}"),
                "kind": text(definition, "/status/acceptedNames/kind"),
            }),
            preserves: definition["spec"]["preserveUnknownFields"] == true,
            has_status: version.pointer("/subresources/status").is_some_and(|s| !s.is_null()),
            scale: scale.map(|scale| ScalePaths {
                spec: text(scale, "/specReplicasPath").unwrap_or_default(),
                status: text(scale, "/statusReplicasPath").unwrap_or_default(),
                selector: text(scale, "/labelSelectorPath"),
            }),
            selectable: selectable.collect(),
            terminating: is_true(definition, "Terminating"),
            definition: revision,
            plural: text(definition, "/status/acceptedNames/plural").unwrap_or_default(),
            group,
        }
    }

    /// Converts `object` to a version: metadata through its Go type, unknown fields and meaningless
    /// nulls removed. Returns the names of the unknown fields.
    fn coerce(
        &self,
        object: &mut Value,
        schema: &Schema,
        malformed: Malformed,
    ) -> Result<Vec<String>, String> {
        let metadata = match object.get("metadata") {
            Some(metadata) => Some(object_meta::decode(metadata, malformed)?),
            None => None,
        };
        let mut unknown = Vec::new();
        for name in metadata.iter().flat_map(|metadata| &metadata.unknown) {
            unknown.push(format!("metadata.{name}"));
        }
        if !self.preserves {
            unknown.extend(pruning::prune(object, Some(schema), Root::Resource));
            defaulting::prune_nulls(object, schema);
        }
        let paths =
            coercion::coerce(object, Some(schema), Root::Value, malformed, &Path::default())
                .map_err(|error| error.to_string())?;
        unknown.extend(paths);
        if let Some(metadata) = metadata {
            object["metadata"] = Value::Object(metadata.value);
        }
        Ok(unknown)
    }

    /// Whether a stored object already has the form of this version.
    fn is_current(&self, stored: &Value) -> bool {
        let revision = crate::metadata::text(stored, "resourceVersion").parse::<u64>();
        let status = self.schema.properties.get("status");
        // Create drops the status after defaulting.
        let lacks_status = self.has_status
            && stored.get("status").is_none()
            && status.is_some_and(|status| status.default.is_some());
        !lacks_status
            && self.served_as == self.stored_as
            && stored["apiVersion"] == *self.served_as
            && revision.is_ok_and(|revision| revision > self.definition)
    }

    fn check_scale(&self, object: &Value, status_only: bool) -> Vec<FieldError> {
        let Some(scale) = &self.scale else { return Vec::new() };
        let mut errors = Vec::new();
        if !status_only {
            errors.extend(check_replicas(object, &scale.spec));
        }
        errors.extend(check_replicas(object, &scale.status));
        if let Some(selector) = &scale.selector
            && let Some(found) = nested(object, selector)
            && let Err(why) = found.and_then(|value| {
                if value.is_string() { Ok(()) } else { Err(mismatch(selector, value, "string")) }
            })
        {
            errors.push(FieldError::invalid(&Path::new(selector), "", why));
        }
        errors
    }

    /// Runs the CEL rules, which need objects of the right types.
    fn with_rules(
        &self,
        mut errors: Vec<FieldError>,
        object: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let blocks = |error: &FieldError| {
            matches!(
                error.kind,
                ErrorType::NotSupported
                    | ErrorType::Required
                    | ErrorType::TooLong
                    | ErrorType::TooMany
                    | ErrorType::TypeInvalid
            )
        };
        let here = Path::default();
        if self.rules.is_empty() {
            return errors;
        }
        if errors.iter().any(blocks) {
            let why = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
            errors.push(FieldError::invalid(&here, Value::Null, why));
        } else {
            let found = self.rules.validate(object, old);
            errors.extend(found.errors.iter().map(|violation| rules::error(violation, &here)));
        }
        errors
    }
}

/// The value at a simple path (`.spec.replicas`); an error if a parent is not an object.
fn nested<'v>(object: &'v Value, path: &str) -> Option<Result<&'v Value, String>> {
    let mut value = object;
    for name in path.trim_start_matches('.').split('.') {
        let Some(fields) = value.as_object() else {
            let why = format!(
                "{path} accessor error: {} is of the type {}, expected map[string]interface{{}}",
                gojson::to_string(value),
                go_type(value)
            );
            return (!value.is_null()).then_some(Err(why));
        };
        value = fields.get(name)?;
    }
    Some(Ok(value))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn mismatch(path: &str, value: &Value, expected: &str) -> String {
    let shown = match value {
        Value::String(text) => text.clone(),
        other => gojson::to_string(other),
    };
    format!("{path} accessor error: {shown} is of the type {}, expected {expected}", go_type(value))
}

fn check_replicas(object: &Value, path: &str) -> Option<FieldError> {
    let at = Path::new(path);
    let found = nested(object, path)?;
    let replicas = match found
        .and_then(|value| value.as_i64().ok_or_else(|| mismatch(path, value, "int64")))
    {
        Ok(replicas) => replicas,
        Err(why) => return Some(FieldError::invalid(&at, 0, why)),
    };
    if replicas < 0 {
        return Some(FieldError::invalid(&at, replicas, "should be a non-negative integer"));
    }
    let why = format!("should be less than or equal to {}", i32::MAX);
    (replicas > i64::from(i32::MAX)).then(|| FieldError::invalid(&at, replicas, why))
}

impl Shape for Version {
    fn decode(&self, document: Document) -> Result<Decoded, String> {
        let mut problems = duplicates::find(&document);
        let mut value = document.into_value();
        normalize_numbers(&mut value);
        let unknown = self.coerce(&mut value, &self.schema, Malformed::Refuse)?;
        problems.extend(unknown.iter().map(|name| format!("unknown field \"{name}\"")));
        Ok(Decoded { value, problems })
    }

    fn normalize(&self, value: &mut Value) {
        if let Some(metadata) = value.get_mut("metadata")
            && let Ok(decoded) = object_meta::decode(metadata, Malformed::Drop)
        {
            *metadata = Value::Object(decoded.value);
        }
    }

    fn served<'a>(&self, stored: &'a Value) -> Cow<'a, Value> {
        if self.is_current(stored) {
            return Cow::Borrowed(stored);
        }
        let mut object = stored.clone();
        object["apiVersion"] = self.served_as.as_str().into();
        // Stored objects were valid once; fields that no longer match are dropped, not rejected.
        let _ = self.coerce(&mut object, &self.schema, Malformed::Drop);
        defaulting::default(&mut object, &self.schema);
        Cow::Owned(object)
    }

    fn stored_form(&self, mut value: Value) -> Value {
        if self.served_as != self.stored_as {
            value["apiVersion"] = self.stored_as.as_str().into();
            if let Some(schema) = self.schemas.get(&self.stored_as) {
                let _ = self.coerce(&mut value, schema, Malformed::Drop);
                defaulting::default(&mut value, schema);
            }
        }
        value
    }

    fn merge_types(&self) -> TypeRef {
        self.types.types.get(&self.served_as).cloned().unwrap_or_else(TypeRef::deduced)
    }

    fn versions(&self) -> &dyn Versions {
        &*self.types
    }

    fn empty(&self) -> &Value {
        &self.empty
    }

    fn strategic_merge(&self, _: &Value, _: &Value) -> Option<Result<Value, PatchError>> {
        None
    }

    fn is_custom(&self) -> bool {
        true
    }

    fn scale_paths(&self) -> Option<ScalePaths> {
        self.scale.clone()
    }
}

impl Kind for Version {
    fn default(&self, object: &mut Value) {
        defaulting::default(object, &self.schema);
    }

    fn prepare_create(&self, _: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        if self.terminating {
            let name = crate::metadata::name(object);
            let why = "create not allowed while custom resource definition is terminating";
            return Err(Status::forbidden(&self.group, &self.plural, name, why));
        }
        Ok(())
    }

    fn validate(&self, _: &Context<'_>, object: &Value) -> Vec<FieldError> {
        let here = Path::default();
        let mut errors = validation::validate(object, &self.schema, Reading::Served, &here);
        errors.extend(self.check_scale(object, false));
        errors.extend(coercion::validate(object, Some(&self.schema), Root::Value, &here));
        errors.extend(listtype::validate(object, &self.schema, &here));
        self.with_rules(errors, object, None)
    }

    fn validate_update(&self, _: &Context<'_>, object: &Value, old: &Value) -> Vec<FieldError> {
        let here = Path::default();
        let mut errors = validation::validate_update(object, old, &self.schema, &here);
        errors.extend(self.check_scale(object, false));
        errors.extend(coercion::validate(object, Some(&self.schema), Root::Value, &here));
        if listtype::validate(old, &self.schema, &here).is_empty() {
            errors.extend(listtype::validate(object, &self.schema, &here));
        }
        self.with_rules(errors, object, Some(old))
    }

    fn validate_status_update(
        &self,
        _: &Context<'_>,
        object: &Value,
        old: &Value,
    ) -> Vec<FieldError> {
        let here = Path::default();
        let mut errors = Vec::new();
        if let (Some(status), Some(schema)) =
            (object.get("status"), self.schema.properties.get("status"))
        {
            let before = old.get("status").unwrap_or(&Value::Null);
            let at = Path::new("status");
            errors.extend(validation::validate_update(status, before, schema, &at));
        }
        errors.extend(self.check_scale(object, true));
        if listtype::validate(old, &self.schema, &here).is_empty() {
            errors.extend(listtype::validate(object, &self.schema, &here));
        }
        self.with_rules(errors, object, Some(old))
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let before: BTreeSet<&str> =
            old.into_iter().flat_map(crate::metadata::finalizers).collect();
        let added: BTreeSet<&str> =
            crate::metadata::finalizers(object).filter(|name| !before.contains(name)).collect();
        let mut out: Vec<String> = added.into_iter().flat_map(finalizer_warnings).collect();
        // A rule that was violated before is only a warning if the value did not change.
        if let Some(old) = old
            && !self.rules.is_empty()
        {
            let here = Path::default();
            let found = self.rules.validate(object, Some(old)).warnings;
            out.extend(found.iter().map(|found| rules::error(found, &here).to_string()));
        }
        out
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        self.has_status
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn selectable_fields(&self, object: &Value) -> Vec<(Cow<'static, str>, String)> {
        let shown = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => gojson::to_string(other),
        };
        self.selectable
            .iter()
            .map(|(name, path)| {
                let value = path.find(object).first().map(|value| shown(value));
                (Cow::Owned(name.clone()), value.unwrap_or_default())
            })
            .collect()
    }
}

/// Warnings about finalizers without a domain, which may collide with others.
fn finalizer_warnings(name: &str) -> Vec<String> {
    let say = |why: &str| format!("metadata.finalizers: {}: {why}", quote(name));
    let mut out: Vec<String> = names::label_key(name).iter().map(|why| say(why)).collect();
    if !name.contains('/') && !matches!(name, "orphan" | "foregroundDeletion" | "kubernetes") {
        let including = if name.contains('.') { " including a path (/)" } else { "" };
        out.push(say(&format!(
            "prefer a domain-qualified finalizer name{including} to avoid accidental conflicts with other finalizer writers"
        )));
    }
    out
}
