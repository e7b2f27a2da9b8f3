//! PATCH of one object, in its four forms.

use http::Response;
use serde_json::{Value, json};
use sluice_base::gojson::quote;
use sluice_schema::field::{FieldError, Path};
use sluice_schema::gotypes::Document;
use sluice_schema::patch::{self, PatchError};

use crate::body::{self, Body};
use crate::call::Call;
use crate::resource::FieldValidation;
use crate::status::Status;
use crate::write::{Precondition, Written};
use crate::{auth, decode, managed, metadata};

const APPLY: &str = "application/apply-patch+yaml";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// The longest name of a field manager.
const MANAGER_LIMIT: usize = 128;

pub(crate) async fn serve(call: &Call) -> Result<Response<Body>, Status> {
    let dry_run = call.dry_run()?;
    let validation = call.field_validation()?;
    check_content_type(call)?;
    check_options(call)?;
    let mut warnings = Vec::new();
    let (written, code) = if call.content_type() == APPLY {
        apply(call, dry_run, validation, &mut warnings).await?
    } else {
        let manager = call.manager();
        let writer = call.writer(&manager, dry_run);
        let name = &call.info.name;
        let written = writer
            .update(name, Precondition::Computed, false, &mut |live| {
                let object = patched(call, live)?;
                warnings.clear();
                let object = retyped(call, object, validation, &mut warnings)?;
                check_name(call, &object)?;
                Ok(object)
            })
            .await?;
        (written, 200)
    };
    let mut response = super::respond(call, code, &written.object)?;
    warnings.extend(written.warnings);
    body::warn(&mut response, &warnings);
    Ok(response)
}

/// The kinds of patch that a resource takes; custom kinds have no merge keys.
fn accepted(call: &Call) -> &'static [&'static str] {
    if call.resource.shape.is_custom() {
        &[JSON_PATCH, MERGE_PATCH, APPLY]
    } else {
        &[JSON_PATCH, MERGE_PATCH, STRATEGIC, APPLY]
    }
}

fn check_content_type(call: &Call) -> Result<(), Status> {
    if accepted(call).contains(&call.content_type()) { Ok(()) } else { Err(unsupported(call)) }
}

/// 415, with what would have been taken.
fn unsupported(call: &Call) -> Status {
    let accepted = accepted(call);
    Status::unsupported_media_type(format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        accepted.join(", ")
    ))
}

/// The rules of `PatchOptions`.
fn check_options(call: &Call) -> Result<(), Status> {
    let applies = call.content_type() == APPLY;
    let mut errors = Vec::new();
    if applies {
        if call.query.text("fieldManager").is_none() {
            errors.push(FieldError::required(
                &Path::new("fieldManager"),
                "is required for apply patch",
            ));
        }
    } else if call.query.get("force").is_some() {
        errors.push(FieldError::forbidden(
            &Path::new("force"),
            "may not be specified for non-apply patch",
        ));
    }
    if let Some(manager) = call.query.text("fieldManager") {
        let path = Path::new("fieldManager");
        if manager.len() > MANAGER_LIMIT {
            errors.push(FieldError::too_long(&path, MANAGER_LIMIT));
        }
        for (index, letter) in manager.char_indices() {
            if letter.is_control() {
                errors.push(FieldError::invalid(
                    &path,
                    manager,
                    format!(
                        "invalid character {} (at position {index})",
                        quote(&letter.to_string())
                    ),
                ));
            }
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid("meta.k8s.io", "PatchOptions", "", &errors))
    }
}

/// An object with the request's patch applied; not yet typed again.
pub(crate) fn patched(call: &Call, object: &Value) -> Result<Value, Status> {
    let document = Document::parse(&call.body)
        .map_err(|why| Status::bad_request(format!("error decoding patch: {why}")))?;
    let patch = document.into_value();
    let result = match call.content_type() {
        JSON_PATCH => patch::json_patch(object, &patch),
        MERGE_PATCH => patch::merge_patch(object, &patch),
        _ => match call.resource.shape.strategic_merge(object, &patch) {
            Some(result) => result,
            None => return Err(unsupported(call)),
        },
    };
    result.map_err(|error| match error {
        PatchError::Malformed(message) => Status::bad_request(message),
        PatchError::TooLarge(message) => Status::new(413, "RequestEntityTooLarge", message),
        PatchError::NotApplicable(_) => Status {
            details: Some(json!({})),
            ..Status::new(
                422,
                "Invalid",
                "the server rejected our request due to an error in our request",
            )
        },
        PatchError::Failed(message) => Status::new(500, "", message),
    })
}

/// A patched object as its type again, with defaults.
fn retyped(
    call: &Call,
    object: Value,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    let resource = &call.resource;
    if call.content_type() != STRATEGIC {
        return decode::typed(resource, object.into(), Vec::new(), validation, warnings);
    }
    let decoded = resource.shape.restore(object).map_err(|why| {
        // The body was read once already.
        let patch = Document::parse(&call.body).map(Document::into_value).unwrap_or_default();
        let error = FieldError::invalid(&Path::new("patch"), patch::go_value(&patch), why);
        Status::invalid(&resource.group, &resource.kind, &call.info.name, &[error])
    })?;
    decode::finish(resource, decoded, Vec::new(), validation, warnings)
}

/// Server-side apply: merges, or creates what is not there.
async fn apply(
    call: &Call,
    dry_run: bool,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<(Written, u16), Status> {
    let configuration = configuration(call, validation, warnings)?;
    let force = call.query.flag("force");
    let manager = call.manager();
    let writer = call.writer(&manager, dry_run);
    let name = &call.info.name;
    let resource = &call.resource;
    let exists = call.state.store.get(&resource.storage, &call.key()).is_some();
    let retyped = |object: Value| {
        decode::typed(resource, object.into(), Vec::new(), FieldValidation::Ignore, &mut Vec::new())
    };
    if !exists {
        if !call.info.subresource.is_empty() {
            return Err(resource.not_found(name));
        }
        if !metadata::uid(&configuration).is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                metadata::uid(&configuration)
            );
            return Err(Status::conflict(&resource.group, &resource.plural, name, &why));
        }
        auth::authorize_create(&call.state, &call.user, &call.info)?;
        let object = retyped(managed::apply(&writer, &Value::Null, &configuration, force)?)?;
        return Ok((writer.create(object, true).await?, 201));
    }
    let written = writer
        .update(name, Precondition::Computed, true, &mut |live| {
            let version = metadata::text(&configuration, "resourceVersion");
            if !version.is_empty() && version != metadata::text(live, "resourceVersion") {
                return Err(Status::modified(&resource.group, &resource.plural, name));
            }
            retyped(managed::apply(&writer, live, &configuration, force)?)
        })
        .await?;
    Ok((written, 200))
}

/// The applied configuration, checked against the URL.
fn configuration(
    call: &Call,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    let value = decode::parse_yaml(&call.body)
        .map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?
        .into_value();
    if validation != FieldValidation::Ignore
        && let Err(duplicate) = sluice_yaml::to_json(&call.body, sluice_yaml::Duplicates::Reject)
    {
        if validation == FieldValidation::Strict {
            return Err(Status::bad_request(format!("error strict decoding YAML: {duplicate}")));
        }
        warnings.push(duplicate.to_string());
    }
    let expected = call.resource.api_version();
    let given = value["apiVersion"].as_str().unwrap_or_default();
    let kind = value["kind"].as_str().unwrap_or_default();
    if given != expected || kind != call.resource.kind {
        let (group, version) = given.rsplit_once('/').unwrap_or(("", given));
        let kind_of = |group: &str, version: &str, kind: &str| {
            let api_version = crate::resource::api_version(group, version);
            format!("{api_version}, Kind={kind}")
        };
        if given.is_empty() && kind.is_empty() {
            return Err(Status::bad_request("invalid object type: /, Kind="));
        }
        return Err(Status::bad_request(format!(
            "incorrect version specified in apply patch. Specified patch version: {}, expected: {}",
            if kind == call.resource.kind {
                given.to_owned()
            } else {
                kind_of(group, version, kind)
            },
            if kind == call.resource.kind {
                expected.clone()
            } else {
                kind_of(&call.resource.group, &call.resource.version, &call.resource.kind)
            }
        )));
    }
    if metadata::of(&value).get("managedFields").is_some_and(|entries| !entries.is_null()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    let mut value = value;
    if metadata::name(&value).is_empty() {
        metadata::set(&mut value, "name", call.info.name.as_str());
    }
    check_name(call, &value)?;
    let manager = call.manager();
    call.writer(&manager, false).check_namespace(&mut value)?;
    Ok(value)
}

fn check_name(call: &Call, object: &Value) -> Result<(), Status> {
    let (name, wanted) = (metadata::name(object), &call.info.name);
    if name == wanted {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the name of the object ({name}) does not match the name on the URL ({wanted})"
    )))
}
