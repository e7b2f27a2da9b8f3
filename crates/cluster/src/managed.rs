//! Field ownership: `metadata.managedFields`, through `schema`'s structured merge.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_base::time;
use sluice_schema::managed::{self, Error, Request};
use sluice_schema::smd::{FieldSet, Filter, TypeRef};

use crate::resource::Resource;
use crate::status::Status;
use crate::write::Writer;

pub(crate) use sluice_schema::managed::revert_times;
pub(crate) use sluice_schema::managed::{list_json, object_json as to_json};

/// Records a write that is not an apply: returns `object` with the changed fields owned by the
/// writer. A null `live` is a create.
pub(crate) fn track(writer: &Writer<'_>, live: &Value, object: Value) -> Value {
    let shape = &writer.resource.shape;
    let live = if live.is_null() { shape.empty() } else { live };
    let types = shape.merge_types();
    let mut object = with_request(writer, &types, |request| managed::update(request, live, object));
    if writer.subresource == "scale" {
        forget_times(&mut object);
    }
    object
}

/// Upstream carries the ownership of replicas over from the scale, which has no times.
fn forget_times(object: &mut Value) {
    let entries = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter(|entry| entry["subresource"] == "scale") {
        if let Some(fields) = entry.as_object_mut() {
            fields.remove("time");
        }
    }
}

/// Merges an applied configuration into `live`; a null `live` is a create.
pub(crate) fn apply(
    writer: &Writer<'_>,
    live: &Value,
    patch: &Value,
    force: bool,
) -> Result<Value, Status> {
    let shape = &writer.resource.shape;
    let live = if live.is_null() { shape.empty() } else { live };
    let types = shape.merge_types();
    with_request(writer, &types, |request| managed::apply(request, live, patch, force)).map_err(
        |error| match error {
            Error::Conflict(conflict) => {
                let causes: Vec<Value> = conflict
                    .causes
                    .iter()
                    .map(|cause| {
                        json!({
                            "reason": "FieldManagerConflict",
                            "message": cause.message,
                            "field": cause.field,
                        })
                    })
                    .collect();
                Status::new(409, "Conflict", conflict.message)
                    .with_details(json!({"causes": causes}))
            }
            Error::BadRequest(message) => Status::bad_request(message),
            Error::Internal(message) => Status { details: None, ..Status::new(500, "", message) },
        },
    )
}

fn with_request<T>(writer: &Writer<'_>, types: &TypeRef, run: impl FnOnce(&Request<'_>) -> T) -> T {
    let resource = writer.resource;
    let api_version = resource.api_version();
    let now = time::format_seconds(sluice_base::clock::Clock::now(&writer.state.clock));
    let filters = filters(resource, writer.subresource);
    run(&Request {
        types,
        versions: resource.shape.versions(),
        api_version: &api_version,
        kind: &resource.kind,
        subresource: writer.subresource,
        manager: writer.manager,
        now: &now,
        filters: &filters,
        empty: resource.shape.empty(),
    })
}

/// The fields that an endpoint ignores, and that no manager owns through it.
fn filters(resource: &Resource, subresource: &str) -> BTreeMap<String, Filter> {
    if !resource.shape.is_custom() {
        return managed::reset_filters(&resource.group, &resource.kind, subresource);
    }
    let ignored: &[&[&str]] = match subresource {
        "" if resource.hooks.has_status() => &[&["status"]],
        "status" => &[&["spec"]],
        _ => return BTreeMap::new(),
    };
    BTreeMap::from([(resource.api_version(), Filter::Without(FieldSet::of_fields(ignored)))])
}
