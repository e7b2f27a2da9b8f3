//! POST to a collection.

use http::Response;

use crate::body::{self, Body};
use crate::call::Call;
use crate::status::Status;
use crate::{decode, metadata};

pub(crate) async fn serve(call: &Call) -> Result<Response<Body>, Status> {
    let dry_run = call.dry_run()?;
    let mut warnings = Vec::new();
    let object = decode::object(call, &mut warnings)?;
    let resource = &call.resource;
    if !resource.allows("get") {
        // Reviews are created and answered, never stored.
        let mut response = crate::reviews::serve(call, object)?;
        body::warn(&mut response, &warnings);
        return Ok(response);
    }
    if !metadata::text(&object, "resourceVersion").is_empty() {
        return Err(Status::new(
            500,
            "",
            "resourceVersion should not be set on objects to be created",
        ));
    }
    let manager = call.manager();
    let written = call.writer(&manager, dry_run).create(object, false).await;
    let written = written.map_err(|status| status.warned(&warnings))?;
    let mut response = super::respond(call, 201, &written.object)?;
    warnings.extend(written.warnings);
    body::warn(&mut response, &warnings);
    Ok(response)
}
