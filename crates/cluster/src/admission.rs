//! What stands between a well-formed request and the store: the admission plugins.

mod lifecycle;

use serde_json::Value;

use crate::status::Status;
use crate::write::Writer;

/// What is being done to an object.
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
    let _ = (object, old);
    Ok(())
}
