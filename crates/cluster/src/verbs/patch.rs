//! PATCH of one object, in its four forms.

use http::Response;

use crate::body::Body;
use crate::call::Call;
use crate::status::Status;

pub(crate) async fn serve(call: &Call) -> Result<Response<Body>, Status> {
    let _ = call;
    Err(super::not_allowed())
}
