//! NamespaceLifecycle: no objects are created in a namespace that is absent or terminating, and the
//! system's namespaces are not deleted.

use serde_json::json;

use super::Operation;
use crate::metadata;
use crate::status::Status;
use crate::store::GroupResource;
use crate::write::Writer;

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Reviews are never stored, so any namespace will do.
const ACCESS_REVIEW: &str = "localsubjectaccessreviews";

pub(super) fn admit(writer: &Writer<'_>, operation: Operation, name: &str) -> Result<(), Status> {
    let resource = writer.resource;
    if resource.group.is_empty() && resource.plural == "namespaces" {
        if operation == Operation::Delete && IMMORTAL.contains(&name) {
            let why = "this namespace may not be deleted";
            return Err(Status::forbidden("", "namespaces", name, why));
        }
        return Ok(());
    }
    if writer.namespace.is_empty()
        || operation != Operation::Create
        || resource.plural == ACCESS_REVIEW
    {
        return Ok(());
    }
    let namespaces = GroupResource::new("", "namespaces");
    let Some(namespace) = writer.state.store.get(&namespaces, writer.namespace) else {
        return Err(Status::not_found("", "namespaces", writer.namespace));
    };
    if metadata::is_terminating(&namespace.value) {
        let why = format!(
            "unable to create new content in namespace {} because it is being terminated",
            writer.namespace
        );
        let mut status = Status::forbidden(&resource.group, &resource.plural, name, &why);
        let cause = json!([{
            "reason": "NamespaceTerminating",
            "message": format!("namespace {} is being terminated", writer.namespace),
            "field": "metadata.namespace",
        }]);
        if let Some(details) = &mut status.details {
            details["causes"] = cause;
        }
        return Err(status);
    }
    Ok(())
}
