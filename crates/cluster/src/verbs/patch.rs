//! PATCH of one object, in its four forms.

use http::Response;
use serde_json::{Value, json};
use sluice_base::go;
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
        let applied = apply(call, dry_run, validation, &mut warnings).await;
        applied.map_err(|status| status.warned(&warnings))?
    } else {
        let manager = call.manager();
        let writer = call.writer(&manager, dry_run);
        let name = &call.info.name;
        let written = writer
            .update(name, Precondition::Computed, false, &mut |live| {
                let object = patched(call, live)?;
                warnings.clear();
                let mut object = retyped(call, &object, validation, &mut warnings)?;
                check_name(call, &object)?;
                writer.check_namespace(&mut object)?;
                Ok(object)
            })
            .await;
        (written.map_err(|status| status.warned(&warnings))?, 200)
    };
    let mut response = super::respond(call, code, &written.object)?;
    warnings.extend(written.warnings);
    body::warn(&mut response, &warnings);
    Ok(response)
}

/// The patch types of a resource; custom kinds have no strategic merge.
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

/// 415: as the router answers for built-in resources, as the handler does for custom ones.
fn unsupported(call: &Call) -> Status {
    if call.resource.shape.is_custom() {
        return Status::unsupported_media_type(format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted(call).join(", ")
        ));
    }
    Status::unsupported_media_type("415: Unsupported Media Type").with_details(json!({}))
}

/// Validates `PatchOptions`.
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
                    format!("invalid character U+{:04X} (at position {index})", u32::from(letter)),
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

/// Applies the request's patch to an object; the result is not yet decoded.
pub(crate) fn patched(call: &Call, object: &Value) -> Result<Value, Status> {
    let document = Document::parse(&call.body).map_err(|why| {
        Status::bad_request(if call.content_type() == STRATEGIC {
            why.to_string()
        } else {
            format!("error decoding patch: {why}")
        })
    })?;
    if call.content_type() == JSON_PATCH {
        patch::json_patch_complaints(&document).map_err(refused)?;
    } else if !matches!(document, Document::Object(_)) {
        let found = match document {
            Document::List(_) => "array",
            Document::Text(_) => "string",
            Document::Number(_) => "number",
            _ => "bool",
        };
        return Err(Status::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    let patch = document.into_value();
    let result = match call.content_type() {
        JSON_PATCH => patch::json_patch(object, &patch),
        MERGE_PATCH => patch::merge_patch(object, &patch),
        _ => match call.resource.shape.strategic_merge(object, &patch) {
            Some(result) => result,
            None => return Err(unsupported(call)),
        },
    };
    result.map_err(refused)
}

/// The error of a patch that cannot be applied.
fn refused(error: PatchError) -> Status {
    match error {
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
    }
}

/// Decodes a patched object again, with defaults.
fn retyped(
    call: &Call,
    object: &Value,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    let resource = &call.resource;
    let strategic = call.content_type() == STRATEGIC;
    // Errors show what was patched: the object, or for a strategic merge the patch.
    let shown = || {
        if strategic {
            // The body has been parsed once already.
            let patch = Document::parse(&call.body).map(Document::into_value).unwrap_or_default();
            go::value::plain(&patch)
        } else {
            managed::to_json(object)
        }
    };
    let invalid = |why: &str, name: &str, kind: &str, group: &str| {
        let error = FieldError::invalid(&Path::new("patch"), shown(), why);
        Status::invalid(group, kind, name, &[error])
    };
    if object["kind"] != *resource.kind || object["apiVersion"] != *resource.api_version() {
        let (kind, version) = (&object["kind"], &object["apiVersion"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        return Err(invalid(
            &decode::not_this_kind(resource, &text(kind), &text(version)),
            "",
            "",
            "",
        ));
    }
    let decoded = if strategic {
        resource.shape.restore(object.clone())
    } else {
        resource.shape.decode(object.clone().into())
    };
    let decoded = decoded.map_err(|why| {
        if strategic {
            invalid(&why, &call.info.name, &resource.kind, &resource.group)
        } else {
            invalid(&why, "", "", "")
        }
    })?;
    if validation == FieldValidation::Strict && !decoded.problems.is_empty() {
        let why = format!("strict decoding error: {}", decoded.problems.join(", "));
        return Err(invalid(&why, "", "", ""));
    }
    decode::finish(resource, decoded, Vec::new(), validation, warnings)
}

/// Server-side apply: merges, or creates a missing object.
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

/// The applied configuration, validated against the URL.
fn configuration(
    call: &Call,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    let convert = |why: &dyn std::fmt::Display| format!("error converting YAML to JSON: {why}");
    let value = sluice_yaml::to_json(&call.body, sluice_yaml::Duplicates::LastWins)
        .map_err(|why| Status::bad_request(format!("error decoding YAML: {}", convert(&why))))?
        .filter(|value| !value.is_null())
        .unwrap_or_else(|| json!({}));
    if !value.is_object() {
        let found = match value {
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Number(_) => "number",
            _ => "bool",
        };
        return Err(Status::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    if validation != FieldValidation::Ignore
        && let Err(duplicate) = sluice_yaml::to_json(&call.body, sluice_yaml::Duplicates::Reject)
    {
        if validation == FieldValidation::Strict {
            let why = convert(&duplicate);
            return Err(Status::bad_request(format!("error strict decoding YAML: {why}")));
        }
        // One warning per line, without the heading.
        let text = duplicate.to_string();
        warnings.extend(text.lines().skip(1).map(|line| line.trim().to_owned()));
    }
    if metadata::of(&value).get("managedFields").is_some_and(|entries| !entries.is_null()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    let expected = call.resource.api_version();
    if value["apiVersion"] == *expected && value["kind"] == *call.resource.kind {
        if metadata::name(&value).is_empty() {
            return Err(Status::bad_request(format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                call.info.name
            )));
        }
        check_name(call, &value)?;
        let manager = call.manager();
        call.writer(&manager, false).check_namespace(&mut value.clone())?;
    }
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
