//! DELETE of one object or of a collection.

use http::Response;
use serde_json::{Map, Value, json};
use sluice_schema::field::{FieldError, Path};

use crate::body::{self, Body};
use crate::call::Call;
use crate::status::Status;
use crate::write::{DeleteOptions, Deleted, Propagation};
use crate::{decode, metadata};

/// Kinds with the object, not a Status, as the response to a delete.
const RETURNS_DELETED: [(&str, &str); 18] = [
    ("", "namespaces"),
    ("", "persistentvolumeclaims"),
    ("", "persistentvolumes"),
    ("", "pods"),
    ("", "podtemplates"),
    ("", "resourcequotas"),
    ("", "serviceaccounts"),
    ("", "services"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "devicetaintrules"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceclaimtemplates"),
    ("resource.k8s.io", "resourceslices"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "volumeattachments"),
    ("storage.k8s.io", "volumeattributesclasses"),
];

fn returns_deleted(call: &Call) -> bool {
    RETURNS_DELETED.contains(&(call.resource.group.as_str(), call.resource.plural.as_str()))
}

pub(crate) async fn one(call: &Call) -> Result<Response<Body>, Status> {
    let (options, dry_run) = options(call)?;
    let name = &call.info.name;
    let manager = call.manager();
    let deleted = call.writer(&manager, dry_run).delete(name, &options).await?;
    let mut response = answer(call, &options, deleted)?;
    body::warn(&mut response, &warnings(call, &options));
    Ok(response)
}

/// The warning that deleting a Job orphans its pods by default.
fn warnings(call: &Call, options: &DeleteOptions) -> Vec<String> {
    const KEPT: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";
    let job = call.resource.group == "batch" && call.resource.plural == "jobs";
    if job && options.propagation.is_none() { vec![KEPT.to_owned()] } else { Vec::new() }
}

fn answer(
    call: &Call,
    options: &DeleteOptions,
    deleted: Deleted,
) -> Result<Response<Body>, Status> {
    let name = &call.info.name;
    match deleted {
        Deleted::Lingers(object) => {
            let code = if options.old_style_foreground() { 202 } else { 200 };
            super::respond(call, code, &object)
        }
        Deleted::Gone(object) if returns_deleted(call) => super::respond(call, 200, &object),
        Deleted::Gone(object) => {
            let mut details = Map::new();
            details.insert("name".to_owned(), name.as_str().into());
            if !call.resource.group.is_empty() {
                details.insert("group".to_owned(), call.resource.group.as_str().into());
            }
            details.insert("kind".to_owned(), call.resource.plural.as_str().into());
            details.insert("uid".to_owned(), metadata::uid(&object).into());
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                "details": details,
            });
            Ok(body::object(200, call.wanted.encoding, &status))
        }
    }
}

pub(crate) async fn many(call: &Call) -> Result<Response<Body>, Status> {
    let (options, dry_run) = options(call)?;
    let selection = super::list::select(call)?;
    let manager = call.manager();
    for object in &selection.items {
        let namespace = metadata::namespace(object);
        let writer = crate::write::Writer { namespace, ..call.writer(&manager, dry_run) };
        match writer.delete(metadata::name(object), &options).await {
            Ok(_) => {}
            Err(status) if status.code == 404 => {}
            Err(status) => return Err(status),
        }
    }
    super::list::respond(call, selection)
}

/// The options of the body, or of the query if there is no body.
fn options(call: &Call) -> Result<(DeleteOptions, bool), Status> {
    let mut given: Map<String, Value> = Map::new();
    if call.body.is_empty() {
        for name in ["gracePeriodSeconds", "propagationPolicy", "orphanDependents"] {
            if let Some(text) = call.query.text(name) {
                let value = match name {
                    "gracePeriodSeconds" => text.parse::<i64>().map(Value::from).map_err(|_| {
                        Status::bad_request(format!(
                            "strconv.ParseInt: parsing \"{text}\": invalid syntax"
                        ))
                    })?,
                    "orphanDependents" => Value::Bool(text != "false" && text != "0"),
                    _ => text.into(),
                };
                given.insert(name.to_owned(), value);
            }
        }
    } else {
        let document = decode::parse(call.content_type(), &call.body)?;
        decode::check_options_kind(&document, "DeleteOptions")?;
        if let Value::Object(fields) = document.into_value() {
            given = fields;
        }
    }
    let in_body =
        given.get("dryRun").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let dry_run = in_body || call.dry_run()?;
    let propagation = match given.get("propagationPolicy").and_then(Value::as_str) {
        None | Some("") => None,
        Some("Orphan") => Some(Propagation::Orphan),
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some(other) => {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            let error =
                FieldError::not_supported(&Path::new("propagationPolicy"), other, &supported);
            return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &[error]));
        }
    };
    let orphan = given.get("orphanDependents").and_then(Value::as_bool);
    if orphan.is_some() && propagation.is_some() {
        let error = FieldError::invalid(
            &Path::new("propagationPolicy"),
            given.get("propagationPolicy").cloned().unwrap_or_default(),
            "orphanDependents and deletionPropagation cannot be both set",
        );
        return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &[error]));
    }
    let text = |pointer: &str| {
        given
            .get("preconditions")
            .and_then(|preconditions| preconditions.get(pointer))
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let options = DeleteOptions {
        grace_period: given.get("gracePeriodSeconds").and_then(Value::as_i64),
        propagation: propagation.or(match orphan {
            Some(true) => Some(Propagation::Orphan),
            Some(false) => Some(Propagation::Background),
            None => None,
        }),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        orphan_dependents: orphan,
    };
    Ok((options, dry_run))
}
