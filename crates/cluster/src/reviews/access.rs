//! SubjectAccessReview and its variants: whether a user may do something.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sluice_base::gojson;
use sluice_schema::field::{FieldError, Path};

use crate::auth::{Attributes, Target, User};
use crate::call::Call;
use crate::metadata;
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::Status;
use crate::validation::{in_order, invalid_raw, labels};
use crate::value::{at, entries, list, present, text, texts};

const GROUP: &str = "authorization.k8s.io";

/// SelfSubjectAccessReview.
pub(super) fn of_self(call: &Call, review: Value) -> Result<Value, Status> {
    let mut errors = targets(&review);
    errors.extend(selectors(&review));
    errors.extend(no_metadata(&review, &[], "must be empty"));
    refuse(&errors)?;
    Ok(answered(call, &call.user, review))
}

/// SubjectAccessReview.
pub(super) fn of_subject(call: &Call, review: Value) -> Result<Value, Status> {
    let mut errors = subject_and_target(&review);
    errors.extend(no_metadata(&review, &[], "must be empty"));
    refuse(&errors)?;
    let subject = subject(&review);
    Ok(answered(call, &subject, review))
}

/// LocalSubjectAccessReview.
pub(super) fn in_namespace(call: &Call, review: Value) -> Result<Value, Status> {
    let mut errors = subject_and_target(&review);
    errors.extend(no_metadata(&review, &["namespace"], "must be empty except for namespace"));
    let namespace = metadata::namespace(&review);
    let asked = text(&review, "spec.resourceAttributes.namespace");
    if present(&review, "spec.resourceAttributes") && asked != namespace {
        let path = Path::new("spec.resourceAttributes.namespace");
        errors.push(FieldError::invalid(&path, asked, "must match metadata.namespace"));
    }
    if present(&review, "spec.nonResourceAttributes") {
        errors.push(non_resource(&review, "disallowed on this kind of request"));
    }
    refuse(&errors)?;
    let subject = subject(&review);
    Ok(answered(call, &subject, review))
}

/// 422; upstream leaves the kind out here.
fn refuse(errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(GROUP, "", "", errors)) }
}

fn subject_and_target(review: &Value) -> Vec<FieldError> {
    let mut errors = targets(review);
    if text(review, "spec.user").is_empty() && list(review, "spec.groups").is_empty() {
        let why = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(&Path::new("spec.user"), "", why));
    }
    errors.extend(selectors(review));
    errors
}

/// Requires exactly one target.
fn targets(review: &Value) -> Vec<FieldError> {
    let resource = present(review, "spec.resourceAttributes");
    match (resource, present(review, "spec.nonResourceAttributes")) {
        (true, true) => {
            vec![non_resource(review, "cannot be specified in combination with resourceAttributes")]
        }
        (false, false) => vec![FieldError::invalid(
            &Path::new("spec.resourceAttributes"),
            Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )],
        _ => Vec::new(),
    }
}

/// Upstream prints its internal type, which has no JSON names.
fn non_resource(review: &Value, why: &str) -> FieldError {
    let field = |name| gojson::to_string(&text(review, name).into());
    let printed = format!(
        "{{\"Path\":{},\"Verb\":{}}}",
        field("spec.nonResourceAttributes.path"),
        field("spec.nonResourceAttributes.verb")
    );
    invalid_raw(&Path::new("spec.nonResourceAttributes"), &printed, why)
}

/// Rejects metadata other than what the server sets itself.
fn no_metadata(review: &Value, allowed: &[&str], why: &str) -> Option<FieldError> {
    let given = metadata::of(review);
    let empty =
        given.keys().all(|name| name == "managedFields" || allowed.contains(&name.as_str()));
    (!empty).then(|| {
        invalid_raw(&Path::new("metadata"), &printed_metadata(at(review, "metadata")), why)
    })
}

/// Metadata as Go prints it: in the order of the type's fields.
fn printed_metadata(metadata: &Value) -> String {
    const FIELDS: [&str; 14] = [
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
    ];
    const ENTRY: [&str; 7] =
        ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];
    let mut out = in_order(metadata, &FIELDS);
    let entries: Vec<String> =
        list(metadata, "managedFields").iter().map(|entry| in_order(entry, &ENTRY)).collect();
    if !entries.is_empty() {
        out.pop();
        let comma = if out.len() > 1 { "," } else { "" };
        out = format!("{out}{comma}\"managedFields\":[{}]}}", entries.join(","));
    }
    out
}

fn selectors(review: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["fieldSelector", "labelSelector"] {
        let path = Path::new("spec.resourceAttributes").child(name);
        let selector = at(review, path.as_str());
        if selector.is_null() {
            continue;
        }
        let raw = text(selector, "rawSelector");
        let requirements = list(selector, "requirements");
        if !raw.is_empty() && !requirements.is_empty() {
            let why = "may not specified at the same time as requirements";
            errors.push(FieldError::invalid(&path.child("rawSelector"), raw, why));
        }
        if raw.is_empty() && requirements.is_empty() {
            let why = format!("when {path} is specified, requirements or rawSelector is required");
            errors.push(FieldError::required(&path.child("requirements"), why));
        }
        for (index, requirement) in requirements.iter().enumerate() {
            let path = path.child("requirements").index(index);
            errors.extend(requirement_problems(requirement, name == "labelSelector", &path));
        }
    }
    errors
}

/// Accepts unknown operators: the client may be newer.
fn requirement_problems(requirement: &Value, of_label: bool, path: &Path) -> Vec<FieldError> {
    let mut errors = labels::requirement(requirement, path);
    let operator = path.child("operator");
    errors.retain(|error| error.field != operator.as_str());
    if !of_label {
        // A field may have any name and value.
        let (key, value) = (path.child("key"), path.child("values").index(0));
        let of_value = value.as_str().trim_end_matches("0]");
        errors.retain(|error| error.field != key.as_str() && !error.field.starts_with(of_value));
        if text(requirement, "key").is_empty() {
            errors.push(FieldError::required(&key, "must be specified"));
        }
    }
    errors
}

/// The user a review is about.
fn subject(review: &Value) -> User {
    let owned = |items: Vec<&str>| items.into_iter().map(str::to_owned).collect::<Vec<String>>();
    let extra: BTreeMap<String, Vec<String>> = entries(review, "spec.extra")
        .iter()
        .map(|(key, values)| (key.clone(), owned(texts(values, ""))))
        .collect();
    User {
        name: text(review, "spec.user").to_owned(),
        uid: text(review, "spec.uid").to_owned(),
        groups: owned(texts(review, "spec.groups")),
        extra,
    }
}

fn answered(call: &Call, user: &User, mut review: Value) -> Value {
    let field = |name: &str| text(&review, &format!("spec.{name}"));
    let (verb, target) = if present(&review, "spec.resourceAttributes") {
        let target = Target::Resource {
            group: field("resourceAttributes.group"),
            resource: field("resourceAttributes.resource"),
            subresource: field("resourceAttributes.subresource"),
            namespace: field("resourceAttributes.namespace"),
            name: field("resourceAttributes.name"),
        };
        (field("resourceAttributes.verb"), target)
    } else {
        let path = field("nonResourceAttributes.path");
        (field("nonResourceAttributes.verb"), Target::Path(path))
    };
    let wanted = Attributes { user, verb, target };
    let decision = call.state.authorizer.decide(&call.state.store, &wanted);
    let mut status = Map::new();
    status.insert("allowed".to_owned(), decision.allowed.into());
    if !decision.reason.is_empty() {
        status.insert("reason".to_owned(), decision.reason.into());
    }
    let ignored = unreadable_selectors(&review);
    if !ignored.is_empty() {
        status.insert("evaluationError".to_owned(), ignored.into());
    }
    review["status"] = status.into();
    review
}

/// An evaluation error if a selector is unreadable. RBAC itself ignores selectors.
fn unreadable_selectors(review: &Value) -> String {
    let of_field = |item: &Value| {
        matches!(text(item, "operator"), "In" | "NotIn") && list(item, "values").len() == 1
    };
    let of_label =
        |item: &Value| matches!(text(item, "operator"), "In" | "NotIn" | "Exists" | "DoesNotExist");
    let mut out = Vec::new();
    for name in ["fieldSelector", "labelSelector"] {
        let path = format!("spec.resourceAttributes.{name}");
        let (raw, requirements) =
            (text(at(review, &path), "rawSelector"), list(at(review, &path), "requirements"));
        let (parses, read) = if name == "fieldSelector" {
            let read = requirements.iter().filter(|item| of_field(item)).count();
            (FieldSelector::parse(raw).is_ok(), read)
        } else {
            let read = requirements.iter().filter(|item| of_label(item)).count();
            (LabelSelector::parse(raw).is_ok(), read)
        };
        if !parses || (read == 0 && !requirements.is_empty()) {
            out.push(format!("{path} ignored due to parse error"));
        } else if read < requirements.len() {
            out.push(format!("{path} partially ignored due to parse error"));
        }
    }
    out.join("; ")
}
