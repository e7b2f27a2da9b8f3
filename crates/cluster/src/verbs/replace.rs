//! PUT of one object.

use http::Response;

use crate::body::{self, Body};
use crate::call::Call;
use crate::status::Status;
use crate::write::Precondition;
use crate::{auth, decode, metadata};

pub(crate) async fn serve(call: &Call) -> Result<Response<Body>, Status> {
    let dry_run = call.dry_run()?;
    let mut warnings = Vec::new();
    let mut object = decode::object(call, &mut warnings)?;
    let manager = call.manager();
    let writer = call.writer(&manager, dry_run);
    let (name, wanted) = (metadata::name(&object).to_owned(), &call.info.name);
    if name != *wanted {
        return Err(Status::bad_request(if name.is_empty() {
            format!(
                "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
            )
        } else {
            format!("the name of the object ({name}) does not match the name on the URL ({wanted})")
        }));
    }
    writer.check_namespace(&mut object)?;
    let exists = call.state.store.get(&call.resource.storage, &call.key()).is_some();
    if !exists && call.resource.hooks.allows_create_on_update() {
        auth::authorize_create(&call.state, &call.user, &call.info)?;
        let written = writer.create(object, false).await?;
        warnings.extend(written.warnings);
        let mut response = super::respond(call, 201, &written.object)?;
        body::warn(&mut response, &warnings);
        return Ok(response);
    }
    let written = writer
        .update(wanted, Precondition::FromObject, false, &mut |_| Ok(object.clone()))
        .await
        .map_err(|status| status.warned(&warnings))?;
    warnings.extend(written.warnings);
    let mut response = super::respond(call, 200, &written.object)?;
    body::warn(&mut response, &warnings);
    Ok(response)
}
