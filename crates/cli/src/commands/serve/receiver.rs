//! The notification receiver that `--events-addr` names.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Request, Url};
use serde_json::Value;
use sluice_runtime::events::Notify;
use sluice_source::network::Client;

/// The timeout of a post.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The number of retries of a failed post.
const RETRIES: u32 = 4;

/// The notification receiver.
pub(super) struct Receiver {
    pub(super) client: Client,
    pub(super) address: String,
}

impl Receiver {
    /// Posts once; returns whether a retry may help.
    async fn try_post(&self, payload: &Value) -> Result<(), (bool, String)> {
        let url = Url::parse(&self.address).map_err(|error| (false, error.to_string()))?;
        let mut request = Request::new(Method::POST, url);
        let kind = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, kind);
        *request.timeout_mut() = Some(TIMEOUT);
        *request.body_mut() = Some(payload.to_string().into());
        match self.client.execute(request).await {
            // A duplicate, which the receiver has already.
            Ok(answer) if answer.status().as_u16() == 429 => Ok(()),
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => {
                let status = answer.status();
                Err((status.is_server_error(), format!("the receiver answered {status}")))
            }
            Err(error) => Err((true, error.to_string())),
        }
    }
}

impl Notify for Receiver {
    fn post(
        &self,
        payload: Value,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async move {
            let mut tries = 0;
            loop {
                match self.try_post(&payload).await {
                    Ok(()) => return Ok(()),
                    Err((true, _)) if tries < RETRIES => {
                        tries += 1;
                        tokio::time::sleep(Duration::from_secs(1 << (tries - 1))).await;
                    }
                    Err((_, error)) => return Err(error),
                }
            }
        })
    }
}
