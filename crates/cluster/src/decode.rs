//! Decodes request bodies: JSON, YAML or protobuf in, a typed and defaulted object out.

use serde_json::Value;
use sluice_base::go::quote;
use sluice_schema::field::{FieldError, Path};
use sluice_schema::gotypes::Document;

use crate::call::Call;
use crate::resource::{Decoded, FieldValidation, Resource, api_version};
use crate::status::Status;

const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Parses a body by its media type. Duplicate field names are kept.
pub(crate) fn parse(content_type: &str, body: &[u8]) -> Result<Document, Status> {
    match content_type {
        "" | "application/json" => Document::parse(body).map_err(|why| {
            Status::bad_request(format!("couldn't get version/kind; json parse error: {why}"))
        }),
        "application/yaml" => parse_yaml(body).map_err(Status::bad_request),
        "application/vnd.kubernetes.protobuf" => sluice_schema::protobuf::decode(body)
            .map(Document::from)
            .map_err(|error| Status::bad_request(error.to_string())),
        _ => Err(Status::unsupported_media_type(format!(
            "the body of the request was in an unknown format - accepted media types include: {ACCEPTED}"
        ))),
    }
}

/// Parses YAML.
pub(crate) fn parse_yaml(body: &[u8]) -> Result<Document, String> {
    sluice_yaml::to_json(body, sluice_yaml::Duplicates::LastWins)
        .map(|value| value.unwrap_or_default().into())
        .map_err(|error| error.to_string())
}

/// Duplicate field names in YAML; those in JSON are found while decoding.
fn yaml_duplicates(content_type: &str, body: &[u8]) -> Vec<String> {
    if content_type != "application/yaml" {
        return Vec::new();
    }
    match sluice_yaml::to_json(body, sluice_yaml::Duplicates::Reject) {
        Ok(_) => Vec::new(),
        Err(error) => vec![error.to_string()],
    }
}

/// The object of a create or update request, typed and defaulted. Under `fieldValidation=Warn`,
/// problems are added to `warnings`.
pub(crate) fn object(call: &Call, warnings: &mut Vec<String>) -> Result<Value, Status> {
    object_of(call, &call.resource, warnings)
}

/// Like [`object`], for a body of another kind than the resource in the path.
pub(crate) fn object_of(
    call: &Call,
    resource: &Resource,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    let validation = call.field_validation()?;
    let document = parse(call.content_type(), &call.body).map_err(|status| {
        if status.code == 400 {
            unrecognized(resource, &status.message, &call.body)
        } else {
            status
        }
    })?;
    let duplicates = yaml_duplicates(call.content_type(), &call.body);
    let document = with_type(document, resource, &call.body)?;
    typed(resource, document, duplicates, validation, warnings)
}

/// Checks `apiVersion` and `kind` against the resource; absent ones are filled in for built-in kinds.
fn with_type(mut document: Document, resource: &Resource, body: &[u8]) -> Result<Document, Status> {
    let expected = resource.api_version();
    let text =
        |name: &str| document.get(name).and_then(Document::as_str).unwrap_or_default().to_owned();
    let (given_version, given_kind) = (text("apiVersion"), text("kind"));
    let found = match &document {
        Document::List(_) => "array",
        Document::Text(_) => "string",
        Document::Number(_) => "number",
        _ => "bool",
    };
    let Document::Object(members) = &mut document else {
        let why = "couldn't get version/kind; json parse error: json: cannot unmarshal FOUND into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
        return Err(unrecognized(resource, &why.replace("FOUND", found), body));
    };
    // The type is read first, by itself, and both fields must be strings.
    for (name, member) in members.iter().filter(|(name, _)| name == "apiVersion" || name == "kind")
    {
        let found = match member {
            Document::Null | Document::Text(_) => continue,
            Document::Bool(_) => "bool",
            Document::Number(_) => "number",
            Document::List(_) => "array",
            Document::Object(_) => "object",
        };
        let why = format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go struct field .{name} of type string"
        );
        return Err(unrecognized(resource, &why, body));
    }
    if resource.shape.is_custom() && given_kind.is_empty() {
        let shown = String::from_utf8_lossy(body);
        let why = format!("Object 'Kind' is missing in '{}'", shown.trim_end());
        return Err(unrecognized(resource, &why, body));
    }
    if !given_kind.is_empty() && given_kind != resource.kind {
        let version =
            given_version.rsplit_once('/').map_or(&*given_version, |(_, version)| version);
        if resource.shape.is_custom() && given_version == expected {
            let path = Path::new("kind");
            let why = format!("must be {}", resource.kind);
            let error = FieldError::invalid(&path, given_kind.as_str(), why);
            let name = document.get("metadata").and_then(|metadata| metadata.get("name"));
            let name = name.and_then(Document::as_str).unwrap_or_default();
            return Err(Status::invalid(&resource.group, &given_kind, name, &[error]));
        }
        let why = not_this_kind(resource, &given_kind, &given_version);
        let version = if version.is_empty() { &resource.version } else { version };
        return Err(Status::bad_request(format!(
            "{given_kind} in version {} cannot be handled as a {}: {why}",
            quote(version),
            resource.kind
        )));
    }
    if !given_version.is_empty() && given_version != expected {
        let (group, version) = given_version.rsplit_once('/').unwrap_or(("", &given_version));
        if !resource.shape.is_custom() && !recorded_kind(group, version, &resource.kind) {
            return Err(cannot(resource, &not_registered(&resource.kind, &given_version)));
        }
        return Err(Status::bad_request(format!(
            "the API version in the data ({given_version}) does not match the expected API version ({expected})"
        )));
    }
    members.retain(|(name, _)| name != "apiVersion" && name != "kind");
    members.push(("apiVersion".to_owned(), Document::Text(expected)));
    members.push(("kind".to_owned(), Document::Text(resource.kind.clone())));
    Ok(document)
}

fn recorded_kind(group: &str, version: &str, kind: &str) -> bool {
    sluice_schema::recorded::openapi().schema_name(&api_version(group, version), kind).is_some()
}

/// Applies the type: unknown fields, canonical values, defaults.
pub(crate) fn typed(
    resource: &Resource,
    document: Document,
    duplicates: Vec<String>,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    let decoded = resource.shape.decode(document).map_err(|why| cannot(resource, &why))?;
    finish(resource, decoded, duplicates, validation, warnings)
}

/// 400 for an object that does not match its type.
fn cannot(resource: &Resource, why: &str) -> Status {
    Status::bad_request(format!(
        "{} in version {} cannot be handled as a {}: {why}",
        resource.kind,
        quote(&resource.version),
        resource.kind
    ))
}

/// Turns decoding problems into errors or warnings, and fills in defaults.
pub(crate) fn finish(
    resource: &Resource,
    decoded: Decoded,
    duplicates: Vec<String>,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    let Decoded { mut value, problems } = decoded;
    let mut problems: Vec<String> = duplicates.into_iter().chain(problems).collect();
    match validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => warnings.append(&mut problems),
        FieldValidation::Strict if problems.is_empty() => {}
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", problems.join(", "));
            return Err(cannot(resource, &why));
        }
    }
    resource.hooks.default(&mut value);
    resource.shape.normalize(&mut value);
    Ok(value)
}

/// Fails for options of a kind other than `expected`; options without a kind are accepted.
pub(crate) fn check_options_kind(document: &Document, expected: &str) -> Result<(), Status> {
    let text = |name: &str| document.get(name).and_then(Document::as_str).unwrap_or_default();
    let kind = text("kind");
    if kind.is_empty() || kind == expected {
        return Ok(());
    }
    Err(Status::bad_request(not_registered(kind, text("apiVersion"))))
}

/// The message for an object of another kind than the resource's.
pub(crate) fn not_this_kind(resource: &Resource, kind: &str, api_version: &str) -> String {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    if recorded_kind(group, version, kind) {
        format!(
            "converting ({version}.{kind}) to ({}.{}): unknown conversion",
            internal_package(&resource.group),
            resource.kind
        )
    } else {
        not_registered(kind, api_version)
    }
}

/// The message of upstream's scheme for an unknown kind.
fn not_registered(kind: &str, api_version: &str) -> String {
    format!(
        "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
        quote(kind),
        quote(api_version)
    )
}

/// The Go package that holds a group's internal types.
pub(crate) fn internal_package(group: &str) -> &str {
    match group.split('.').next() {
        Some("" | "events") | None => "core",
        Some(name) => name,
    }
}

/// 400 for a body that is no object at all.
fn unrecognized(resource: &Resource, why: &str, body: &[u8]) -> Status {
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {why} ({})",
        resource.kind,
        summary(body)
    ))
}

/// The start of a body: an object as it is, anything else in hexadecimal, as upstream shows them.
fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    use std::fmt::Write as _;
    let start = &body[..body.len().min(SHOWN)];
    let mut out = match start.first() {
        None => return "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(start).into_owned(),
        Some(_) => start.iter().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        }),
    };
    if body.len() > SHOWN {
        out.push_str(" ...");
    }
    out
}
