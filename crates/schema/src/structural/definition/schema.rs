//! The rules that `openAPIV3Schema` itself must follow, beyond being structural.

use serde_json::Value;

use super::{Rules, Tolerance, flag, invalid_printed, list, print, ratchet, text};
use crate::field::{FieldError, Path};
use crate::structural::defaulting::DefaultValue;
use crate::structural::{Schema, defaulting, field_path, invariants, is_meta_field};

/// The Go names of the fields that may stand at the root beside a status subresource.
const ALLOWED_AT_ROOT: &str = "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]";

const FORBIDDEN_AT_ROOT: [&str; 22] = [
    "id",
    "$schema",
    "$ref",
    "nullable",
    "default",
    "enum",
    "maxProperties",
    "minProperties",
    "allOf",
    "oneOf",
    "anyOf",
    "not",
    "additionalProperties",
    "patternProperties",
    "dependencies",
    "additionalItems",
    "definitions",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];

/// The reasons a rule may give.
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

fn is_set(value: &Value, key: &str) -> bool {
    match value.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(_)) if key == "additionalProperties" || key == "not" => true,
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(_) => true,
    }
}

/// What is wrong with a schema (`{openAPIV3Schema: …}`).
pub(super) fn validate(
    validation: Option<&Value>,
    has_status: bool,
    tolerance: &Tolerance,
    rules: &dyn Rules,
    path: &Path,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(schema) =
        validation.and_then(|found| found.get("openAPIV3Schema")).filter(|found| !found.is_null())
    else {
        return errors;
    };
    if has_status {
        errors.extend(check_root(schema, path));
    }
    if flag(schema, "nullable") {
        let why = "nullable cannot be true at the root";
        errors.push(FieldError::forbidden(&path.child("openAPIV3Schema.nullable"), why));
    }
    let at = path.child("openAPIV3Schema");
    let mut unreadable = None;
    let mut checks_rules = false;
    if !tolerance.non_structural {
        match Schema::parse(schema) {
            Err(why) => unreadable = Some(FieldError::invalid(&at, "", why.to_string())),
            Ok(parsed) => {
                let mut found = invariants::check(&parsed, &at);
                if found.is_empty() {
                    let check = |default: &DefaultValue<'_>| rules.check_default(default);
                    let pruned = !tolerance.unpruned_defaults;
                    found = defaulting::validate(&parsed, schema, &at, pruned, &check);
                }
                checks_rules = found.is_empty();
                errors.extend(found);
            }
        }
    }
    let mut walker = Walker { tolerance, errors: Vec::new() };
    walker.node(schema, &at, true, &Surroundings::default());
    errors.append(&mut walker.errors);
    if errors.is_empty() {
        errors.extend(unreadable);
    }
    if errors.is_empty() && checks_rules {
        errors = rules.check(schema, &at);
    }
    errors
}

fn check_root(schema: &Value, path: &Path) -> Option<FieldError> {
    let kind = text(schema, "type");
    if !kind.is_empty() && kind != "object" {
        let at = path.child("openAPIV3Schema.type");
        let why = r#"only "object" is allowed as the type at the root of the schema if the status subresource is enabled"#;
        return Some(FieldError::invalid(&at, kind, why));
    }
    let forbidden = FORBIDDEN_AT_ROOT.iter().any(|key| is_set(schema, key));
    forbidden.then(|| {
        let why = format!(
            "only {ALLOWED_AT_ROOT} fields are allowed at the root of the schema if the status subresource is enabled"
        );
        invalid_printed(&path.child("openAPIV3Schema"), &print::schema(schema), &why)
    })
}

/// What a node inherits from those above it.
#[derive(Clone, Default)]
struct Surroundings {
    /// Why defaults are forbidden here, if they are.
    no_defaults: Option<String>,
    inside_meta: bool,
}

struct Walker<'a> {
    tolerance: &'a Tolerance,
    errors: Vec<FieldError>,
}

impl Walker<'_> {
    fn node(&mut self, node: &Value, path: &Path, root: bool, around: &Surroundings) {
        self.check_standard(node, path, around);
        if flag(node, "uniqueItems") {
            let why =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.errors.push(FieldError::forbidden(&path.child("uniqueItems"), why));
        }
        self.additional_properties(node, path, around);
        self.properties(node, path, root, around);
        if let Some(branch) = node.get("not") {
            self.branch(branch, &path.child("not"), around);
        }
        for name in ["allOf", "oneOf", "anyOf"] {
            for (index, branch) in list(node, name).iter().enumerate() {
                self.branch(branch, &path.child(name).index(index), around);
            }
        }
        for (name, branch) in
            node.get("definitions").and_then(Value::as_object).into_iter().flatten()
        {
            self.branch(branch, &path.child("definitions").key(name), around);
        }
        self.items(node, path, around);
        for (name, branch) in
            node.get("dependencies").and_then(Value::as_object).into_iter().flatten()
        {
            self.branch(branch, &path.child("dependencies").key(name), around);
        }
        if node.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let at = path.child("x-kubernetes-preserve-unknown-fields");
            self.errors.push(FieldError::invalid(&at, false, "must be true or undefined"));
        }
        self.check_map_type(node, path);
        self.check_list_type(node, path);
        if !self.tolerance.invalid_map_keys {
            self.errors.extend(map_key_errors(node, path));
        }
        self.check_rules(node, path);
    }

    fn branch(&mut self, branch: &Value, path: &Path, around: &Surroundings) {
        if branch.is_object() {
            self.node(branch, path, false, around);
        }
    }

    fn check_standard(&mut self, node: &Value, path: &Path, around: &Surroundings) {
        let kind = text(node, "type");
        if !self.tolerance.invalid_types && !kind.is_empty() && !ratchet::is_known_type(kind) {
            let at = path.child("type");
            self.errors.push(FieldError::not_supported(&at, kind, ratchet::known_types()));
        }
        if node.get("default").is_some_and(|default| !default.is_null())
            && let Some(why) = &around.no_defaults
        {
            let why = format!("must not be set {why}");
            self.errors.push(FieldError::forbidden(&path.child("default"), why));
        }
        for name in
            ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"]
        {
            let given = match name {
                "additionalItems" | "dependencies" | "$ref" => {
                    node.get(name).is_some_and(|value| !value.is_null())
                }
                _ => is_set(node, name),
            };
            if given {
                let why = format!("{name} is not supported");
                self.errors.push(FieldError::forbidden(&path.child(name), why));
            }
        }
        if kind == "null" {
            let why = "type cannot be set to null, use nullable as an alternative";
            self.errors.push(FieldError::forbidden(&path.child("type"), why));
        }
        if !list(node, "items").is_empty() {
            let why = "items must be a schema object and not an array";
            self.errors.push(FieldError::forbidden(&path.child("items"), why));
        }
        if around.inside_meta && flag(node, "x-kubernetes-embedded-resource") {
            let at = path.child("x-kubernetes-embedded-resource");
            let why = "must not be used inside of resource meta";
            self.errors.push(FieldError::forbidden(&at, why));
        }
    }

    fn additional_properties(&mut self, node: &Value, path: &Path, around: &Surroundings) {
        let Some(additional) = node.get("additionalProperties").filter(|found| !found.is_null())
        else {
            return;
        };
        let at = path.child("additionalProperties");
        if is_set(node, "properties") && *additional != Value::Bool(true) {
            let why = "additionalProperties and properties are mutual exclusive";
            self.errors.push(FieldError::forbidden(&at, why));
        }
        if !additional.is_object() {
            return;
        }
        let mut below = around.clone();
        if around.inside_meta {
            let why = "inside additionalProperties applying to object metadata";
            below.no_defaults = Some(why.to_owned());
        }
        self.node(additional, &at, false, &below);
    }

    fn properties(&mut self, node: &Value, path: &Path, root: bool, around: &Surroundings) {
        let Some(properties) = node.get("properties").and_then(Value::as_object) else { return };
        for (name, property) in properties {
            let mut below = around.clone();
            if (root || flag(node, "x-kubernetes-embedded-resource")) && is_meta_field(name) {
                below.inside_meta = true;
                if root {
                    below.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            self.node(property, &path.child("properties").key(name), false, &below);
        }
    }

    fn items(&mut self, node: &Value, path: &Path, around: &Surroundings) {
        let Some(items) = node.get("items").filter(|items| !items.is_null()) else { return };
        match items {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.node(item, &path.child("items").index(index), false, around);
                }
            }
            item => self.node(item, &path.child("items"), false, around),
        }
    }

    fn check_map_type(&mut self, node: &Value, path: &Path) {
        let Some(map_type) = node.get("x-kubernetes-map-type").and_then(Value::as_str) else {
            return;
        };
        self.require_type(node, path, "object", "x-kubernetes-map-type");
        if !matches!(map_type, "atomic" | "granular") {
            let at = path.child("x-kubernetes-map-type");
            self.errors.push(FieldError::not_supported(&at, map_type, &["atomic", "granular"]));
        }
    }

    fn require_type(&mut self, node: &Value, path: &Path, wanted: &str, because: &str) -> bool {
        let (kind, at) = (text(node, "type"), path.child("type"));
        let why = format!("must be {wanted} if {because} is specified");
        if kind.is_empty() {
            self.errors.push(FieldError::required(&at, why));
        } else if kind != wanted {
            self.errors.push(FieldError::invalid(&at, kind, why));
        }
        kind == wanted
    }

    fn check_list_type(&mut self, node: &Value, path: &Path) {
        let list_type = node.get("x-kubernetes-list-type").and_then(Value::as_str);
        let at = path.child("x-kubernetes-list-type");
        if let Some(list_type) = list_type {
            if self.require_type(node, path, "array", "x-kubernetes-list-type")
                && !self.tolerance.non_atomic_sets
            {
                self.errors.extend(set_item_error(node, path));
            }
            if !matches!(list_type, "atomic" | "set" | "map") {
                let known = ["atomic", "set", "map"];
                self.errors.push(FieldError::not_supported(&at, list_type, &known));
            }
        }
        let keys = list(node, "x-kubernetes-list-map-keys");
        if !keys.is_empty() {
            let why = "must be map if x-kubernetes-list-map-keys is non-empty";
            match list_type {
                None => self.errors.push(FieldError::required(&at, why)),
                Some("map") => {}
                Some(other) => self.errors.push(FieldError::invalid(&at, other, why)),
            }
        }
        if list_type == Some("map") {
            self.check_map_list(node, keys, path);
        }
    }

    fn check_map_list(&mut self, node: &Value, keys: &[Value], path: &Path) {
        let keys_at = path.child("x-kubernetes-list-map-keys");
        if keys.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            self.errors.push(FieldError::required(&keys_at, why));
        }
        let items_at = path.child("items");
        let items = match node.get("items") {
            None | Some(Value::Null) => {
                let why = "must have a schema if x-kubernetes-list-type is map";
                self.errors.push(FieldError::required(&items_at, why));
                return;
            }
            Some(items @ Value::Array(_)) => {
                let why = "must only have a single schema if x-kubernetes-list-type is map";
                self.errors.push(FieldError::invalid(&items_at, items.clone(), why));
                return;
            }
            Some(items) => items,
        };
        let kind = text(items, "type");
        if kind != "object" {
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            self.errors.push(FieldError::invalid(&items_at.child("type"), kind, why));
            return;
        }
        for (index, key) in keys.iter().enumerate() {
            let name = key.as_str().unwrap_or_default();
            match items.get("properties").and_then(|properties| properties.get(name)) {
                Some(property) if matches!(text(property, "type"), "array" | "object") => {
                    let at = items_at.child("properties").key(name).child("type");
                    let why =
                        "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    self.errors.push(FieldError::invalid(&at, kind, why));
                }
                Some(_) => {}
                None => {
                    let why = "entries must all be names of item properties";
                    self.errors.push(FieldError::invalid(&keys_at, keys.to_vec(), why));
                }
            }
            if keys[..index].contains(key) {
                let why = "must not contain duplicate entries";
                self.errors.push(FieldError::invalid(&keys_at, keys.to_vec(), why));
            }
        }
    }

    fn check_rules(&mut self, node: &Value, path: &Path) {
        for (index, rule) in list(node, "x-kubernetes-validations").iter().enumerate() {
            let at = path.child("x-kubernetes-validations").index(index);
            self.errors.extend(check_rule(node, rule, &at));
        }
    }
}

fn check_rule(node: &Value, rule: &Value, at: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let has_line_breaks = |text: &str| text.contains(['\n', '\r']);
    let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
    if expression.is_empty() {
        errors.push(FieldError::required(&at.child("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        let why = "must be non-empty if specified";
        errors.push(FieldError::invalid(&at.child("message"), message, why));
    } else if has_line_breaks(message.trim()) {
        let why = "must not contain line breaks";
        errors.push(FieldError::invalid(&at.child("message"), message, why));
    } else if has_line_breaks(expression) && message.trim().is_empty() {
        let why = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(&at.child("message"), why));
    }
    let message_expression = text(rule, "messageExpression");
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        let why = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(&at.child("messageExpression"), why));
    }
    if let Some(reason) = rule.get("reason").and_then(Value::as_str)
        && !REASONS.contains(&reason)
    {
        errors.push(FieldError::not_supported(&at.child("reason"), reason, &REASONS));
    }
    let field_path = text(rule, "fieldPath");
    let at = at.child("fieldPath");
    if !field_path.is_empty() {
        if field_path.trim().is_empty() {
            let why = "must be non-empty if specified";
            errors.push(FieldError::invalid(&at, field_path, why));
        }
        if has_line_breaks(field_path) {
            errors.push(FieldError::invalid(&at, field_path, "must not contain line breaks"));
        }
        if let Ok(schema) = Schema::parse(node)
            && field_path::resolve(field_path, &schema, true).is_err()
        {
            errors.push(FieldError::invalid(&at, field_path, "must be a valid path"));
        }
    }
    errors
}

/// Items of a set must be replaced as a whole.
pub(super) fn set_item_error(node: &Value, path: &Path) -> Option<FieldError> {
    let items = node.get("items").filter(|items| items.is_object())?;
    if text(node, "x-kubernetes-list-type") != "set" {
        return None;
    }
    let list_type = items.get("x-kubernetes-list-type").and_then(Value::as_str);
    let map_type = items.get("x-kubernetes-map-type").and_then(Value::as_str);
    let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    // Both messages show the list type of the items, as a pointer.
    let shown = items.get("x-kubernetes-list-type").cloned().unwrap_or_default();
    match text(items, "type") {
        "array" if !matches!(list_type, None | Some("atomic")) => {
            let at = path.child("items").child("x-kubernetes-list-type");
            Some(FieldError::invalid(&at, shown, why))
        }
        "object" if map_type != Some("atomic") => {
            let at = path.child("items").child("x-kubernetes-map-type");
            Some(FieldError::invalid(&at, shown, why))
        }
        _ => None,
    }
}

/// Keys of a map list are always there and never null.
pub(super) fn map_key_errors(node: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(items) = node.get("items").filter(|items| items.is_object()) else { return errors };
    let list_type = text(node, "x-kubernetes-list-type");
    if !matches!(list_type, "set" | "map") {
        return errors;
    }
    let at = path.child("items");
    if flag(items, "nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(&at.child("nullable"), why));
    }
    if list_type == "set" {
        return errors;
    }
    let required = list(items, "required");
    for key in list(node, "x-kubernetes-list-map-keys") {
        let name = key.as_str().unwrap_or_default();
        let Some(property) = items.get("properties").and_then(|found| found.get(name)) else {
            continue;
        };
        let at = at.child("properties").key(name);
        let has_default = property.get("default").is_some_and(|default| !default.is_null());
        if !required.contains(key) && !has_default {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(&at.child("default"), why));
        }
        if flag(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&at.child("nullable"), why));
        }
    }
    errors
}
