//! Faults of the servers in this crate that need no network: waiting, and what becomes of an HTTP answer.

use std::time::Duration;

use bytes::Bytes;
use futures::future::pending;
use http::header::RETRY_AFTER;
use http::{HeaderValue, Response, StatusCode};
use sluice_base::fault::{FOREVER, Fault, Faults, Plan, Transport};
use tokio::time::Instant;

/// How a connection ended without a whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionBroken {
    /// Before an answer came.
    #[error("connection reset by peer")]
    Reset,
    /// In the middle of the answer.
    #[error("unexpected EOF")]
    Cut,
}

/// The faults of a server that is there from now on, by the time of its runtime.
pub fn from_now(transport: &'static Transport) -> Faults {
    let began = Instant::now();
    Faults::new(transport, move || began.elapsed())
}

/// Waits as long as a plan says; takes no turn of the runtime where there is nothing to wait for.
pub async fn wait(time: Duration) {
    if time == FOREVER {
        pending::<()>().await;
    } else if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

/// What servers of HTTP can do to a request.
pub fn can_do_to_http(fault: &Fault) -> bool {
    !matches!(fault, Fault::Conflict | Fault::WatchClosed { .. } | Fault::Gone)
}

/// Serves an HTTP request as a plan says; `serve` is called where the server gets to see it.
pub async fn carry(
    plan: Plan,
    serve: impl FnOnce() -> Response<Bytes>,
) -> Result<Response<Bytes>, ConnectionBroken> {
    wait(plan.delay).await;
    match &plan.failure {
        Some(Fault::Reset) => return Err(ConnectionBroken::Reset),
        Some(Fault::Refuse { status, message, retry_after }) => {
            return Ok(refusal(*status, message, *retry_after));
        }
        _ => {}
    }
    let mut response = serve();
    wait(plan.slow).await;
    match plan.failure {
        Some(Fault::AnswerLost) => return Err(ConnectionBroken::Reset),
        Some(Fault::Cut) => return Err(ConnectionBroken::Cut),
        Some(Fault::Truncate) => {
            let body = response.body_mut();
            body.truncate(body.len() / 2);
        }
        Some(Fault::Garble) => {
            let mut damaged = response.body().to_vec();
            if let Some(byte) = damaged.last_mut() {
                *byte ^= 1;
            }
            *response.body_mut() = damaged.into();
        }
        _ => {}
    }
    Ok(response)
}

fn refusal(status: u16, message: &str, retry_after: Option<u32>) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(message.to_owned()));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
