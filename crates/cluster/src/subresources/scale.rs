//! `scale`: replicas, the same for every kind that has the subresource.

use std::sync::{Arc, LazyLock};

use http::Response;
use serde_json::{Map, Value, json};
use sluice_base::go::quote;
use sluice_schema::field::{FieldError, Path};

use crate::body::{self, Body};
use crate::call::Call;
use crate::kind::Plain;
use crate::registry;
use crate::resource::{Resource, ScalePaths};
use crate::selector::label_selector_text;
use crate::status::Status;
use crate::table::Columns;
use crate::write::Precondition;
use crate::{decode, metadata, printers, verbs};

static SCALE: LazyLock<Resource> =
    LazyLock::new(|| registry::of_bodies("autoscaling", "v1", "Scale", Arc::new(Plain)));

pub(super) async fn serve(call: &Call) -> Result<Response<Body>, Status> {
    let paths = call.resource.shape.scale_paths().unwrap_or_else(|| ScalePaths {
        spec: ".spec.replicas".to_owned(),
        status: ".status.replicas".to_owned(),
        selector: None,
    });
    if call.info.verb == "get" {
        let stored = call
            .state
            .store
            .get(&call.resource.storage, &call.key())
            .ok_or_else(|| call.resource.not_found(&call.info.name))?;
        let parent = call.resource.shape.served(&stored.value);
        check_replicas(call, &parent, &paths)?;
        let scale = scale_of(&parent, &paths);
        return respond(call, &scale);
    }
    let dry_run = call.dry_run()?;
    let manager = call.manager();
    let writer = call.writer(&manager, dry_run);
    let wanted = if call.info.verb == "update" {
        Some(decode::object_of(call, &SCALE, &mut Vec::new())?)
    } else {
        None
    };
    let written = writer
        .update(&call.info.name, Precondition::Computed, false, &mut |parent| {
            check_replicas(call, parent, &paths)?;
            let old = scale_of(parent, &paths);
            let scale = match &wanted {
                Some(scale) => scale.clone(),
                None => verbs::patch::patched(call, &old)?,
            };
            with_replicas(call, parent, &old, &scale, &paths)
        })
        .await?;
    respond(call, &scale_of(&written.object, &paths))
}

fn respond(call: &Call, scale: &Value) -> Result<Response<Body>, Status> {
    if call.resource.shape.is_custom() {
        return Ok(body::object(200, call.wanted.encoding, scale));
    }
    verbs::respond_in(call, &Columns::BuiltIn(printers::SCALE), 200, scale)
}

/// A custom object has a scale only while it sets its replicas.
fn check_replicas(call: &Call, parent: &Value, paths: &ScalePaths) -> Result<(), Status> {
    if call.resource.shape.is_custom() && at(parent, &paths.spec).is_none() {
        let why = format!("the spec replicas field {} does not exist", quote(&paths.spec));
        return Err(Status::internal(&why));
    }
    Ok(())
}

/// The scale of an object.
fn scale_of(parent: &Value, paths: &ScalePaths) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = metadata::of(parent).get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut spec = Map::new();
    if let Some(replicas) = at(parent, &paths.spec).and_then(Value::as_i64).filter(|n| *n != 0) {
        spec.insert("replicas".to_owned(), replicas.into());
    }
    let replicas = at(parent, &paths.status).and_then(Value::as_i64).unwrap_or(0);
    let mut status = Map::new();
    status.insert("replicas".to_owned(), replicas.into());
    let selector = match &paths.selector {
        Some(path) => at(parent, path).and_then(Value::as_str).unwrap_or_default().to_owned(),
        None if parent["spec"]["selector"].is_null() => String::new(),
        None => selector_text(&parent["spec"]["selector"]),
    };
    if !selector.is_empty() {
        status.insert("selector".to_owned(), selector.into());
    }
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": metadata, "spec": spec, "status": status,
    })
}

/// A selector as text; ReplicationControllers have a plain map.
fn selector_text(selector: &Value) -> String {
    let is_map = selector.as_object().is_some_and(|fields| {
        !fields.contains_key("matchLabels") && !fields.contains_key("matchExpressions")
    });
    if is_map {
        label_selector_text(&json!({"matchLabels": selector}))
    } else {
        label_selector_text(selector)
    }
}

/// The object with the replicas of the scale.
fn with_replicas(
    call: &Call,
    parent: &Value,
    old: &Value,
    scale: &Value,
    paths: &ScalePaths,
) -> Result<Value, Status> {
    let name = &call.info.name;
    let given = metadata::name(scale);
    if !given.is_empty() && given != name {
        return Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    let version = metadata::text(scale, "resourceVersion");
    if !version.is_empty() && version != metadata::text(old, "resourceVersion") {
        return Err(Status::modified(&call.resource.group, &call.resource.plural, name));
    }
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let path = Path::new("spec").child("replicas");
        let error = FieldError::invalid(&path, replicas, "must be greater than or equal to 0");
        return Err(Status::invalid("autoscaling", "Scale", name, &[error]));
    }
    let mut parent = parent.clone();
    set(&mut parent, &paths.spec, replicas.into());
    Ok(parent)
}

/// The value at a path such as `.spec.replicas`.
fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.trim_start_matches('.').split('.').try_fold(object, |value, field| value.get(field))
}

/// Sets the value at a path such as `.spec.replicas`, creating missing parents.
fn set(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for field in path.trim_start_matches('.').split('.') {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[field];
    }
    *place = value;
}
