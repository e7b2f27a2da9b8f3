//! GET of one object.

use http::Response;

use crate::body::Body;
use crate::call::Call;
use crate::status::Status;

pub(crate) fn serve(call: &Call) -> Result<Response<Body>, Status> {
    let stored = call
        .state
        .store
        .get(&call.resource.storage, &call.key())
        .ok_or_else(|| call.resource.not_found(&call.info.name))?;
    super::respond(call, 200, &call.resource.shape.served(&stored.value))
}
