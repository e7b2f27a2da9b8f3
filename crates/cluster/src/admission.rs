//! The admission plugins, one file each: they run between decoding and validation.

mod default_class;
mod escalation;
mod lifecycle;
mod node_taint;
mod priority;
mod service_account;
mod storage_protection;
mod toleration_seconds;

use serde_json::Value;

use crate::status::Status;
use crate::write::Writer;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

/// Runs the plugins in upstream's order. `object` is what will be stored (absent on delete), `old`
/// what is stored now (absent on create).
///
/// Async because webhooks will be called from here.
#[expect(clippy::unused_async, reason = "the seam at which webhooks will be awaited")]
pub(crate) async fn admit(
    writer: &Writer<'_>,
    operation: Operation,
    name: &str,
    object: Option<&mut Value>,
    old: Option<&Value>,
) -> Result<(), Status> {
    lifecycle::admit(writer, operation, name)?;
    let Some(object) = object else { return Ok(()) };
    if !writer.subresource.is_empty() {
        return Ok(());
    }
    let creates = operation == Operation::Create;
    match (writer.resource.group.as_str(), writer.resource.plural.as_str()) {
        ("", "pods") => {
            if creates {
                service_account::admit(writer, object)?;
                priority::admit(writer, object)?;
            }
            toleration_seconds::admit(object);
        }
        ("", "nodes") if creates => node_taint::admit(object),
        ("", "persistentvolumeclaims") if creates => {
            default_class::claim(writer, object);
            storage_protection::admit(object, "kubernetes.io/pvc-protection");
        }
        ("", "persistentvolumes") if creates => {
            storage_protection::admit(object, "kubernetes.io/pv-protection");
        }
        ("storage.k8s.io", "volumeattributesclasses") if creates => {
            storage_protection::admit(object, "kubernetes.io/vac-protection");
        }
        ("networking.k8s.io", "ingresses") if creates => default_class::ingress(writer, object),
        (
            "rbac.authorization.k8s.io",
            "roles" | "clusterroles" | "rolebindings" | "clusterrolebindings",
        ) => escalation::admit(writer, object, old)?,
        _ => {}
    }
    Ok(())
}
